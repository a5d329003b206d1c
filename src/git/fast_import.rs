//! Commits on a reference, written by one `git fast-import`: it makes packs of many objects, knows every format of references, keeps
//! to the settings of the repository, and moves the reference when all objects are safe.
//!
//! A reference only goes forward: where somebody else has moved it meanwhile, what was written here does not get there.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Output, Stdio};

use super::command::{CommandError, GitCommand};
use super::id::CommitId;
use super::raw::CommitTime;

/// What the command writes into the mark of a pack that it keeps.
const KEPT_BY: &[u8] = b"fast-import";

/// What is given to the command at a time.
const BUFFER_SIZE: usize = 1 << 18;

/// Commits could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The `git` command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The reference cannot be called so.
    #[error("'{}' is no name for a reference", reference.escape_debug())]
    Name {
        /// The reference.
        reference: String,
    },
    /// It ended without a word, or with one that makes no sense.
    #[error("`git fast-import` has not written {reference}: {reason}")]
    Broken {
        /// The reference.
        reference: String,
        /// What is known.
        reason: String,
    },
}

/// What a commit says besides its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// Who wrote it: `Name <address>`.
    pub author: String,
    /// When, by the author's clock.
    pub time: CommitTime,
    /// Who makes the commit: `Name <address>`.
    pub committer: String,
    /// When, in seconds since 1970.
    pub committed: i64,
    /// Its message.
    pub message: String,
}

/// Commits on their way to a reference. Those of an import that is dropped do not get there.
pub struct Import {
    command: GitCommand,
    git_dir: PathBuf,
    reference: String,
    /// What the first commit stands on, until there is one.
    parent: Option<CommitId>,
    commits: usize,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: BufWriter<ChildStdin>,
}

impl Import {
    pub(super) fn begin(
        command: GitCommand,
        git_dir: PathBuf,
        reference: &str,
        parent: Option<CommitId>,
    ) -> Result<Import, ImportError> {
        if !git2::Reference::is_valid_name(reference) {
            return Err(ImportError::Name { reference: reference.to_owned() });
        }
        let mut import =
            Import { command, git_dir, reference: reference.to_owned(), parent, commits: 0, running: None };
        let mut git = import.command.command();
        git.args([
            "-c",
            "core.hooksPath=/dev/null",
            // A pack is kept until the reference has moved; loose objects may be taken away before by who collects garbage.
            "-c",
            "fastimport.unpackLimit=0",
            "fast-import",
            "--quiet",
            "--done",
            "--date-format=raw-permissive",
        ]);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().map_err(|error| import.command.not_run(&error))?;
        let input = child.stdin.take().ok_or_else(|| import.broken("it has no input"))?;
        import.running = Some(Running { child, input: BufWriter::with_capacity(BUFFER_SIZE, input) });
        Ok(import)
    }

    /// Begins the next commit. It has the files of the one before, until files of it are written or removed.
    pub fn commit(&mut self, commit: &NewCommit) -> io::Result<()> {
        let (reference, mark) = (&self.reference, self.commits + 1);
        let committed = CommitTime { seconds: commit.committed, offset: 0 }.raw();
        let message = commit.message.replace('\0', "\u{fffd}");
        let mut text = format!("commit {reference}\nmark :{mark}\n");
        _ = writeln!(text, "author {} {}", identity(&commit.author), commit.time.raw());
        _ = writeln!(text, "committer {} {committed}", identity(&commit.committer));
        _ = writeln!(text, "data {}\n{message}", message.len());
        if let Some(parent) = self.parent.take() {
            _ = writeln!(text, "from {parent}");
        }
        self.commits = mark;
        self.write(&[text.as_bytes()])
    }

