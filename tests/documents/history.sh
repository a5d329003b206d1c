# The demo's repository with all of its commits, and one that mends the last.
. "$PROJECT/tests/documents/demo.sh"
step 3-node
step 4-moved
step 5-options
step 6-broken
git show HEAD~1:data/sites/oslo.yaml > data/sites/oslo.yaml
commit 'oslo: mend the file'
printf 'nginx::worker_processes: 8\n' > data/roles/web.yaml
commit 'web: 8 nginx workers are enough'
