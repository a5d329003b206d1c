//! Merges in memory: they are those of git, by its strategy that looks for no renames.

use hierad::git::{Merge, MergeError};
use hierad::tree::{Entry, FileTree, changes};

use crate::support::Sandbox;
use crate::support::random::Random;

/// The number of random merges, and of those that must not be conflicts.
const MERGES: u64 = 60;
const CLEAN: usize = 20;

/// Changes some random files of the work tree, by few lines each.
fn edit(site: &Sandbox, random: &mut Random, edits: usize) {
    for _ in 0..edits {
        let place = *random.pick(&["a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "f/a", "f/g/h/a"]);
        let path = site.root().join(place);
        match random.below(8) {
            0 => _ = std::fs::remove_file(&path),
            1 if place.contains('/') => _ = std::fs::remove_dir_all(path.parent().unwrap()),
            2 => {
                // A folder becomes a file, or a file a folder.
                let (folder, other) = *random.pick(&[("d/e", "d/e"), ("a", "a/x"), ("f", "f"), ("b", "b/y")]);
                let folder = site.root().join(folder);
                _ = std::fs::remove_file(&folder);
                _ = std::fs::remove_dir_all(&folder);
                site.write(other, "made\n");
            }
            _ if path.is_dir() || path.ancestors().skip(1).any(std::path::Path::is_file) => {}
            _ => {
                let mut lines: Vec<String> = match std::fs::read_to_string(&path) {
                    Ok(known) => known.lines().map(str::to_owned).collect(),
                    Err(_) => (0..30).map(|line| line.to_string()).collect(),
                };
                let at = random.below(lines.len());
                lines[at] = format!("edited {}", random.below(3));
                site.write(place, lines.join("\n") + "\n");
            }
        }
    }
}

/// Every file of a tree with its content.
fn files(tree: &dyn FileTree, folder: &str, into: &mut Vec<(String, String)>) {
    for (name, entry) in tree.list(folder).unwrap() {
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        assert_eq!(tree.entry(&path).unwrap().as_ref(), Some(&entry), "{path}");
        match entry {
            Entry::Folder => files(tree, &path, into),
            Entry::File(id) => into.push((path, String::from_utf8(tree.read(id).unwrap()).unwrap())),
            other => into.push((path, format!("{other:?}"))),
        }
    }
}

fn listing(tree: &dyn FileTree) -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(tree, "", &mut found);
    found
}

#[test]
fn merges_are_those_of_git() {
    let (mut clean, mut conflicts) = (0, 0);
    for seed in 0..MERGES {
        let (site, mut random) = (Sandbox::new(), Random::new(seed));
        site.sh("rm -rf ./*");
        edit(&site, &mut random, 12);
        site.write("keep/a", "keep\n");
        let base = site.commit("base");
        let [ours, theirs] = ["ours", "theirs"].map(|name| {
            site.git(["checkout", "--quiet", "-b", name, &base.to_string()]);
            let edits = 1 + random.below(5);
            edit(&site, &mut random, edits);
            site.write(&format!("keep/{name}"), "more\n");
            site.commit(name)
        });
        let repository = site.open();
        let merged = repository.merged(Merge { base, ours, theirs });
        site.git(["checkout", "--quiet", "ours"]);
        let merge = "git merge --strategy=resolve --quiet -m merged theirs >/dev/null 2>&1 && echo clean || true";
        let is_clean = site.sh(merge).contains("clean");
        match merged {
            Ok(merged) => {
                assert!(is_clean, "seed {seed}: git finds a conflict");
                let tree = repository.tree(site.id("HEAD")).unwrap();
                assert_eq!(listing(&merged), listing(&tree), "seed {seed}");
                assert_eq!(changes(&merged, &tree).unwrap().len(), 0, "seed {seed}");
                let before = repository.tree(ours).unwrap();
                assert_eq!(changes(&before, &merged).unwrap(), changes(&before, &tree).unwrap(), "seed {seed}");
                clean += 1;
            }
            Err(error) => {
                // Where a folder becomes a file, git may find that nothing of the folder is left.
                assert!(!is_clean || error.to_string().contains("kind of file"), "seed {seed}: {error}");
                assert!(matches!(error, MergeError::Conflict { .. }), "seed {seed}: {error}");
                conflicts += 1;
            }
        }
    }
    assert!(clean >= CLEAN && conflicts >= CLEAN / 2, "{clean} merges, {conflicts} conflicts");
}
