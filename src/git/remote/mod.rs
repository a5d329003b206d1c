//! Exchanges references with other repositories, with the user's own git and credentials.

mod asking;
pub(super) mod mirror;
pub(super) mod quarantine;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::command::{CommandError, GitCommand};
use super::id::CommitId;
use super::limited::{self, Limits};

use asking::ask_nobody;

/// The setting that keeps a fetch from storing a pack, however many objects it gets.
const STORE_LOOSE: &str = "fetch.unpackLimit=2147483647";

/// References by their full names.
pub type References = BTreeMap<String, CommitId>;

/// Decides whether git may ask anybody for a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordPrompt {
    /// Git may ask the user at the terminal.
    User,
    /// Git may ask nobody: it fails without a password.
    Nobody,
}

/// A remote of a repository, or the address of one.
#[derive(Debug, Clone)]
pub struct Remote {
    command: GitCommand,
    /// The name or the address, as messages have it.
    pub name: String,
    /// The name or the address for git.
    address: String,
    password_prompt: PasswordPrompt,
    limits: Limits,
}

/// A reference that is moved at a remote, from where it was seen to somewhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved<'a> {
    /// The reference's full name.
    pub name: &'a str,
    /// Its target when it was seen, or `None` if it did not exist.
    pub seen: Option<CommitId>,
    /// Its new target, or `None` to delete it.
    pub to: Option<CommitId>,
}

impl Moved<'_> {
    /// Returns the option that has git refuse the push if the reference was moved since it was seen.
    fn lease(&self) -> String {
        format!("--force-with-lease={}:{}", self.name, self.seen.map(|id| id.to_string()).unwrap_or_default())
    }

    fn refspec(&self) -> String {
        format!("{}:{}", self.to.map(|id| id.to_string()).unwrap_or_default(), self.name)
    }
}

impl Remote {
    pub(super) fn new(command: GitCommand, name: &str, password_prompt: PasswordPrompt) -> Remote {
        let (name, address) = (name.to_owned(), name.to_owned());
        Remote { command, name, address, password_prompt, limits: limited::TRANSFER.into() }
    }

    /// Gives the remote an address that its repository does not know, and that no message shows.
    #[must_use]
    pub fn at(self, address: &str) -> Remote {
        Remote { address: address.to_owned(), ..self }
    }

    /// Limits the time of each exchange.
    #[must_use]
    pub fn within(self, time: Duration) -> Remote {
        Remote { limits: Limits { time, ..self.limits }, ..self }
    }

    /// Limits the size of a folder that each exchange fills.
    pub(super) fn filling(self, folder: &Path, bytes: u64) -> Remote {
        Remote { limits: Limits { folder: Some((folder.to_owned(), bytes)), ..self.limits }, ..self }
    }

    /// Returns true if git may ask the user for a password.
    pub fn has_user(&self) -> bool {
        self.password_prompt == PasswordPrompt::User
    }

    /// Returns the references that patterns such as `refs/x/*` select.
    pub fn references(&self, patterns: &[&str]) -> Result<References, CommandError> {
        let list = self.run("ls-remote", &[&["--refs", "--", &self.address], patterns].concat())?;
        Ok(list.lines().filter_map(listed).collect())
    }

    /// Fetches the reference `from` to hierad's own reference `to`, wherever that pointed before.
    pub fn fetch(&self, from: &str, to: &str) -> Result<(), CommandError> {
        let refspec = format!("+{from}:{to}");
        let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--"];
        self.run("fetch", &[&options[..], &[&self.address, &refspec]].concat()).map(drop)
    }

    /// Fetches references, or commits, and records their targets only in `FETCH_HEAD`. Each object is stored in a
    /// separate file, so its size is known before it is read: in a pack it may be a delta to a large object, or the
    /// end of a long chain of deltas.
    pub(super) fn fetch_nowhere(&self, names: &[&str]) -> Result<(), CommandError> {
        let options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--refmap=", "--"];
        self.run_with(&["-c", STORE_LOOSE], "fetch", &[&options[..], &[&self.address], names].concat()).map(drop)
    }

    /// Fetches references to hierad's own references. In a shallow clone, also fetches `deepen` more commits.
    pub fn fetch_history(&self, references: &[(&str, &str)], deepen: Option<u32>) -> Result<(), CommandError> {
        let refspecs: Vec<String> = references.iter().map(|(from, to)| format!("+{from}:{to}")).collect();
        let depth = deepen.map(|commits| format!("--deepen={commits}"));
        let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
        let mut arguments: Vec<&str> = options.into_iter().chain(depth.as_deref()).collect();
        arguments.extend(["--", &self.address]);
        arguments.extend(refspecs.iter().map(String::as_str));
        self.run("fetch", &arguments).map(drop)
    }

    /// Pushes a reference, if that fast-forwards the remote's.
    pub fn push(&self, reference: &str) -> Result<(), CommandError> {
        self.run("push", &["--quiet", "--no-verify", "--end-of-options", &self.address, reference]).map(drop)
    }

    /// Moves references, even if that is no fast-forward. Fails for one that was moved since it was seen, and leaves
    /// that one alone.
    pub fn replace(&self, moves: &[Moved<'_>]) -> Result<(), CommandError> {
        if moves.is_empty() {
            return Ok(());
        }
        let leases = moves.iter().map(Moved::lease);
        let end = ["--end-of-options".to_owned(), self.address.clone()];
        let arguments: Vec<String> = leases.chain(end).chain(moves.iter().map(Moved::refspec)).collect();
        let arguments = ["--quiet", "--no-verify"].into_iter().chain(arguments.iter().map(String::as_str));
        self.run("push", &arguments.collect::<Vec<_>>()).map(drop)
    }

    fn run(&self, subcommand: &str, arguments: &[&str]) -> Result<String, CommandError> {
        self.run_with(&[], subcommand, arguments)
    }

    fn run_with(&self, settings: &[&str], subcommand: &str, arguments: &[&str]) -> Result<String, CommandError> {
        let mut git = self.command.command();
        git.args(settings);
        if self.password_prompt == PasswordPrompt::Nobody {
            ask_nobody(&mut git, &self.command);
        }
        git.arg(subcommand).args(arguments);
        let output = match self.password_prompt {
            PasswordPrompt::Nobody => limited::bound_output(&git, &self.limits),
            PasswordPrompt::User => limited::output(&mut git, &self.limits),
        };
        let output = output.map_err(|error| self.command.not_run(&error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(self.command.failed(subcommand, &output.stderr))
    }
}

/// Returns true if a text for git to exchange with is an address, not the name of a remote.
pub fn is_remote_address(text: &str) -> bool {
    text.contains([':', '/'])
}

/// Parses a line of `git ls-remote`, or one of `git for-each-ref` with a tab.
pub(super) fn listed(line: &str) -> Option<(String, CommitId)> {
    let (id, name) = line.split_once('\t')?;
    Some((name.to_owned(), CommitId::from_hex(id)?))
}
