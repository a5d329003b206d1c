//! The branches that a push moves, as git or the pre-commit framework passes them to hooks.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};

use crate::cli::Result;
use crate::git::{BranchName, CommitId, Repository};

/// The destination of a push: git names the remote, or gives its URL twice. On a server it is this repository.
#[derive(Debug, Default)]
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) is_named: bool,
    /// True in the repository that is pushed to.
    pub(super) is_here: bool,
}

/// A branch of the remote that the push moves or creates.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) branch: BranchName,
    pub(super) new: CommitId,
    /// The commit that the remote has, or `None` if the branch is new.
    pub(super) old: Option<CommitId>,
}

/// A push that has not been compared yet.
#[derive(Debug)]
pub(super) struct Push {
    pub(super) remote: Remote,
    pub(super) updates: Updates,
}

/// The updates of a push.
#[derive(Debug)]
pub(super) enum Updates {
    /// All updates that git reports, except for deleted branches and tags.
    All(Vec<Update>),
    /// Two commits by name: the pre-commit framework reports only the first branch.
    Range { branch: Option<BranchName>, from: String, to: String },
}

impl Push {
    /// Reads what git passes to `pre-push`: its arguments name the remote, and standard input has a line for each
    /// reference. Without any line, the variables of the pre-commit framework are used.
    pub(super) fn outgoing(arguments: &[OsString]) -> Result<Push> {
        let lines = read_stdin()?;
        if !lines.is_empty() {
            let remote = Remote::of_arguments(arguments);
            return Ok(Push { remote, updates: Updates::All(outgoing(&lines)?) });
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        by_pre_commit(variable)
    }

    /// Reads the lines that git passes to `pre-receive` on standard input.
    pub(super) fn incoming(lines: &str) -> Result<Push> {
        let remote = Remote { is_here: true, ..Remote::default() };
        Ok(Push { remote, updates: Updates::All(incoming(lines)?) })
    }

    /// Returns the updates, with all commits resolved.
    pub(super) fn updates(self, repository: &Repository) -> Result<(Remote, Vec<Update>)> {
        let updates = match self.updates {
            Updates::All(updates) => updates,
            Updates::Range { branch, from, to } => {
                let [old, new] = repository.resolve_all([&from, &to])?;
                let branch = match branch {
                    Some(branch) => branch,
                    None => repository.branch()?.unwrap_or_else(|| BranchName::new("HEAD")),
                };
                vec![Update { branch, new, old: Some(old) }]
            }
        };
        Ok((self.remote, updates))
    }
}

impl Updates {
    /// Returns true if no branch is moved.
    pub(super) fn are_none(&self) -> bool {
        matches!(self, Updates::All(updates) if updates.is_empty())
    }
}

impl Remote {
    fn of_arguments(arguments: &[OsString]) -> Remote {
        let argument = |at| arguments.get(at).map(|argument: &OsString| argument.to_string_lossy().into_owned());
        let name = argument(0).unwrap_or_default();
        Remote { is_named: argument(1).is_some_and(|url| url != name), name, is_here: false }
    }

    /// Returns the local name of a branch of the remote.
    pub(super) fn branch(&self, branch: &BranchName) -> String {
        if self.is_named { format!("{}/{branch}", self.name) } else { branch.to_string() }
    }
}

/// Returns what is on standard input. A terminal, which a hook manager has passed on, is not read.
pub(super) fn read_stdin() -> Result<String> {
    let mut lines = String::new();
    let mut input = std::io::stdin();
    if !input.is_terminal() {
        input.read_to_string(&mut lines)?;
    }
    Ok(lines)
}

/// Reads the variables that the pre-commit framework, or prek, sets for hooks of the stage pre-push.
fn by_pre_commit(variable: impl Fn(&str) -> Option<String>) -> Result<Push> {
    let name = variable("PRE_COMMIT_REMOTE_NAME");
    let url = variable("PRE_COMMIT_REMOTE_URL");
    let reference = variable("PRE_COMMIT_REMOTE_BRANCH");
    let is_named = name.is_some() && name != url;
    let remote = Remote { name: name.unwrap_or_default(), is_named, is_here: false };
    let target = reference.as_deref().map(branch);
    if let Some(None) = target {
        return Ok(Push { remote, updates: Updates::All(Vec::new()) });
    }
    match (variable("PRE_COMMIT_FROM_REF"), variable("PRE_COMMIT_TO_REF")) {
        (Some(from), Some(to)) => Ok(Push { remote, updates: Updates::Range { branch: target.flatten(), from, to } }),
        _ if reference.is_some() => Err("pre-commit names no commit that the remote has already".into()),
        _ => {
            Err("standard input names no branch that is pushed: everything is up to date, git itself refuses the push \
                  (fetch, and see `git push --dry-run`), or the hook manager does not pass it on; lefthook does with \
                  'use_stdin: true', pre-commit and prek do in the stage pre-push"
                .into())
        }
    }
}

/// Reads lines such as `refs/heads/topic COMMIT refs/heads/main COMMIT`.
fn outgoing(lines: &str) -> Result<Vec<Update>> {
    let update = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, new, reference, old] = words[..] else { return Err(not_understood(line)) };
        update(old, new, reference)
    };
    lines.lines().filter_map(|line| update(line).transpose()).collect()
}

