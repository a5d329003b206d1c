//! Digests the files of the tree that the words of trusted commands name, and notes which are not there yet.
//!
//! Trust ends with any change of them. Something that exists but cannot be read could change unseen, so it cannot be
//! trusted. A word that does not fully determine what it names, such as one that a shell expands, may name anything:
//! then the digest covers the whole tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::app::Result;
use crate::disk::{self, Step, Way};
use crate::settings::TreeFolder;

/// The depth to which interpreters of interpreters are followed; no system follows more.
const MAX_DEPTH: usize = 4;

/// The maximum size of a line that names an interpreter, in bytes: more than any system reads.
const MAX_LINE: u64 = 4096;

/// The maximum number of letters of an option before its argument.
const MAX_LETTERS: usize = 16;

/// The maximum number of names to follow. With more, the digest covers the whole tree.
const MAX_NAMES: usize = 10_000;

/// Commands with which a shell, or a script in a word, changes the folder that later names are relative to.
const FOLDER_COMMANDS: [&str; 3] = ["cd", "chdir", "pushd"];

/// Adds the files that the words of commands name to a digest.
pub(super) struct Programs<'a> {
    /// The place of the settings, which words are relative to.
    place: &'a TreeFolder,
    /// Adds a part of the digest.
    add: &'a mut dyn FnMut(&[u8]),
    /// True once a word does not fully determine what it names.
    is_unclear: bool,
    /// The paths in the tree that were added.
    added: BTreeSet<PathBuf>,
    /// The names in folders of the tree.
    listed: BTreeMap<PathBuf, Vec<OsString>>,
    /// The relative names, and the folders outside the tree, from which they may lead back into it.
    relative: BTreeSet<String>,
    elsewhere: BTreeSet<PathBuf>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(place: &'a TreeFolder, add: &'a mut dyn FnMut(&[u8])) -> Programs<'a> {
        let (added, listed, relative, elsewhere) = Default::default();
        Programs { place, add, is_unclear: false, added, listed, relative, elsewhere }
    }

    /// Adds the files of all words.
    pub(super) fn add_commands(&mut self, words: &[String]) -> Result<()> {
        let distinct: BTreeSet<&String> = words.iter().collect();
        for word in distinct {
            self.add_line(word, 0)?;
        }
        // A program such as env may go to a folder before it starts another one.
        let (names, folders) = (&self.relative, &self.elsewhere);
        self.is_unclear |= names.len() * folders.len() > MAX_NAMES
            || folders.iter().any(|folder| names.iter().any(|name| leads_back(&self.place.root, &folder.join(name))));
        if self.is_unclear { self.add_folder(&self.place.root.clone()) } else { Ok(()) }
    }

    /// Adds the files of all names in a word, or in the line that names an interpreter.
    fn add_line(&mut self, line: &str, depth: usize) -> Result<()> {
        self.is_unclear |=
            is_expanded(line) || line.split(|c: char| !c.is_alphanumeric()).any(|word| FOLDER_COMMANDS.contains(&word));
        for name in names_in(line) {
            if self.relative.len() + self.elsewhere.len() > MAX_NAMES {
                self.is_unclear = true;
                return Ok(());
            }
            self.add_name(name, name == line && depth == 0, depth)?;
        }
        Ok(())
    }

    /// Adds everything in a folder of the tree, except git directories.
    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries.iter().filter(|entry| !entry.file_name().eq_ignore_ascii_case(".git")) {
            let (path, kind) = (entry.path(), entry.file_type()?);
            (self.add)(path.strip_prefix(&self.place.root).unwrap_or(&path).as_os_str().as_encoded_bytes());
            if kind.is_dir() {
                (self.add)(b"folder");
                self.add_folder(&path)?;
            } else if kind.is_symlink() {
                (self.add)(b"link");
                (self.add)(fs::read_link(&path)?.as_os_str().as_encoded_bytes());
            } else if kind.is_file() {
                let file = disk::open_below(&self.place.root, &path)?;
                (self.add)(if is_executable(&file)? { b"program" } else { b"file" });
                (self.add)(&digest(&[], BufReader::new(file))?);
            }
        }
        Ok(())
    }

    /// Adds the file that a name stands for, if it leads into the tree. A folder is refused if it is the `whole`
    /// word, since it is not a program.
    fn add_name(&mut self, name: &str, whole: bool, depth: usize) -> Result<()> {
        if Path::new(name).is_relative() {
            self.relative.insert(name.to_owned());
        }
        match lead(self.place, Path::new(name)) {
            Lead::Unclear => self.is_unclear = true,
            Lead::Elsewhere(path) if path.is_dir() => _ = self.elsewhere.insert(path),
            Lead::Elsewhere(_) => {}
            Lead::Inside(path) => {
                let refused = |why: String| format!("a command names '{name}', which {why}");
                match self.add_entry(&path, depth)? {
                    Found::Folder if whole => {
                        return Err(refused("is a folder, whose contents could change unnoticed".into()).into());
                    }
                    // Other words may name its content.
                    Found::Folder => self.is_unclear = true,
                    Found::Refused(why) => return Err(refused(why).into()),
                    Found::Added => {}
                }
                self.add_siblings(&path)?;
            }
        }
        Ok(())
    }

    /// Adds the files next to a path whose names differ only in their ending, since many programs let one omit it.
    fn add_siblings(&mut self, path: &Path) -> Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Ok(());
        };
        if !self.listed.contains_key(folder) {
            let names = fs::read_dir(self.place.root.join(folder)).into_iter().flatten();
            let mut names: Vec<OsString> = names.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
            names.sort();
            self.listed.insert(folder.to_owned(), names);
        }
        let stem = stem(name).to_lowercase();
        let is_alike =
            |other: &&OsString| other.to_str().is_some_and(|other| stem == self::stem(&other.to_lowercase()));
        let alike: Vec<PathBuf> = self.listed[folder].iter().filter(is_alike).map(|name| folder.join(name)).collect();
        for other in alike.iter().filter(|other| *other != path) {
            match self.add_entry(other, MAX_DEPTH)? {
                Found::Folder => self.add_folder(&self.place.root.join(other))?,
                Found::Refused(_) => self.is_unclear = true,
                Found::Added => {}
            }
        }
        Ok(())
    }

    /// Adds the file at a path in the tree, or its absence, once.
    fn add_entry(&mut self, inside: &Path, depth: usize) -> Result<Found> {
        let path = self.place.root.join(inside);
        match path.symlink_metadata() {
            Err(error) if disk::is_absence(&error) => {
                if self.added.insert(inside.to_owned()) {
                    (self.add)(inside.as_os_str().as_encoded_bytes());
                    (self.add)(b"absent");
                }
                return Ok(Found::Added);
            }
            Err(error) => return Ok(Found::Refused(format!("cannot be examined: {error}"))),
            Ok(_) => {}
        }
        let file = match disk::open_below(&self.place.root, &path) {
            Ok(file) => file,
            Err(_) if path.is_dir() && disk::real_below(&self.place.root, &path).is_ok() => return Ok(Found::Folder),
            Err(error) => return Ok(Found::Refused(format!("cannot be read: {error}"))),
        };
        if !self.added.insert(inside.to_owned()) {
            return Ok(Found::Added);
        }
        (self.add)(inside.as_os_str().as_encoded_bytes());
        (self.add)(if is_executable(&file)? { b"program" } else { b"file" });
        let mut reader = BufReader::new(file);
        let mut first = Vec::new();
        reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut first)?;
        (self.add)(&digest(&first, reader)?);
        if let Some(interpreter) = first.strip_prefix(b"#!")
            && depth < MAX_DEPTH
        {
            self.add_line(String::from_utf8_lossy(interpreter).trim(), depth + 1)?;
        }
        Ok(Found::Added)
    }
}

