# The demo's repository, and a stand-in for the Ruby that has Puppet, which answers as Puppet 8.10 does.
. "$PROJECT/tests/documents/broken.sh"
mkdir -p ../puppet/bin
answers=$(hierad render --format ndjson | paste -sd, -)
cat > ../puppet/bin/ruby <<END
#!/bin/sh
while read -r request; do
  case \$request in
  '{"version":true}') echo '{"puppet": "8.10.0"}' ;;
  *) cat <<'ANSWERS'
{"repo":"","keys":[],"nodes":[$answers]}
ANSWERS
  ;;
  esac
done
END
chmod 755 ../puppet/bin/ruby
