//! Finds the files at the paths of node profiles.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::FindError;
use crate::disk::{check_named, failed, is_absence, leaves, real_below};
use crate::hiera::layer::path_patterns::is_bare;
use crate::puppet::glob::{SHARED_LIMIT, glob_within, is_pattern};
use crate::tree::{BlobId, Entry, Extent, FileTree, Target, TreeError, child, follow};

type Result<T> = std::result::Result<T, FindError>;

/// A profile file.
pub(super) struct ProfilePath {
    /// The path as found.
    pub(super) path: PathBuf,
    /// The canonical path.
    pub(super) real: PathBuf,
}

impl ProfilePath {
    fn at(path: PathBuf) -> ProfilePath {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        ProfilePath { path, real }
    }
}

/// Returns the profile files at paths: files themselves, the files below folders, and the matches of globs. Paths
/// that cannot be searched are skipped.
pub fn files<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut search = Search::default();
    paths.flat_map(|path| find(path, &mut search).unwrap_or_default()).map(|file| file.path).collect()
}

/// A search at several paths with a common limit: settings of a tree may name the same folder many times.
pub(super) struct Search {
    names: DiskTree,
    left: usize,
}

impl Default for Search {
    fn default() -> Search {
        Search { names: DiskTree::default(), left: SHARED_LIMIT }
    }
}

/// Fails if there is nothing at a path that is not a pattern.
pub fn check_there(path: &Path) -> Result<()> {
    if path.exists() || is_pattern(&path.to_string_lossy()) {
        return Ok(());
    }
    let text = format!("no node profiles at {}: there is no such file or folder", path.display());
    Err(FindError(text))
}

/// Returns the profile files at a path, with their canonical paths.
fn find(path: &Path, search: &mut Search) -> Result<Vec<ProfilePath>> {
    if path.is_dir() {
        let mut found = Vec::new();
        let real = path.canonicalize();
        let collected = real.and_then(|real| collect(path, &real, &mut found, &mut search.left));
        collected.map_err(|e| FindError(format!("cannot read {}: {e}", path.display())))?;
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![ProfilePath::at(path.to_owned())]);
    }
    check_there(path)?;
    Ok(matching(path, search)?.into_iter().map(ProfilePath::at).collect())
}

/// Divides the files at a path that the user names into those to read, and those that links lead to outside a
/// confined work tree. Fails if the path itself leads out of it.
pub(super) fn by_user(path: &Path, search: &mut Search) -> Result<(Vec<ProfilePath>, Vec<ProfilePath>)> {
    let folder = if path.exists() { path.to_owned() } else { plain_part(path) };
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    check_named(&folder).map_err(|error| FindError(error.to_string()))?;
    let Ok(real) = folder.canonicalize() else { return Ok((find(path, search)?, Vec::new())) };
    Ok(find(path, search)?.into_iter().partition(|file| !leaves(&real, &file.real)))
}

/// Divides the files at a path into those that lie below its folder, which must be below `root`, and those that links
/// lead to outside it. Fails if the path itself leads out of `root`.
pub(super) fn confined(root: &Path, path: &Path, search: &mut Search) -> Result<(Vec<ProfilePath>, Vec<ProfilePath>)> {
    let folder = if path.is_dir() {
        path.to_owned()
    } else if path.exists() {
        path.parent().unwrap_or(Path::new("")).to_owned()
    } else {
        plain_part(path)
    };
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    let Ok(real) = folder.canonicalize() else { return Ok((find(path, search)?, Vec::new())) };
    if real_below(root, &folder).is_err() {
        let text = format!("{} leads out of the tree whose settings name it: it is not read", path.display());
        return Err(FindError(text));
    }
    let is_inside = |file: &ProfilePath| file.real.starts_with(&real) && real_below(root, &file.real).is_ok();
    Ok(find(path, search)?.into_iter().partition(|file| is_inside(file) && file.real.is_file()))
}

/// Returns the part of a path before its first pattern: an ordinary folder, `..` and links included.
fn plain_part(path: &Path) -> PathBuf {
    path.components().take_while(is_plain).collect()
}

fn is_plain(part: &Component<'_>) -> bool {
    !is_pattern(&part.as_os_str().to_string_lossy())
}

/// Returns the files that a glob matches.
fn matching(path: &Path, search: &mut Search) -> Result<Vec<PathBuf>> {
    let folder = plain_part(path);
    let pattern: PathBuf = path.components().skip_while(is_plain).collect();
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    let Ok(root) = root.canonicalize() else { return Ok(Vec::new()) };
    let pattern = format!("{}/{}", escaped(&root.to_string_lossy()).trim_end_matches('/'), pattern.to_string_lossy());
    let found = glob_within(&search.names, &pattern, &mut search.left).map_err(|e| FindError(e.to_string()))?;
    let below = found.iter().filter_map(|file| Path::new(file).strip_prefix(&root).ok());
    Ok(below.map(|file| folder.join(file)).filter(|file| file.is_file()).collect())
}

