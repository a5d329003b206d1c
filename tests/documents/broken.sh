# The demo's repository with all of its commits.
. "$PROJECT/tests/documents/demo.sh"
for number in 3-node 4-moved 5-options 6-broken 7-mended; do step "$number"; done
