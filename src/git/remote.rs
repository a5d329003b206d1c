//! Exchanges references with other repositories, with the user's own git and credentials. Nobody is asked for a
//! password.

use std::collections::BTreeMap;
use std::process::Command;

use super::command::{CommandError, GitCommand};
use super::id::CommitId;
use super::limited;
use super::mirror::ask_nobody;

/// References by their full names.
pub type References = BTreeMap<String, CommitId>;

/// Returns the references of a remote that a pattern such as `refs/x/*` selects.
pub(super) fn references(command: &GitCommand, remote: &str, pattern: &str) -> Result<References, CommandError> {
    let list = run(command, "ls-remote", &["--refs", "--", remote, pattern])?;
    Ok(list.lines().filter_map(listed).collect())
}

/// Fetches a reference of a remote to one of another name, wherever that was before.
pub(super) fn fetch(command: &GitCommand, remote: &str, [from, to]: [&str; 2]) -> Result<(), CommandError> {
    let refspec = format!("+{from}:{to}");
    let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--", remote, &refspec];
    run(command, "fetch", &options).map(drop)
}

/// Pushes references. Each is named by a refspec, such as `refs/x/a` or, to delete it, `:refs/x/a`.
pub(super) fn push(command: &GitCommand, remote: &str, refspecs: &[&str]) -> Result<(), CommandError> {
    let options = ["--quiet", "--no-verify", "--end-of-options", remote];
    run(command, "push", &[&options, refspecs].concat()).map(drop)
}

/// Parses a line of `git ls-remote`, or one of `git for-each-ref` with a tabulator.
pub(super) fn listed(line: &str) -> Option<(String, CommitId)> {
    let (id, name) = line.split_once('\t')?;
    Some((name.to_owned(), CommitId::from_hex(id)?))
}

fn run(command: &GitCommand, subcommand: &str, arguments: &[&str]) -> Result<String, CommandError> {
    let mut git: Command = command.command();
    ask_nobody(&mut git);
    let output = limited::output(git.arg(subcommand).args(arguments), limited::TRANSFER);
    let output = output.map_err(|error| command.not_run(&error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(command.failed(subcommand, &output.stderr))
}
