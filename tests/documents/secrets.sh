# Three nodes, a password in encrypted data and a URL with it; the last commit changes one secret and encrypts another anew.
git init --quiet --initial-branch=main .
keys=$PROJECT/tests/vectors/eyaml/keys
cp "$keys/default.key.pem" ../private.pem
cp "$keys/default.pub.pem" ../public.pem
mkdir ../profiles data
for node in db01 db02 web01; do printf '{name: %s.example.com, facts: {}}\n' "$node" > "../profiles/$node.yaml"; done
printf 'profiles: ../../profiles\neyaml: {pkcs7_private_key: ../../private.pem}\n' > .git/hierad.yaml
cat > hiera.yaml <<'END'
version: 5
hierarchy:
  - {name: Secrets, path: common.eyaml, lookup_key: eyaml_lookup_key}
  - {name: Common, path: common.yaml}
END
# Prints the block of a secret of the vectors: which secret, and which of its two blocks.
block() { sed -n "/\"text\": \"$1[\/\"]/,/^ *\\],*\$/p" "$PROJECT/tests/vectors/secrets.json" | grep -o 'ENC\[PKCS7,[^]]*\]' | sed -n "$2p"; }
printf "app::database: \"db://app:%%{lookup('db::password')}@db01\"\n" > data/common.yaml
secrets() { printf 'db::password: %s\nroot::password: %s\n' "$1" "$2" > data/common.eyaml; }
commit() { git add --all; git commit --quiet --message "$1"; }
secrets "$(block hush01 1)" "$(block hush19 1)"
commit first
secrets "$(block hush23 1)" "$(block hush19 2)"
commit 'db: a new password'