/// The kind of a path in the tree.
enum Found {
    /// A file, or nothing yet, which is in the digest.
    Added,
    /// A folder, which is not in the digest.
    Folder,
    /// Something that cannot be read, for this reason.
    Refused(String),
}

/// The place that a name leads to.
#[derive(Debug, PartialEq)]
enum Lead {
    /// To this path from the top of the tree.
    Inside(PathBuf),
    /// To a place that no commit can change.
    Elsewhere(PathBuf),
    /// To a place that depends on more than the name.
    Unclear,
}

/// Follows a name from the place of the settings. After `..` in the tree nothing is certain, since the folder before
/// it may become a link. Nor is a path that leaves the tree and comes back.
fn lead(place: &TreeFolder, name: &Path) -> Lead {
    let below = name.strip_prefix(&place.root).unwrap_or(name);
    let is_upward = |part: &Component<'_>| matches!(part, Component::CurDir | Component::ParentDir);
    let goes_up = below.components().skip_while(is_upward).any(|part| part == Component::ParentDir);
    let folder = place.root.join(&place.folder);
    if below.is_relative() {
        match place.inside(name) {
            Some(_) if goes_up => return Lead::Unclear,
            Some(inside) => return Lead::Inside(inside),
            None => {}
        }
    }
    // The path of the place has no links, so the folders above it are certain.
    let up = name
        .components()
        .take_while(|part| name.is_relative() && is_upward(part))
        .filter(|part| *part == Component::ParentDir);
    let start = up.fold(&*folder, |folder, _| folder.parent().unwrap_or(folder));
    let rest: PathBuf = name.components().skip_while(|part| name.is_relative() && is_upward(part)).collect();
    let mut whole = start.join(rest);
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let is_in_git = |path: &Path| path.strip_prefix(&place.root).is_ok_and(|inside| inside.components().any(is_git));
    // No commit writes there, but the user may have made a link that leads back.
    if is_in_git(&whole) && !goes_up {
        whole = whole.canonicalize().unwrap_or(whole);
    }
    let is_elsewhere = if is_in_git(&whole) { !goes_up } else { !leads_back(&place.root, &whole) };
    if is_elsewhere { Lead::Elsewhere(whole) } else { Lead::Unclear }
}

