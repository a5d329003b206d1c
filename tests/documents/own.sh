# A repository as anyone's, with nothing of hierad in it; the profiles are in the user's home.
. "$PROJECT/tests/documents/demo.sh"
rm .git/hierad.yaml
