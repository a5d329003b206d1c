# The demo's repository with a remote, a hook for pre-push that is there already, and a commit to push.
git init --quiet --initial-branch=main .
cp -R "$PROJECT"/examples/demo/start/. .
cp -R "$PROJECT"/examples/demo/profiles ..
echo 'profiles: ../../profiles' > .git/hierad.yaml
commit() { git add --all; git commit --quiet --message "$1"; }
commit 'data: five nodes, two roles, two sites'
git clone --quiet --bare . ../origin.git
git remote add origin ../origin.git
git fetch --quiet
printf '#!/bin/sh\nexit 0\n' > .git/hooks/pre-push
chmod 755 .git/hooks/pre-push
cp -R "$PROJECT/examples/demo/steps/2-role/files/." .
commit 'web: 16 nginx workers'
