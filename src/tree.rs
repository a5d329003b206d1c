//! Trees of files: a git commit, a folder on disk, the whole disk, a test's memory.
//!
//! [`FileTree`] gives entries as they are; [`follow`] walks a path through them as the operating system would,
//! symbolic links included, and never leaves the tree. Paths begin with the tree's root: those of a repository are
//! relative, those of the disk, or of a repository mounted at a folder of it, are absolute.

mod attributes;
mod changes;
mod content;
mod extent;
mod git_pattern;
mod grafted;
mod ident;
mod links;
mod mounted;
mod recording;
mod submodules;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha1::{Digest, Sha1};

use crate::hex::Hex;

pub use attributes::{ATTRIBUTES, Attributes, converting_lines};
pub use changes::changes;
pub use content::{ContentId, ContentIds, begins_with};
pub use extent::{Extent, MAX_FOLDERS};
pub use git_pattern::git_pattern;
pub use grafted::{Graft, GraftedTree};
pub use ident::{IDENT, with_ident};
pub use mounted::MountedTree;
pub use recording::{AccessedPaths, RecordingTree};
pub use submodules::WithSubmodules;

/// Git's id of a file's content: equal content has an equal id, in whichever tree it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub [u8; 20]);

impl BlobId {
    /// Returns git's id of `content`.
    pub fn of(content: &[u8]) -> BlobId {
        let mut sha = Sha1::new();
        sha.update(format!("blob {}\0", content.len()));
        sha.update(content);
        BlobId(sha.finalize().into())
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Hex(&self.0))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

/// One entry of a tree, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(BlobId),
    /// A folder.
    Folder,
    /// A symbolic link and the text it holds.
    Link(String),
    /// Another repository, such as a git submodule, with its commit if that is known. Its files are not in the tree.
    Submodule(Option<[u8; 20]>),
}

/// A tree could not be read: its storage is damaged or gone, or it is too large.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot read {path}: {reason}")]
pub struct TreeError {
    /// The path or blob id that was asked for.
    pub path: String,
    /// The storage's own message.
    pub reason: String,
    /// True if it is larger than hierad reads, so that it will fail again.
    pub is_too_large: bool,
}

impl TreeError {
    /// Returns a failure of the storage.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> TreeError {
        TreeError { path: path.into(), reason: reason.into(), is_too_large: false }
    }

    /// Returns the refusal of a tree or file that is larger than hierad reads.
    pub fn too_large(path: impl Into<String>, reason: impl Into<String>) -> TreeError {
        TreeError { is_too_large: true, ..TreeError::new(path, reason) }
    }
}

/// The default for the maximum size of a file that is read, in bytes.
pub const FILE_LIMIT: u64 = 64 << 20;

/// Returns the reason why a file of `size` bytes is not read.
pub fn too_large(size: u64, limit: u64) -> String {
    format!("the file has {size} bytes, and {limit} at most are read ('file' under 'limits' in hierad.yaml)")
}

/// The maximum size, in bytes, of a file that says how data are read, such as a `hiera.yaml`.
pub const CONFIG_LIMIT: usize = 8 << 20;

/// Returns the content of a file that says how data are read.
pub fn read_config(tree: &dyn FileTree, path: &str, id: BlobId) -> Result<Vec<u8>, TreeError> {
    let content = tree.read(id)?;
    if content.len() > CONFIG_LIMIT {
        let reason = format!("the file has {} bytes, and {CONFIG_LIMIT} at most are read of its kind", content.len());
        return Err(TreeError::too_large(path, reason));
    }
    Ok(content)
}

/// A read-only tree of files. Paths begin with the root, `/` between names, no `.` or `..`; the root itself is "" where
/// paths are relative.
pub trait FileTree: Send + Sync {
    /// Returns the prefix of all paths of the tree: "", or an absolute path such as "/".
    #[expect(clippy::unnecessary_literal_bound, reason = "others have a root of their own")]
    fn root(&self) -> &str {
        ""
    }

