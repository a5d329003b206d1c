# The demo's repository with two of its commits, and the profiles of its nodes in the folder `profiles` beside it.
git init --quiet --initial-branch=main .
cp -R "$PROJECT"/examples/demo/start/. .
cp -R "$PROJECT"/examples/demo/profiles ..
echo 'profiles: ../../profiles' > .git/hierad.yaml
commit() { git add --all; git commit --quiet --message "$1"; }
commit 'data: five nodes, two roles, two sites'
step() { cp -R "$PROJECT/examples/demo/steps/$1/files/." .; commit "$(head -n 1 "$PROJECT/examples/demo/steps/$1/about.txt")"; }
step 1-common
step 2-role