/// Reads lines such as `COMMIT COMMIT refs/heads/main`.
fn incoming(lines: &str) -> Result<Vec<Update>> {
    let update = |line: &str| {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [old, new, reference] = words[..] else { return Err(not_understood(line)) };
        update(old, new, reference)
    };
    lines.lines().filter_map(|line| update(line).transpose()).collect()
}

fn not_understood(line: &str) -> crate::app::Failure {
    format!("git told '{line}' of the push").into()
}

/// Returns the update of a reference, or `None` if it is deleted or not a branch.
fn update(old: &str, new: &str, reference: &str) -> Result<Option<Update>> {
    let Some(branch) = branch(reference).filter(|_| !is_zero(new)) else { return Ok(None) };
    let id = |hex| CommitId::from_hex(hex).ok_or_else(|| format!("'{hex}' is not a commit id that hierad can read"));
    let old = if is_zero(old) { None } else { Some(id(old)?) };
    Ok(Some(Update { branch, new: id(new)?, old }))
}

/// Returns the branch of a remote reference, or the branch that Gerrit reviews it for. Returns `None` for other
/// references, such as tags.
fn branch(reference: &str) -> Option<BranchName> {
    let name = ["refs/heads/", "refs/for/"].iter().find_map(|prefix| reference.strip_prefix(prefix))?;
    Some(BranchName::new(name.split('%').next().unwrap_or(name)))
}

fn is_zero(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(updates: &[Update]) -> Vec<(&str, bool)> {
        updates.iter().map(|update| (update.branch.as_str(), update.old.is_some())).collect()
    }

    #[test]
    fn what_git_tells_of_a_push() {
        let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        let lines = format!(
            "refs/heads/a {one} refs/heads/x/y {two}\n(delete) {zero} refs/heads/gone {two}\nHEAD {one} refs/for/main%topic=t \
             {zero}\nrefs/tags/v1 {one} refs/tags/v1 {zero}\nrefs/hierad/s {one} refs/hierad/s {zero}\n"
        );
        assert_eq!(read(&outgoing(&lines).unwrap()), [("x/y", true), ("main", false)]);
        let long = format!("refs/heads/a {} refs/heads/a {}\n", "1".repeat(64), "0".repeat(64));
        for wrong in ["nonsense\n", &long, "a  refs/heads/b c\n"] {
            assert!(outgoing(wrong).is_err(), "{wrong}");
        }
        let lines = format!("{two} {one} refs/heads/x/y\n{zero} {one} refs/heads/new\n{two} {zero} refs/heads/gone\n");
        assert_eq!(read(&incoming(&lines).unwrap()), [("x/y", true), ("new", false)]);
        assert!(incoming("nonsense\n").is_err());
    }

    #[test]
    fn what_pre_commit_tells_of_a_push() {
        let push = |variables: &[(&str, &str)]| {
            by_pre_commit(|name| {
                let found = variables.iter().find(|(known, _)| format!("PRE_COMMIT_{known}") == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let range = [("FROM_REF", "a"), ("TO_REF", "b")];
        assert!(matches!(push(&range).unwrap().updates, Updates::Range { branch: None, .. }));
        let named = [("REMOTE_NAME", "origin"), ("REMOTE_URL", "git@x:y"), ("REMOTE_BRANCH", "refs/heads/main")];
        let all = push(&[&named[..], &range].concat()).unwrap();
        assert_eq!(all.remote.branch(&BranchName::new("main")), "origin/main");
        assert!(matches!(all.updates, Updates::Range { branch: Some(branch), .. } if branch.as_str() == "main"));
        let tag = [("REMOTE_BRANCH", "refs/tags/v1")];
        assert!(push(&tag).unwrap().updates.are_none());
        for silent in [&[][..], &named, &range[..1]] {
            assert!(push(silent).is_err(), "{silent:?}");
        }
    }
}
