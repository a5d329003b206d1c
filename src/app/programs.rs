//! Digests the files of the tree that the words of trusted commands name, and notes which are not there yet.
//!
//! Trust ends with any change of it. What is there and cannot be read would change unseen, so it cannot be trusted.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::Result;
use crate::disk;
use crate::settings::TreeFolder;

/// Interpreters of interpreters are looked at to this depth; systems follow no more of them.
const MAX_DEPTH: usize = 4;

/// The most bytes of a line that names an interpreter: more than any system reads.
const MAX_LINE: u64 = 4096;

/// Puts what the words of commands are into a digest.
pub(super) struct Programs<'a> {
    /// The place of the settings, which words are relative to.
    pub(super) place: &'a TreeFolder,
    /// Adds a part of the digest.
    pub(super) add: &'a mut dyn FnMut(&[u8]),
}

impl Programs<'_> {
    /// Adds the files of all words. A word of several names, such as a line for a shell, is each of them.
    pub(super) fn of_commands(&mut self, words: &[String]) -> Result<()> {
        for word in words {
            self.word(word, true, 0)?;
            let names: Vec<&str> = word.split(is_between_names).filter(|name| !name.is_empty()).collect();
            for name in names.iter().filter(|name| **name != *word) {
                self.word(name, false, 0)?;
            }
        }
        Ok(())
    }

    /// Adds what a word is, if it leads into the tree. A folder is no program, and refused where it is the `whole`
    /// word.
    fn word(&mut self, word: &str, whole: bool, depth: usize) -> Result<()> {
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