/// Returns true if a path may lead into the tree at `root`, or to a folder around it.
fn leads_back(root: &Path, path: &Path) -> bool {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let Ok(mut walk) = Way::of(path) else { return true };
    for step in walk.by_ref() {
        match step {
            // The content of /proc depends on the process that looks.
            Ok(Step { entry, .. })
                if entry.starts_with(root) || entry.starts_with("/proc") || is_same(&entry, root) =>
            {
                return true;
            }
            Ok(_) => {}
            // Another folder than the present one may have it.
            Err(error) => return goes_up || !disk::is_absence(&error),
        }
    }
    root.starts_with(walk.place())
}

/// Returns true if a shell, or another reader of a word, may turn it into other names: by variables, patterns,
/// braces, escapes, or quotes in the middle of a name.
fn is_expanded(word: &str) -> bool {
    let is_plain = |c: Option<char>| c.is_none_or(is_between_names);
    let signs: Vec<char> = word.chars().collect();
    let joins = |at: usize| {
        let before = at.checked_sub(1).map(|at| signs[at]);
        "'\"".contains(signs[at]) && !is_plain(before) && !is_plain(signs.get(at + 1).copied())
    };
    let has_pattern = ["+(", "@(", "!("].iter().any(|sign| word.contains(sign));
    has_pattern || word.contains(['$', '`', '\\', '*', '?', '[', '~', '{']) || (0..signs.len()).any(joins)
}

/// Returns the names that a line may contain: the line itself, the parts between spaces, quotes or the signs of a
/// shell, the parts made of characters that are usual in names, and the arguments right after the letters of options.
fn names_in(line: &str) -> BTreeSet<&str> {
    let is_in_no_name = |c: char| !c.is_alphanumeric() && !"._-/+".contains(c);
    let mut names = BTreeSet::from([line]);
    names.extend(line.split_whitespace());
    names.extend(line.split(['\'', '"']));
    names.extend(line.split(is_between_names));
    names.extend(line.split(is_in_no_name));
    names.extend(line.split(|c| c == '+' || is_in_no_name(c)));
    let options = names.iter().filter_map(|name| name.strip_prefix('-').filter(|rest| !rest.starts_with('-')));
    let glued = options.flat_map(|rest| rest.char_indices().skip(1).take(MAX_LETTERS).map(|(start, _)| &rest[start..]));
    let glued: Vec<&str> = glued.collect();
    names.extend(glued);
    names.remove("");
    names
}

/// Returns a name without its endings.
fn stem(name: &str) -> &str {
    let end = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
    &name[..end]
}

/// Returns true for a character that separates names in a line for a shell.
fn is_between_names(c: char) -> bool {
    c.is_whitespace() || "'\"`=:,;|&<>(){}$".contains(c)
}

/// Returns the digest of the beginning of a file and of the rest.
fn digest(first: &[u8], mut rest: BufReader<std::fs::File>) -> Result<Vec<u8>> {
    let mut digest = Sha256::new();
    digest.update(first);
    loop {
        let part = rest.fill_buf()?;
        if part.is_empty() {
            return Ok(digest.finalize().to_vec());
        }
        digest.update(part);
        let read = part.len();
        rest.consume(read);
    }
}

#[cfg(unix)]
fn is_executable(file: &std::fs::File) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;

    Ok(file.metadata()?.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::File) -> Result<bool> {
    Ok(true)
}

/// Returns true if both paths are the same folder, such as one that is mounted twice.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let id = |path: &Path| path.symlink_metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
}

#[cfg(not(unix))]
fn is_same(_: &Path, _: &Path) -> bool {
    false
}