    /// Returns the entry at `path`, links not followed, or `None` if there is none.
    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError>;

    /// Returns the names in the folder at `path` with their entries, sorted by bytes; empty if it is not a folder.
    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError>;

    /// Returns an id of everything in the folder at `path`, or `None` if the tree has no such id. Two folders with
    /// the same id are equal.
    fn folder_id(&self, path: &str) -> Option<[u8; 20]> {
        _ = path;
        None
    }

    /// Returns the id of everything in the folder at `path`, the same in any tree, and adds it to `known`.
    fn content_id(&self, path: &str, known: &ContentIds) -> Result<ContentId, TreeError> {
        known.get(path, &|path| self.list(path))
    }

    /// Returns the id of the entries in the folder at `path` that are called `name`, with or without an extension,
    /// and of everything below them, and adds it to `known`. Returns `None` if there is a link among them, or a
    /// folder with an extension.
    fn content_id_beginning(&self, path: &str, name: &str, known: &ContentIds) -> Result<Option<ContentId>, TreeError> {
        known.beginning(path, name, &|path| self.list(path))
    }

    /// Returns the commit of another repository that is at `path`, whether its files are read or not.
    fn commit_at(&self, path: &str) -> Result<Option<[u8; 20]>, TreeError> {
        Ok(if let Some(Entry::Submodule(commit)) = self.entry(path)? { commit } else { None })
    }

    /// Returns the content of a file.
    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError>;

    /// Returns true for a file of a work tree that is read as it is on disk; git may convert it when storing it.
    fn is_on_disk(&self, id: BlobId) -> bool {
        _ = id;
        false
    }
}

/// Returns the files of the whole tree with names that `is_wanted` accepts. Skips links, and folders with names that
/// `is_passed` accepts.
pub fn files_called(
    tree: &dyn FileTree,
    is_wanted: impl Fn(&str) -> bool,
    is_passed: impl Fn(&str) -> bool,
) -> Result<Vec<(String, BlobId)>, TreeError> {
    files_at(tree, |path| is_wanted(path.rsplit('/').next().unwrap_or(path)), is_passed)
}