    /// Puts a file into the commit. It lies at the top, and its name has no quotation marks or control characters.
    pub fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let head = format!("M 100644 inline {name}\ndata {}\n", content.len());
        self.write(&[head.as_bytes(), content, b"\n"])
    }

    /// Takes a file out of the commit.
    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        self.write(&[b"D ", name.as_bytes(), b"\n"])
    }

    /// Waits until all is written and moves the reference. The commits in their order.
    pub fn finish(mut self) -> Result<Vec<CommitId>, ImportError> {
        let mut end: String = (1..=self.commits).fold(String::new(), |mut text, mark| {
            _ = writeln!(text, "get-mark :{mark}");
            text
        });
        end += "done\n";
        let told = self.write(&[end.as_bytes()]);
        let output = self.end()?;
        if !output.status.success() {
            return Err(self.command.failed("fast-import", &output.stderr).into());
        }
        told.map_err(|error| self.broken(&error.to_string()))?;
        let ids: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(CommitId::from_hex).collect();
        if ids.len() == self.commits { Ok(ids) } else { Err(self.broken("it has not told the commits")) }
    }

    /// Why something could not be written to it, in its own words if it has any.
    pub fn failed(mut self, error: &io::Error) -> ImportError {
        match self.end() {
            Ok(output) if !output.stderr.is_empty() => self.command.failed("fast-import", &output.stderr).into(),
            Ok(_) => self.broken(&error.to_string()),
            Err(error) => error,
        }
    }

    fn write(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let running = self.running.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pieces.iter().try_for_each(|piece| running.input.write_all(piece))
    }

    /// Closes its input, and waits until it has ended.
    fn end(&mut self) -> Result<Output, ImportError> {
        let Some(Running { child, input }) = self.running.take() else { return Err(self.broken("it has ended")) };
        let id = child.id();
        // What cannot be given to it any more shows in how it ends.
        drop(input.into_inner());
        let output = child.wait_with_output().map_err(|error| self.broken(&error.to_string()))?;
        if !output.status.success() {
            // A report for those who write such imports by hand.
            _ = fs::remove_file(self.git_dir.join(format!("fast_import_crash_{id}")));
            _ = release_packs(&self.git_dir);
        }
        Ok(output)
    }

    fn broken(&self, reason: &str) -> ImportError {
        ImportError::Broken { reference: self.reference.clone(), reason: reason.to_owned() }
    }
}

/// Without its last word the command leaves the reference alone.
impl Drop for Import {
    fn drop(&mut self) {
        if self.running.is_some() {
            _ = self.end();
        }
    }
}

/// Takes away the marks that imports which have failed, or were killed, keep their packs with: they would be in the way of whoever
/// writes the same again, for ever.
fn release_packs(git_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(git_dir.join("objects/pack"))? {
        let path = entry?.path();
        let is_mark = path.extension().is_some_and(|extension| extension == "keep");
        if is_mark && fs::read(&path).is_ok_and(|content| content == KEPT_BY) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// `Name <address>` without what would be mistaken for the end of either.
fn identity(text: &str) -> String {
    let (name, address) = text.rsplit_once('<').unwrap_or((text, ""));
    let clean = |text: &str| text.replace(['<', '>', '\n', '\0'], "").trim().to_owned();
    format!("{} <{}>", clean(name), clean(address)).trim_start().to_owned()
}

/// Pushes a reference under the same name.
pub(super) fn push(command: &GitCommand, remote: &str, reference: &str) -> Result<(), CommandError> {
    let mut git = command.command();
    git.args(["push", "--quiet", "--no-verify", "--end-of-options", remote, reference]);
    let output = git.stdin(Stdio::null()).output().map_err(|error| command.not_run(&error))?;
    if output.status.success() { Ok(()) } else { Err(command.failed("push", &output.stderr)) }
}

/// Has many packs made one, if git finds that it is time: each import leaves one. Git does it in the background, as after a commit.
pub(super) fn gc(command: &GitCommand) -> Result<(), CommandError> {
    let mut git = command.command();
    let output = git.args(["gc", "--auto", "--quiet"]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| command.not_run(&error))?;
    if output.status.success() { Ok(()) } else { Err(command.failed("gc", &output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_authors_are_made_fit() {
        assert_eq!(identity("Ada <ada@example.com>"), "Ada <ada@example.com>");
        assert_eq!(identity("A <U> Thor <a@example.com>"), "A U Thor <a@example.com>");
        assert_eq!(identity("<>"), "<>");
        assert_eq!(identity("nobody"), "nobody <>");
        assert_eq!(identity("a\nauthor b <c>"), "aauthor b <c>");
    }

    #[test]
    fn times_are_written_as_git_has_them() {
        assert_eq!(CommitTime { seconds: 1_700_000_000, offset: -210 }.raw(), "1700000000 -0330");
        assert_eq!(CommitTime { seconds: -5, offset: 0 }.raw(), "0 +0000");
    }
}
