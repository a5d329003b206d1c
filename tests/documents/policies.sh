# The demo's repository with some more commits, and policies in the settings.
. "$PROJECT/tests/documents/demo.sh"
step 3-node
step 4-moved
step 5-options
step 6-broken
step 7-mended
printf 'nginx::worker_processes: 24\nbackup::target: tape.example.com\n' >> data/roles/web.yaml
commit 'web: more workers, backups on tape'
cat >> .git/hierad.yaml <<'SETTINGS'
policies:
  - name: web-load
    level: failure
    message: Ask the web team before nginx changes.
    reviewers: [team-web]
    keys: "nginx::*"
  - name: no-new-errors
    level: failure
    message: Correct the data, since Puppet fails on these nodes.
    kinds: error
  - name: wide
    level: warning
    message: Most nodes change. Deploy it in steps.
    more_than: {nodes: 50%}
waivers:
  - policy: web-load
    nodes: "web01*"
    reason: load test, OPS-17
    expires: 2999-12-31
SETTINGS