/// Does the same, but `is_wanted` gets whole paths.
pub fn files_at(
    tree: &dyn FileTree,
    is_wanted: impl Fn(&str) -> bool,
    is_passed: impl Fn(&str) -> bool,
) -> Result<Vec<(String, BlobId)>, TreeError> {
    let (mut found, mut extent) = (Vec::new(), Extent::default());
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        extent.see(&folder)?;
        for (name, entry) in tree.list(&folder)? {
            match entry {
                Entry::Folder if !is_passed(&name) => pending.push(child(&folder, &name)),
                Entry::File(id) => {
                    let path = child(&folder, &name);
                    if is_wanted(&path) {
                        found.push((path, id));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Returns the links of the whole tree that lead to something in it, with the paths that they lead to.
pub fn links(tree: &dyn FileTree) -> Result<Vec<(String, String)>, TreeError> {
    let (mut found, mut extent) = (Vec::new(), Extent::default());
    let mut pending = vec![tree.root().to_owned()];
    while let Some(folder) = pending.pop() {
        extent.see(&folder)?;
        for (name, entry) in tree.list(&folder)? {
            let path = child(&folder, &name);
            match entry {
                Entry::Folder => pending.push(path),
                Entry::Link(_) => match follow(tree, &path)? {
                    Target::File(real, _) | Target::Folder(real) => found.push((path, real)),
                    Target::Absent | Target::Dangling(_) | Target::Loop(_) | Target::Outside(_) => {}
                },
                _ => {}
            }
        }
    }
    Ok(found)
}

/// The target of a path, all links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, with its path after the links.
    File(String, BlobId),
    /// A folder, with its path after the links.
    Folder(String),
    /// Nothing is there.
    Absent,
    /// A symbolic link in the tree leads to nothing in it: the first link, and where it leads.
    Dangling(Astray),
    /// The path leads into a loop of links, or through more links than Linux follows.
    Loop(Astray),
    /// The path leaves the tree, or leads into a submodule.
    Outside(Astray),
}

/// A path that leads to nothing in a tree, as a clause such as `data/x is a submodule`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Astray {
    /// The part of the path that is the reason.
    pub path: String,
    /// The rest of the clause.
    pub how: String,
}

impl Astray {
    /// Returns the clause of `path` and `how`.
    pub fn new(path: impl Into<String>, how: impl Into<String>) -> Astray {
        Astray { path: path.into(), how: how.into() }
    }
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.how)
    }
}

/// The maximum number of names in all links that one path leads through. Trees are 256 folders deep at most.
const LINKED_LIMIT: usize = 4096;

/// Follows `path` from the root of `tree` as the operating system does from the root of a checkout: name by name,
/// `..` from where links have led, links inside the tree followed. A path or link that leaves the tree is
/// [`Target::Outside`], and so is a submodule.
pub fn follow(tree: &dyn FileTree, path: &str) -> Result<Target, TreeError> {
    follow_counted(tree, path, &mut 0)
}

/// Does the same, and adds the number of names in the links that it goes through to `linked`.
pub fn follow_counted(tree: &dyn FileTree, path: &str, linked: &mut usize) -> Result<Target, TreeError> {
    let root = tree.root();
    let Some(inner) = below(root, path) else {
        let how = if root.is_empty() { "is an absolute path" } else { "is another path" };
        return Ok(Target::Outside(Astray::new(path, how)));
    };
    let mut pending = names(inner);
    let mut at = String::with_capacity(path.len());
    at.push_str(root);
    let mut reached = Entry::Folder;
    let mut links = links::Links {
        path,
        root,
        ahead: Vec::new(),
        from: None,
        count: 0,
        limit: linked.saturating_add(LINKED_LIMIT),
    };
    while let Some(name) = links.ahead.pop().map(Cow::Owned).or_else(|| pending.next().map(Cow::Borrowed)) {
        if reached != Entry::Folder {
            return Ok(Target::Absent);
        }
        if matches!(name, Cow::Borrowed(_)) {
            links.from = None;
        }
        if name == ".." {
            let Some(parent) = parent(root, &at) else {
                // Every path through the link leads there, so the link is named.
                let from = links.from.as_deref().unwrap_or(path);
                return Ok(Target::Outside(Astray::new(from, "leads above the root of the repository")));
            };
            at.truncate(parent);
            continue;
        }
        let folder = at.len();
        push_name(&mut at, &name);
        match tree.entry(&at)? {
            None => return Ok(links.absent(at)),
            Some(Entry::Submodule(Some(_))) => return Ok(Target::Outside(Astray::new(at, "is a submodule"))),
            Some(Entry::Submodule(None)) => return Ok(Target::Outside(Astray::new(at, "is another repository"))),
            Some(Entry::Link(target)) => {
                if let Err(end) = links.follow(&target, &mut at, folder, linked) {
                    return Ok(end);
                }
            }
            Some(entry) => reached = entry,
        }
    }
    Ok(match reached {
        Entry::File(id) if !path.ends_with('/') && !path.ends_with("/.") => Target::File(at, id),
        Entry::Folder => Target::Folder(at),
        _ => Target::Absent,
    })
}

/// Returns the rest of `path` below `root`, or `None` if it is not below.
pub fn below<'p>(root: &str, path: &'p str) -> Option<&'p str> {
    match root {
        "" => Some(path).filter(|path| !path.starts_with('/')),
        "/" => path.strip_prefix('/'),
        root => path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

/// Returns the target of a link inside a tree with this root: relative to the link's folder, or to the root if it is
/// absolute. `None` if it leads out.
fn inside<'t>(root: &str, target: &'t str) -> Option<&'t str> {
    if target.starts_with('/') { below(root, target) } else { Some(target) }
}

