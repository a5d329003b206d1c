//! Digests the files of the tree that the words of trusted commands name, and notes which are not there yet.
//!
//! Trust ends with any change of it. What is there and cannot be read would change unseen, so it cannot be trusted. A
//! word that does not say by itself what it names, such as one that a shell expands, may name anything: then all of the
//! tree counts.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

use super::Result;
use crate::disk;
use crate::settings::TreeFolder;

/// Interpreters of interpreters are looked at to this depth; systems follow no more of them.
const MAX_DEPTH: usize = 4;

/// The most bytes of a line that names an interpreter: more than any system reads.
const MAX_LINE: u64 = 4096;

/// The most letters of an option before its argument.
const MAX_LETTERS: usize = 16;

/// Puts what the words of commands are into a digest.
pub(super) struct Programs<'a> {
    /// The place of the settings, which words are relative to.
    pub(super) place: &'a TreeFolder,
    /// Adds a part of the digest.
    pub(super) add: &'a mut dyn FnMut(&[u8]),
    /// True once a word does not say by itself what it names.
    pub(super) is_unclear: bool,
}

impl Programs<'_> {
    /// Adds the files of all words. A word of several names, such as a line for a shell, is each of them.
    pub(super) fn of_commands(&mut self, words: &[String]) -> Result<()> {
        for word in words {
            self.word(word, true, 0)?;
            for name in word.split(is_between_names).filter(|name| !name.is_empty() && name != word) {
                self.word(name, false, 0)?;
            }
            // An option may have its argument right behind its letter.
            let glued = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            for (start, _) in glued.char_indices().skip(1).take(MAX_LETTERS) {
                self.word(&glued[start..], false, 0)?;
            }
        }
        if self.is_unclear { self.folder(&self.place.root.clone()) } else { Ok(()) }
    }

    /// Adds all that is in a folder of the tree, but for git directories.
    fn folder(&mut self, folder: &Path) -> Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries.iter().filter(|entry| !entry.file_name().eq_ignore_ascii_case(".git")) {
            let (path, kind) = (entry.path(), entry.file_type()?);
            (self.add)(path.strip_prefix(&self.place.root).unwrap_or(&path).as_os_str().as_encoded_bytes());
            if kind.is_dir() {
                (self.add)(b"folder");
                self.folder(&path)?;
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

    /// Adds what a word is, if it leads into the tree. A folder is no program, and refused where it is the `whole`
    /// word.
    fn word(&mut self, word: &str, whole: bool, depth: usize) -> Result<()> {
        self.is_unclear |= is_expanded(word) || turns_back(self.place, word);
        let Some(inside) = self.place.inside(Path::new(word)).filter(|_| !word.is_empty()) else { return Ok(()) };
        let path = self.place.root.join(inside);
        let refused = |why: &str| -> Result<()> { Err(format!("a command names '{word}', which {why}").into()) };
        (self.add)(word.as_bytes());
        match path.symlink_metadata() {
            Err(error) if disk::is_absence(&error) => {
                (self.add)(b"absent");
                return Ok(());
            }
            Err(error) => return refused(&format!("cannot be looked at: {error}")),
            Ok(_) => {}
        }
        let file = match disk::open_below(&self.place.root, &path) {
            Ok(file) => file,
            Err(_) if path.is_dir() && disk::real_below(&self.place.root, &path).is_ok() => {
                (self.add)(b"folder");
                // What is in it may be named from there.
                self.is_unclear = true;
                return if whole { refused("is a folder: what is in it may change unseen") } else { Ok(()) };
            }
            Err(error) => return refused(&format!("cannot be read: {error}")),
        };
        (self.add)(if is_executable(&file)? { b"program" } else { b"file" });
        let mut reader = BufReader::new(file);
        let mut first = Vec::new();
        reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut first)?;
        (self.add)(&digest(&first, reader)?);
        if let Some(interpreter) = first.strip_prefix(b"#!")
            && depth < MAX_DEPTH
        {
            for word in String::from_utf8_lossy(interpreter).split_whitespace() {
                self.word(word, false, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a shell, or whoever reads a word, may make other names of it: for variables, patterns, escapes, or
/// quotes in the middle of a name.
fn is_expanded(word: &str) -> bool {
    let is_plain = |c: Option<char>| c.is_none_or(is_between_names);
    let signs: Vec<char> = word.chars().collect();
    let joins = |at: usize| {
        let before = at.checked_sub(1).map(|at| signs[at]);
        "'\"".contains(signs[at]) && !is_plain(before) && !is_plain(signs.get(at + 1).copied())
    };
    word.contains(['$', '`', '\\', '*', '?', '[', '~']) || (0..signs.len()).any(joins)
}

/// Returns true if `..` stands behind a folder of the tree, which may become a link.
fn turns_back(place: &TreeFolder, word: &str) -> bool {
    let mut parts = Path::new(word).components().skip_while(|part| !matches!(part, Component::Normal(_)));
    let is_of_tree = !Path::new(word).is_absolute() || Path::new(word).starts_with(&place.root);
    is_of_tree && parts.any(|part| part == Component::ParentDir)
}

/// Returns true for a character that parts names in a line for a shell.
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