/// Escapes a path so that the resulting pattern matches only that path.
fn escaped(path: &str) -> String {
    path.chars().flat_map(|c| ['\\', c].into_iter().skip(usize::from(!r"*?[]{},\".contains(c)))).collect()
}

/// The files on disk by name, without their contents. A folder is listed once.
#[derive(Default)]
struct DiskTree {
    listed: Mutex<HashMap<String, Vec<(String, Entry)>>>,
}

impl DiskTree {
    fn entry_of(path: &Path) -> io::Result<Option<Entry>> {
        let kind = fs::symlink_metadata(path)?.file_type();
        Ok(if kind.is_symlink() {
            Some(Entry::Link(fs::read_link(path)?.to_string_lossy().into_owned()))
        } else if kind.is_dir() {
            Some(Entry::Folder)
        } else {
            kind.is_file().then_some(Entry::File(BlobId([0; 20])))
        })
    }
}

impl FileTree for DiskTree {
    fn root(&self) -> &'static str {
        "/"
    }

    fn entry(&self, path: &str) -> std::result::Result<Option<Entry>, TreeError> {
        match DiskTree::entry_of(Path::new(path)) {
            Err(error) if is_absence(&error) => Ok(None),
            entry => entry.map_err(|error| failed(path, &error)),
        }
    }

    fn list(&self, path: &str) -> std::result::Result<Vec<(String, Entry)>, TreeError> {
        if let Some(entries) = self.listed.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(entries.clone());
        }
        let mut entries = Vec::new();
        for file in fs::read_dir(path).map_err(|error| failed(path, &error))? {
            let name = file.map_err(|error| failed(path, &error))?.file_name().to_string_lossy().into_owned();
            entries.extend(self.entry(&child(path, &name))?.map(|entry| (name, entry)));
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), entries.clone());
        Ok(entries)
    }

    fn read(&self, id: BlobId) -> std::result::Result<Vec<u8>, TreeError> {
        Err(TreeError::new(id.to_string(), "no content is known"))
    }
}

/// Returns the contents of the profile files at a path of a tree, by the path that leads to them. Follows links, as
/// [`files`] does on disk, and examines at most as many names as are `left`.
pub fn files_in_tree(
    tree: &dyn FileTree,
    path: &str,
    left: &mut usize,
) -> std::result::Result<BTreeMap<String, BlobId>, TreeError> {
    let mut found = BTreeMap::new();
    match follow(tree, path)? {
        Target::File(_, id) => drop(found.insert(path.to_owned(), id)),
        Target::Folder(real) => {
            let mut pending = vec![(path.to_owned(), real)];
            let mut extent = Extent::default();
            while let Some((folder, real)) = pending.pop() {
                extent.see(&folder)?;
                let entries = tree.list(&real)?;
                spend(left, entries.len()).map_err(|why| TreeError::new(path, why))?;
                for (name, entry) in entries.into_iter().filter(|(name, _)| !name.starts_with('.')) {
                    let (path, real) = (child(&folder, &name), child(&real, &name));
                    match entry {
                        Entry::Folder => pending.push((path, real)),
                        _ if is_profile_file(Path::new(&name)) => {
                            found.extend(file_at(tree, &real)?.map(|id| (path, id)));
                        }
                        _ if is_bare(&name) => {
                            let id = file_at(tree, &real)?;
                            let id = id.filter(|id| tree.read(*id).is_ok_and(|content| begins_as_profile(&content)));
                            found.extend(id.map(|id| (path, id)));
                        }
                        _ => {}
                    }
                }
            }
        }
        Target::Absent | Target::Dangling(_) | Target::Loop(_) | Target::Outside(_) => {
            // A pattern that costs too much is reported when the disk is read.
            for path in glob_within(tree, path, left).unwrap_or_default() {
                found.extend(file_at(tree, &path)?.map(|id| (path, id)));
            }
        }
    }
    Ok(found)
}

fn file_at(tree: &dyn FileTree, path: &str) -> std::result::Result<Option<BlobId>, TreeError> {
    Ok(if let Target::File(_, id) = follow(tree, path)? { Some(id) } else { None })
}

/// Subtracts names from the number that may still be examined.
fn spend(left: &mut usize, names: usize) -> std::result::Result<(), &'static str> {
    *left = left.checked_sub(names + 1).ok_or("the paths of profiles together lead to too many files")?;
    Ok(())
}