/// Returns the length of the path of the folder above `at`. Returns `None` above a `root`, except for the root of the
/// disk, which is its own `..`.
fn parent(root: &str, at: &str) -> Option<usize> {
    if at == root {
        return (root == "/").then_some(root.len());
    }
    Some(at.rfind('/').unwrap_or(0).max(root.len()))
}

/// Returns true if `path` names a link, wherever it leads. Follows links in the folders on the way, and adds the
/// number of names in them to `linked`.
pub fn is_link(tree: &dyn FileTree, path: &str, linked: &mut usize) -> Result<bool, TreeError> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = if folder.len() < tree.root().len() { tree.root() } else { folder };
    let Target::Folder(at) = follow_counted(tree, folder, linked)? else { return Ok(false) };
    Ok(matches!(tree.entry(&child(&at, name))?, Some(Entry::Link(_))))
}

/// Returns the path of `name` inside the folder `folder`.
pub fn child(folder: &str, name: &str) -> String {
    let mut path = String::with_capacity(folder.len() + 1 + name.len());
    path.push_str(folder);
    push_name(&mut path, name);
    path
}

/// Appends `name` to the path of a folder.
fn push_name(folder: &mut String, name: &str) {
    if !folder.is_empty() && !folder.ends_with('/') {
        folder.push('/');
    }
    folder.push_str(name);
}

/// Returns the folder that the file at `path` lies in.
pub fn folder_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => &path[..at],
        None => "",
    }
}

fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// A tree in memory, for tests and for content that is not in git.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    root: String,
    entries: BTreeMap<String, Entry>,
    contents: BTreeMap<BlobId, Arc<[u8]>>,
}

impl MemoryTree {
    /// Makes an empty tree.
    pub fn new() -> MemoryTree {
        MemoryTree::default()
    }

    /// Makes an empty tree of paths below `root`.
    pub fn at(root: impl Into<String>) -> MemoryTree {
        MemoryTree { root: root.into(), ..MemoryTree::default() }
    }

    /// Makes a tree from many files in one text: each file starts with a line `-- PATH`, a link is `-- PATH -> TARGET`.
    pub fn from_fixture(fixture: &str) -> MemoryTree {
        let mut tree = MemoryTree::new();
        let mut current: Option<(String, String)> = None;
        for line in fixture.split_inclusive('\n') {
            let Some(header) = line.strip_prefix("-- ") else {
                if let Some((_, content)) = &mut current {
                    content.push_str(line);
                }
                continue;
            };
            if let Some((path, content)) = current.take() {
                tree.add(&path, content.as_bytes());
            }
            match header.trim_end().split_once(" -> ") {
                Some((path, target)) => tree.insert(path, Entry::Link(target.to_owned())),
                None => current = Some((header.trim_end().to_owned(), String::new())),
            }
        }
        if let Some((path, content)) = current {
            tree.add(&path, content.as_bytes());
        }
        tree
    }

    /// Adds or replaces a file, and adds the folders above it.
    pub fn add(&mut self, path: &str, content: &[u8]) {
        let id = BlobId::of(content);
        self.contents.insert(id, content.into());
        self.insert(path, Entry::File(id));
    }

    /// Adds or replaces any entry, and adds the folders above it.
    pub fn insert(&mut self, path: &str, entry: Entry) {
        for (slash, _) in path.match_indices('/') {
            self.entries.entry(path[..slash].to_owned()).or_insert(Entry::Folder);
        }
        self.entries.insert(path.to_owned(), entry);
    }
}

impl FileTree for MemoryTree {
    fn root(&self) -> &str {
        &self.root
    }

    fn entry(&self, path: &str) -> Result<Option<Entry>, TreeError> {
        if *path == self.root {
            return Ok(Some(Entry::Folder));
        }
        Ok(self.entries.get(path).cloned())
    }

