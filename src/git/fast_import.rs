//! Writes commits to a reference with one `git fast-import`. That command packs many objects, knows every format of
//! references, follows the repository's settings, and moves the reference once all objects are safe.
//!
//! A reference only moves forward: if another process has moved it meanwhile, fast-import refuses.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Output, Stdio};

use super::command::{CommandError, GitCommand};
use super::id::CommitId;
use super::limited;
use super::objects::raw::CommitTime;

/// The content that fast-import writes into the `.keep` file of a pack.
const KEEP_FILE_CONTENT: &[u8] = b"fast-import";

/// The bytes that are written to the command at once.
const BUFFER_SIZE: usize = 1 << 18;

/// A failure to write commits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The `git` command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The reference's name is not valid.
    #[error("'{}' is not a valid name of a reference", reference.escape_debug())]
    Name {
        /// The reference.
        reference: String,
    },
    /// The command ended without a message, or with output that makes no sense.
    #[error("`git fast-import` has not written {reference}: {reason}")]
    Broken {
        /// The reference.
        reference: String,
        /// The reason, as far as it is known.
        reason: String,
    },
}

/// A commit's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// The author: `Name <address>`.
    pub author: String,
    /// The time of writing, by the author's clock.
    pub time: CommitTime,
    /// The committer: `Name <address>`.
    pub committer: String,
    /// The time of the commit, in seconds since 1970.
    pub committed: i64,
    /// The message.
    pub message: String,
}

/// Commits that are being written to a reference. Dropping it leaves the reference as it was.
pub struct Import {
    command: GitCommand,
    git_dir: PathBuf,
    reference: String,
    /// The parent of the first commit, until that commit is begun.
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
            // A pack is kept until the reference has moved; loose objects might be collected before that.
            "-c",
            "fastimport.unpackLimit=0",
            "fast-import",
            "--quiet",
            "--done",
            "--date-format=raw-permissive",
        ]);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().map_err(|error| import.command.not_run(&error))?;
        limited::limit_memory(child.id(), limited::GIT_MEMORY);
        let input = child.stdin.take().ok_or_else(|| import.broken("it has no input"))?;
        import.running = Some(Running { child, input: BufWriter::with_capacity(BUFFER_SIZE, input) });
        Ok(import)
    }

    /// Begins the next commit. It has the files of the one before, except for those that are then written or removed.
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

    /// Writes a file at the top of the commit's tree. Its name must have no quotation marks or control characters.
    pub fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let head = format!("M 100644 inline {name}\ndata {}\n", content.len());
        self.write(&[head.as_bytes(), content, b"\n"])
    }

    /// Removes a file from the commit.
    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        self.write(&[b"D ", name.as_bytes(), b"\n"])
    }

    /// Waits until all objects are written, moves the reference and returns the ids of the commits in their order.
    pub fn finish(mut self) -> Result<Vec<CommitId>, ImportError> {
        let mut end: String = (1..=self.commits).fold(String::new(), |mut text, mark| {
            _ = writeln!(text, "get-mark :{mark}");
            text
        });
        end += "done\n";
        let written = self.write(&[end.as_bytes()]);
        let output = self.end()?;
        if !output.status.success() {
            return Err(self.command.failed("fast-import", &output.stderr).into());
        }
        written.map_err(|error| self.broken(&error.to_string()))?;
        let ids: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(CommitId::from_hex).collect();
        if ids.len() == self.commits { Ok(ids) } else { Err(self.broken("it did not report the commits")) }
    }

    /// Ends the import after a failed write and returns the reason: the command's own message if it has one.
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

    /// Closes the command's input and waits for its end.
    fn end(&mut self) -> Result<Output, ImportError> {
        let Some(Running { child, input }) = self.running.take() else { return Err(self.broken("it has ended")) };
        let id = child.id();
        // A failure to flush shows in the exit status.
        drop(input.into_inner());
        let output = limited::wait_with_output(child, &limited::TRANSFER.into());
        let output = output.map_err(|error| self.broken(&error.to_string()))?;
        if !output.status.success() {
            // This report is of use only to authors of import streams.
            _ = fs::remove_file(self.git_dir.join(format!("fast_import_crash_{id}")));
            _ = release_packs(&self.git_dir);
        }
        Ok(output)
    }

    fn broken(&self, reason: &str) -> ImportError {
        ImportError::Broken { reference: self.reference.clone(), reason: reason.to_owned() }
    }
}

/// Ends the command without `done`, so that it leaves the reference alone.
impl Drop for Import {
    fn drop(&mut self) {
        if self.running.is_some() {
            _ = self.end();
        }
    }
}

/// Removes the `.keep` files that failed or killed imports leave beside their packs: they would make every later
/// import of the same objects fail.
fn release_packs(git_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(git_dir.join("objects/pack"))? {
        let path = entry?.path();
        let is_mark = path.extension().is_some_and(|extension| extension == "keep");
        if is_mark && fs::read(&path).is_ok_and(|content| content == KEEP_FILE_CONTENT) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns `Name <address>` without characters that would end either part.
fn identity(text: &str) -> String {
    let (name, address) = text.rsplit_once('<').unwrap_or((text, ""));
    let clean = |text: &str| text.replace(['<', '>', '\n', '\0'], "").trim().to_owned();
    format!("{} <{}>", clean(name), clean(address)).trim_start().to_owned()
}

/// Runs `git gc --auto`: each import leaves a pack, which git combines in the background when there are many.
pub(super) fn gc(command: &GitCommand) -> Result<(), CommandError> {
    let mut git = command.command();
    let output = limited::output(git.args(["gc", "--auto", "--quiet"]), &limited::TRANSFER.into());
    let output = output.map_err(|error| command.not_run(&error))?;
    if output.status.success() { Ok(()) } else { Err(command.failed("gc", &output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_authors_are_cleaned() {
        assert_eq!(identity("Ada <ada@example.com>"), "Ada <ada@example.com>");
        assert_eq!(identity("A <U> Thor <a@example.com>"), "A U Thor <a@example.com>");
        assert_eq!(identity("<>"), "<>");
        assert_eq!(identity("nobody"), "nobody <>");
        assert_eq!(identity("a\nauthor b <c>"), "aauthor b <c>");
    }

    #[test]
    fn times_are_in_gits_raw_format() {
        assert_eq!(CommitTime { seconds: 1_700_000_000, offset: -210 }.raw(), "1700000000 -0330");
        assert_eq!(CommitTime { seconds: -5, offset: 0 }.raw(), "0 +0000");
    }
}