/// Collects the profile files below `folder`, whose canonical path is `real`, in the order of their paths. Hidden files
/// are left out, and links to folders are not followed.
fn collect(folder: &Path, real: &Path, found: &mut Vec<ProfilePath>, left: &mut usize) -> io::Result<()> {
    let with_name = |entry: std::io::Result<DirEntry>| entry.map(|entry| (entry.file_name(), entry));
    let mut entries = std::fs::read_dir(folder)?.map(with_name).collect::<std::io::Result<Vec<_>>>()?;
    spend(left, entries.len()).map_err(io::Error::other)?;
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (name, entry) in entries {
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let (path, kind) = (folder.join(&name), entry.file_type()?);
        if kind.is_dir() {
            collect(&path, &real.join(&name), found, left)?;
        } else if is_profile_file(&path) || is_bare_profile(&path) {
            if kind.is_file() {
                found.push(ProfilePath { path, real: real.join(&name) });
            } else if path.is_file() {
                found.push(ProfilePath::at(path));
            }
        }
    }
    Ok(())
}

/// Returns true for a file with the extension of profiles, including compressed ones, which a message asks the user
/// to unpack.
fn is_profile_file(path: &Path) -> bool {
    let extensions = ["yaml", "yml", "json", "ndjson", "jsonl", "facts"];
    let is = |path: &Path, known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    let is_packed = |known: &&str| is(path, "gz") && path.file_stem().is_some_and(|stem| is(Path::new(stem), known));
    extensions.iter().any(|known| is(path, known) || is_packed(known))
}

/// Returns true for a file named like a node, without an extension, that begins like a profile.
fn is_bare_profile(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let beginning = || -> io::Result<[u8; 4]> {
        let mut beginning = [0; 4];
        File::open(path)?.read_exact(&mut beginning)?;
        Ok(beginning)
    };
    is_bare(name) && path.is_file() && beginning().is_ok_and(|beginning| begins_as_profile(&beginning))
}

/// Returns true if a content begins like JSON, or like YAML with a document mark.
fn begins_as_profile(content: &[u8]) -> bool {
    [&b"{"[..], b"---\n", b"--- "].iter().any(|beginning| content.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn globs_follow_links_and_odd_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a{b},[c]*?\\/profiles/.git")).unwrap();
        fs::write(at("a{b},[c]*?\\/profiles/x.yaml"), "").unwrap();
        std::os::unix::fs::symlink(at("a{b},[c]*?\\"), at("link")).unwrap();
        std::os::unix::fs::symlink("../link/profiles", at("link/again")).unwrap();
        for (pattern, expected) in [
            ("link/profiles/*.yaml", "link/profiles/x.yaml"),
            ("link/again/*.yaml", "link/again/x.yaml"),
            ("link/aga*/x.yaml", "link/again/x.yaml"),
            ("link/again/../{p,q}rofiles/*", "link/again/../profiles/x.yaml"),
            ("link/**/[x].yaml", "link/profiles/x.yaml"),
        ] {
            assert_eq!(files([at(pattern)].iter()), [at(expected)], "{pattern}");
        }
    }

    #[test]
    fn all_paths_of_profiles_have_one_bound() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("nodes/deep")).unwrap();
        let mut tree = crate::tree::MemoryTree::new();
        for n in 0..20 {
            for path in [format!("nodes/{n}.yaml"), format!("nodes/deep/{n}.yaml")] {
                fs::write(at(&path), "").unwrap();
                tree.add(&path, b"");
            }
        }
        let ends = |paths: &[&str]| {
            let mut search = Search { left: 1000, ..Search::default() };
            let on_disk = paths.iter().any(|path| find(&at(path), &mut search).is_err());
            let mut left = 1000;
            let in_tree = paths.iter().any(|path| files_in_tree(&tree, path, &mut left).is_err()) || left == 0;
            (on_disk, in_tree)
        };
        for hostile in ["nodes/*.yaml", "**/*.yaml", "nodes/{1,2}*.yaml", "nodes/**/x*", "nodes", "nodes/deep/"] {
            assert_eq!(ends(&[hostile; 100]), (true, true), "{hostile}");
        }
        for honest in [&["nodes"; 5][..], &["nodes/*.yaml", "nodes/deep/*.yaml", "nodes/deep"], &["nodes/1.yaml"; 100]]
        {
            assert_eq!(ends(honest), (false, false), "{honest:?}");
        }
    }

    #[test]
    fn files_are_sorted_by_path() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "a/b.c", "a-b", "a", "a.b/c", "a0", "B", "a/.c", ".d/e"] {
            let path = folder.path().join(format!("{name}.yaml"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = files([folder.path().to_owned()].iter());
        let mut sorted = found.clone();
        sorted.sort();
        assert_eq!((found.len(), &found), (7, &sorted));
    }
}
