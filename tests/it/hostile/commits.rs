//! Hostile commits that no file makes: odd trees and objects, entries that are no files, odd branches, the settings and
//! the hierarchy of the whole tree.

/// A kind of hostile commit.
pub(super) struct OddCommit {
    pub(super) name: &'static str,
    /// Commands for the shell, which print the id of the commit. `put MODE TYPE ID NAME` prints the tree of `main`
    /// with another entry, `at DIR MODE TYPE ID NAME` with one in a folder, `commit` makes a commit of the tree that it
    /// reads, `raw TYPE` an object of anything, `bytes ID` the bytes of an id.
    pub(super) script: &'static str,
    /// True if the commit leaves the honest keys no values.
    pub(super) spoils: bool,
}

const fn odd(name: &'static str, script: &'static str) -> OddCommit {
    OddCommit { name, script, spoils: false }
}

const fn spoiling(name: &'static str, script: &'static str) -> OddCommit {
    OddCommit { name, script, spoils: true }
}

/// The commands of the scripts.
pub(super) const PRELUDE: &str = "
blob() { git hash-object -w --stdin; }
raw() { git hash-object -t $1 -w --stdin --literally; }
put() { { git ls-tree main | grep -v \"\t$4\\$\" || :; } | { cat; [ $2 = none ] || printf '%s %s %s\\t%s\\n' $1 $2 $3 \"$4\"; } | git mktree --missing; }
at() {
  folder=$1; shift
  inner=$( { git ls-tree main:$folder 2> ../err | grep -v \"\t$4\\$\" || :; } | { cat; printf '%s %s %s\\t%s\\n' $1 $2 $3 \"$4\"; } | git mktree --missing)
  case $folder in
    */*) at ${folder%/*} 040000 tree $inner ${folder##*/};;
    *) put 040000 tree $inner $folder;;
  esac
}
commit() { git commit-tree -p main -m hostile $(cat); }
loose() { printf '%s/objects/%s/%s' $(git rev-parse --git-dir) $(echo $1 | cut -c 1-2) $(echo $1 | cut -c 3-); }
nothing=0123456789abcdef0123456789abcdef01234567
data() { id=$(blob); at data/nodes 100644 blob $id bad.yaml; }
bytes() { printf \"$(printf '\\\\%03o' $(echo $1 | sed 's/../ 0x&/g'))\"; }
lines() { yes \"$1\" | head -n $2 || :; }
";

pub(super) const ALL: [OddCommit; 38] = [
    odd(
        "trees that name the next one twice",
        "tree=$(printf '100644 blob %s\\tf.yaml\\n' $(echo 'evil: 1' | blob) | git mktree)
        for i in $(seq 40); do tree=$(printf '040000 tree %s\\ta\\n040000 tree %s\\tb\\n' $tree $tree | git mktree); done
        put 040000 tree $tree hostile | commit",
    ),
    odd(
        "a hundred thousand entries",
        "id=$(echo 'evil: 1' | blob)
        tree=$(seq 100000 | sed \"s/.*/100644 blob $id\\t&.yaml/\" | git mktree)
        put 040000 tree $tree hostile | commit",
    ),
    odd("a missing file", "at data/nodes 100644 blob $nothing bad.yaml | commit"),
    odd("a missing folder", "put 040000 tree $nothing hostile | commit"),
    spoiling("missing data", "put 040000 tree $nothing data | commit"),
    odd(
        "a damaged file",
        "id=$(echo \"evil: $SEED damaged\" | blob); at data/nodes 100644 blob $id bad.yaml | commit
        file=$(loose $id); chmod +w $file; echo garbage > $file",
    ),
    odd(
        "a cut file",
        "id=$( (echo \"evil: $SEED cut\"; head -c 50000 /dev/urandom | base64) | blob); at data/nodes 100644 blob $id bad.yaml | commit
        file=$(loose $id); chmod +w $file; truncate -s 20000 $file",
    ),
    odd(
        "a damaged folder",
        "tree=$(printf '100644 blob %s\\tf.yaml\\n' $(echo \"evil: $SEED folder\" | blob) | git mktree); put 040000 tree $tree hostile | commit
        file=$(loose $tree); chmod +w $file; echo garbage > $file",
    ),
    odd(
        "a file of zeroes in git's compression",
        "head -c 300000000 /dev/zero | data | commit",
    ),
    odd(
        "links in a circle",
        "tree=$(printf '120000 blob %s\\ta.yaml\\n120000 blob %s\\tb.yaml\\n' $(printf b.yaml | blob) $(printf a.yaml | blob) | git mktree)
        id=$(printf '../../hostile/a.yaml' | blob); at data/nodes 120000 blob $id bad.yaml | commit",
    ),
    odd("a link to itself", "id=$(printf 'bad.yaml' | blob); at data/nodes 120000 blob $id bad.yaml | commit"),
    odd("a link to the folder above", "id=$(printf '..' | blob); at data 120000 blob $id hostile | commit"),
    odd("a link out of the tree", "id=$(printf '../../../../../../dev/zero' | blob); at data/nodes 120000 blob $id bad.yaml | commit"),
    odd("a link to nowhere near", "id=$(head -c 1000000 /dev/zero | tr '\\0' a | blob); at data/nodes 120000 blob $id bad.yaml | commit"),
    odd(
        "a chain of links",
        "id=$(echo 'evil: 1' | blob)
        tree=$( (printf '100644 blob %s\\t0\\n' $id; seq 100 | while read n; do printf '120000 blob %s\\t%s\\n' $(printf $((n - 1)) | blob) $n; done) | git mktree)
        put 040000 tree $tree hostile | commit",
    ),
    odd("a repository as a file", "at data/nodes 160000 commit $nothing bad.yaml | commit"),
    odd("a repository as a folder", "put 160000 commit $nothing modules | commit"),
    spoiling("a repository as the data", "put 160000 commit $nothing data | commit"),
    odd("a folder as a file", "tree=$(git ls-tree main:data | git mktree); at data/nodes 040000 tree $tree bad.yaml | commit"),
    odd(
        "names that lead out of the tree",
        "id=$(echo 'evil: 1' | blob); 
        tree=$( (printf '100644 ..\\0'; bytes $id; printf '100644 .git\\0'; bytes $id; printf '100644 a/b\\0'; bytes $id) | raw tree)
        put 040000 tree $tree hostile | commit",
    ),
    odd(
        "a tree that is none",
        "tree=$(echo $SEED garbage | raw tree); put 040000 tree $tree hostile | commit",
    ),
    odd(
        "modes that are none",
        "id=$(echo 'evil: 1' | blob); 
        tree=$( (printf '777777777 a\\0'; bytes $id; printf '0 b\\0'; bytes $id; printf '100644 b\\0'; bytes $id) | raw tree)
        put 040000 tree $tree hostile | commit",
    ),
    spoiling("a commit whose tree is missing", "echo $nothing | xargs printf 'tree %s\\nparent %s\\nauthor A <a> 1 +0000\\ncommitter A <a> 1 +0000\\n\\nhostile\\n' | sed \"s/^parent .*/parent $(git rev-parse refs/heads/main)/\" | raw commit"),
    spoiling("a commit whose tree is a file", "printf 'tree %s\\nparent %s\\nauthor A <a> 1 +0000\\ncommitter A <a> 1 +0000\\n\\nhostile\\n' $(echo x | blob) $(git rev-parse refs/heads/main) | raw commit"),
    odd("a commit with one parent five hundred times", "tree=$(git rev-parse refs/heads/main^{tree}); (echo tree $tree; lines \"parent $(git rev-parse refs/heads/main)\" 500; printf 'author A <a> 1 +0000\\ncommitter A <a> 1 +0000\\n\\n%s\\n' $SEED) | raw commit"),
    odd("a huge message", "head -c 20000000 /dev/zero | tr '\\0' x > ../message; git commit-tree -p main -F ../message $(git rev-parse refs/heads/main^{tree})"),
    odd("a message in no encoding", "printf 'tree %s\\nparent %s\\nauthor A <a> 1 +0000\\ncommitter A <a> 1 +0000\\nencoding nonsense\\n\\n\\377\\376\\033[2J\\n' $(git rev-parse refs/heads/main^{tree}) $(git rev-parse refs/heads/main) | raw commit"),
    odd("an author who is none", "printf 'tree %s\\nparent %s\\nauthor \\033[2J<<>> 99999999999999999999 +99999\\ncommitter -1\\n\\nhostile\\n' $(git rev-parse refs/heads/main^{tree}) $(git rev-parse refs/heads/main) | raw commit"),
    odd(
        "odd branches",
        "made=$(data < ../message0 | commit)
        long=$(head -c 200 /dev/zero | tr '\\0' b)
        for name in 'x\"y' \"it's\" '$(reboot)' 'a;b' '%25' '<b>' $long 'a/b/c/d/e/f/g/h/i/j/k/l' '\u{202e}txt' '@' 'refs/heads/main' 'HEAD'; do
          git update-ref \"refs/heads/odd/$SEED/$name\" $made || :
        done
        echo $made",
    ),
    odd("a hundred branches", "made=$(data < ../message0 | commit); for n in $(seq 100); do echo create refs/heads/many/$SEED/$n $made; done | git update-ref --stdin; echo $made"),
    odd(
        "a branch of what is no commit",
        "mkdir -p .git/refs/heads/no; blob < ../message0 > .git/refs/heads/no/$SEED-file; echo $nothing > .git/refs/heads/no/$SEED-missing; echo garbage > .git/refs/heads/no/$SEED-garbage
        data < ../message0 | commit",
    ),
    odd("settings that command", "id=$(printf 'backends: {evil: {command: [touch, ../owned]}}\\nsinks: {x: {command: [touch, ../owned]}}\\nprofiles: [/etc]\\nlimits: {memory: 1}\\n' | blob); put 100644 blob $id hierad.yaml | commit"),
    odd("settings that explode", "id=$( (echo 'a0: &a0 [x, x]'; for n in $(seq 60); do echo \"a$n: &a$n [*a$((n - 1)), *a$((n - 1))]\"; done) | blob); put 100644 blob $id hierad.yaml | commit"),
    odd("settings without end", "id=$(head -c 30000000 /dev/zero | tr '\\0' '[' | blob); put 100644 blob $id hierad.yaml | commit"),
    odd("profiles in the tree", "id=$(lines '{name: good, facts: {x: 1}}' 1000 | blob); put 100644 blob $id profiles.ndjson | commit"),
    odd("an odd environment.conf", "id=$( (printf 'modulepath = '; lines 'modules:../../etc:/:$basemodulepath:' 1000 | tr -d '\\n') | blob); put 100644 blob $id environment.conf | commit"),
    spoiling("no hierarchy", "id=$( (echo 'version: 5'; echo 'hierarchy: [{name: c, path: '; lines '[' 100000) | blob); put 100644 blob $id hiera.yaml | commit"),
    odd("data in other encodings", "(printf '\\377\\376e\\0v\\0i\\0l\\0:\\0 \\0001\\0'; head -c 100000 /dev/urandom) | data | commit"),
];
