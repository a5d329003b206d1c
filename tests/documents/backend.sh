# A node, and a level whose function a command answers for.
git init --quiet --initial-branch=main .
mkdir profiles
cat > profiles/web01.yaml <<'END'
{name: web01.example.com, facts: {os: {family: Debian}}, variables: {role: web}}
END
cat > hiera.yaml <<'END'
version: 5
hierarchy:
  - {name: Web, lookup_key: hiera_http, options: {host: db}}
END
cat > hierad.yaml <<'END'
profiles: [profiles]
backends:
  hiera_http: {command: [./answer-http], scope: [role, facts.os.family]}
END
cat > answer-http <<'END'
#!/bin/sh
while read -r request; do
  echo "$request" >> requests.log
  case $request in
  *'"key":"ntp::servers"'*) echo '{"value": ["ntp1", "ntp2"]}' ;;
  *) echo '{"not_found": true}' ;;
  esac
done
END
chmod 755 answer-http
git add --all
git commit --quiet --message first
