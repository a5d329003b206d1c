# The demo's repository, and a last commit that no profile sees anything of.
. "$PROJECT/tests/documents/broken.sh"
printf 'memcached::max_memory: 2048\n' > data/roles/cache.yaml
commit 'cache: a role of its own'
printf 'memcached::max_memory: 4096\n' > data/roles/cache.yaml
commit 'cache: more memory'