    fn list(&self, path: &str) -> Result<Vec<(String, Entry)>, TreeError> {
        let prefix = child(path, "");
        let below = self.entries.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix));
        let mut names: Vec<_> = below
            .filter_map(|(p, entry)| Some((p.strip_prefix(&prefix)?, entry)))
            .filter(|(name, _)| !name.contains('/'))
            .map(|(name, entry)| (name.to_owned(), entry.clone()))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let missing = || TreeError::new(id.to_string(), "no such content");
        self.contents.get(&id).map(|content| content.to_vec()).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        let tree = MemoryTree::from_fixture(concat!(
            "-- data/common.yaml\na: 1\n-- data/here -> ../shared\n-- shared/x.yaml\nx: 1\n",
            "-- data/abs -> /etc/puppet\n-- data/up -> ../../outside\n-- data/gone -> ../.modules/x\n-- loop/a -> b\n-- loop/b -> a\n",
        ));
        let found = match follow(&tree, path).unwrap() {
            Target::File(at, _) => format!("file {at}"),
            Target::Folder(at) => format!("folder {at}"),
            Target::Absent => "absent".to_owned(),
            Target::Dangling(why) => format!("dangling: {why}"),
            Target::Loop(why) => format!("loop: {why}"),
            Target::Outside(why) => format!("outside: {why}"),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn links_are_followed_inside_the_tree_only() {
        check("data/common.yaml", "file data/common.yaml");
        check("./data//common.yaml", "file data/common.yaml");
        check("data/here/x.yaml", "file shared/x.yaml");
        check("data/here/../data/common.yaml", "file data/common.yaml");
        check("data/none/../common.yaml", "absent");
        check("data/common.yaml/x", "absent");
        check("data/here", "folder shared");
        check("data/here/none.yaml", "absent");
        check("data/abs/x.yaml", "outside: data/abs is a symbolic link to /etc/puppet");
        let gone = "dangling: data/gone is a symbolic link to .modules/x, which is not in the repository";
        check("data/gone", gone);
        check("data/gone/nodes/x.yaml", gone);
        check("data/up", "outside: data/up leads above the root of the repository");
        check("data/up/nodes/x.yaml", "outside: data/up leads above the root of the repository");
        check("data/here/../../x.yaml", "outside: data/here/../../x.yaml leads above the root of the repository");
        check("loop/a", "loop: loop/a leads into a loop of symbolic links");
    }

    #[test]
    fn links_lead_through_a_bounded_number_of_names() {
        let mut tree = MemoryTree::from_fixture("-- l/x.yaml\nx: 1\n-- l/up -> ../l/../l\n");
        for (name, target) in
            [("long", "../l/".repeat(800)), ("dots", "./".repeat(2000)), ("slashes", format!(".{}", "/".repeat(4000)))]
        {
            tree.insert(&format!("l/{name}"), Entry::Link(target));
        }
        let found = |path: &str| {
            let mut linked = 0;
            (follow_counted(&tree, path, &mut linked).unwrap(), linked)
        };
        for (once, twice) in [("long", 2), ("dots", 2), ("slashes", 1)]
            .map(|(name, times)| (format!("l/{name}"), format!("l{}", format!("/{name}").repeat(times + 1))))
        {
            let (target, linked) = found(&format!("{once}/x.yaml"));
            assert!(matches!(target, Target::File(path, _) if path == "l/x.yaml"), "{once}");
            assert!((1000..=LINKED_LIMIT).contains(&linked), "{once}: {linked}");
            assert!(
                matches!(found(&twice).0, Target::Outside(why) if why.how.contains("more than 4096 names")),
                "{twice}"
            );
        }
        // Forty links of a few names are fine, as they are for Linux.
        let (target, linked) = found(&format!("l{}/x.yaml", "/up".repeat(40)));
        assert!(matches!(target, Target::File(..)) && linked < 300, "{linked}");
        assert_eq!(found("l/x.yaml").1, 0);
    }

    #[test]
    fn a_blob_id_is_gits() {
        assert_eq!(BlobId::of(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
