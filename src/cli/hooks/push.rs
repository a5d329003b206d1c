//! The hook `pre-push`: it shows what a push changes on the nodes, and may refuse it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{Read, Write};

use super::{first_line, setting};
use crate::cli::diff::{HOOK_LINES, style};
use crate::cli::output::log;
use crate::cli::{Global, Result, Status, output};
use crate::event::{CommitEvent, EventKind};
use crate::git::{BranchName, CommitId, Repository};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::pipeline::judge::Sides;
use crate::pipeline::{Comparison, DiffFilter, RevisionId};
use crate::report::{Format, KeyChange, Report, write};

/// The values of `hierad.prePush`, but for `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Print,
    /// Refuse a push that brings errors.
    Errors,
    /// Refuse a push that brings changes.
    Changes,
}

/// The destination of a push: git names the remote, or gives its URL twice.
struct Remote {
    name: String,
    is_named: bool,
}

/// A branch of the remote that the push moves or makes.
struct Update {
    branch: BranchName,
    new: CommitId,
    /// The commit that the remote has, or `None` if the branch is new.
    old: Option<CommitId>,
}

/// An update, and the commit that it is compared with.
struct Step {
    update: Update,
    before: CommitId,
}

pub(super) fn run(global: &Global, arguments: &[OsString]) -> Result {
    let mut told = String::new();
    std::io::stdin().read_to_string(&mut told)?;
    let mode = match setting(global, "hierad.prePush")?.as_deref() {
        None | Some("print") => Mode::Print,
        Some("off") => return Ok(Status::Done),
        Some("errors") => Mode::Errors,
        Some("changes") => Mode::Changes,
        // Somebody wants a check, and does not get it.
        Some(other) => {
            let wanted = "print, off, errors or changes";
            return Ok(refuse(&format!("cannot be checked: hierad.prePush is '{other}'; expected {wanted}")));
        }
    };
    let checked = updates(&told).and_then(|updates| check(global, &Remote::new(arguments), updates, mode));
    let refusal = match checked {
        Ok(refusal) => refusal,
        // A push that cannot be checked is refused if a check is asked for.
        Err(failure) if matches!(mode, Mode::Errors | Mode::Changes) => {
            Some(format!("cannot be checked: {}", first_line(&failure)))
        }
        Err(failure) => return Err(format!("cannot show what the push changes: {}", first_line(&failure)).into()),
    };
    Ok(refusal.map_or(Status::Done, |refusal| refuse(&refusal)))
}

/// Says why the push is refused.
fn refuse(reason: &str) -> Status {
    log::print(&format_args!("hierad: the push is refused, as it {reason}; `git push --no-verify` pushes anyway"));
    Status::Found
}

impl Remote {
    fn new(arguments: &[OsString]) -> Remote {
        let argument = |at| arguments.get(at).map(|argument: &OsString| argument.to_string_lossy().into_owned());
        let name = argument(0).unwrap_or_default();
        Remote { is_named: argument(1).is_some_and(|url| url != name), name }
    }

    /// Returns the local name of a branch of the remote.
    fn branch(&self, branch: &BranchName) -> String {
        if self.is_named { format!("{}/{branch}", self.name) } else { branch.to_string() }
    }
}

/// Reads the lines that git gives to the hook. Deleted branches are left out.
fn updates(told: &str) -> Result<Vec<Update>> {
    let mut updates = Vec::new();
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, new, reference, old] = words[..] else { return Err(format!("git told '{line}' of the push").into()) };
        let Some(branch) = branch(reference).filter(|_| !is_zero(new)) else { continue };
        let id =
            |hex| CommitId::from_hex(hex).ok_or_else(|| format!("'{hex}' is not a commit id that hierad can read"));
        let old = if is_zero(old) { None } else { Some(id(old)?) };
        updates.push(Update { branch, new: id(new)?, old });
    }
    Ok(updates)
}

/// Returns the branch of a reference of the remote, or the branch that Gerrit reviews it for. Returns `None` for tags
/// and the like.
fn branch(reference: &str) -> Option<BranchName> {
    let name = ["refs/heads/", "refs/for/"].iter().find_map(|prefix| reference.strip_prefix(prefix))?;
    Some(BranchName::new(name.split('%').next().unwrap_or(name)))
}

fn is_zero(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

/// Prints what the updates change. Returns the reason for refusing the push, or `None`.
fn check(global: &Global, remote: &Remote, updates: Vec<Update>, mode: Mode) -> Result<Option<String>> {
    if updates.is_empty() {
        return Ok(None);
    }
    let workspace = global.open()?;
    let mut brought = Brought::default();
    // Branches of one environment share its profiles.
    let mut groups: BTreeMap<Option<BranchName>, Vec<Step>> = BTreeMap::new();
    let (steps, unknown) = steps(&workspace.repository, remote, updates)?;
    brought.unchecked = unknown;
    for step in steps {
        let own = workspace.settings.environment.is_of_branch();
        groups.entry(own.then(|| step.update.branch.clone())).or_default().push(step);
    }
    for (environment, steps) in groups {
        let points: BTreeSet<CommitId> = steps.iter().flat_map(|step| [step.before, step.update.new]).collect();
        let points: Vec<RevisionId> = points.into_iter().map(RevisionId::Commit).collect();
        let progress = global.show_progress(&workspace);
        let pipeline = global.pipeline(&workspace, environment.as_ref(), &points, &|_| true)?;
        drop(progress);
        let left_out = pipeline.fleet.left_out().first();
        brought.unchecked =
            brought.unchecked.take().or_else(|| left_out.map(|error| format!("nodes are left out: {error}")));
        for Step { update, before } in steps {
            let progress = global.show_progress(&workspace);
            let Comparison { mut report, effective: _effective } =
                pipeline.diff_between(&sides(&workspace.repository, remote, &update, before), &DiffFilter::ALL)?;
            drop(progress);
            let branch = BranchName::new(remote.branch(&update.branch));
            let (before, after, kind) = (Some(before), update.new, EventKind::New);
            report.event = Some(CommitEvent { branch, before, after, kind, judge: None });
            brought.add(&report);
            print(&report, global)?;
        }
    }
    workspace.save();
    Ok(brought.refusal(mode))
}

/// Returns the sides of an update. The remote's current commit judges it; a new branch is judged by its default
/// branch.
fn sides(repository: &Repository, remote: &Remote, update: &Update, before: CommitId) -> Sides {
    let sides = Sides::of(RevisionId::Commit(before), RevisionId::Commit(update.new));
    let default = || repository.resolve_trusted(&format!("refs/remotes/{}/HEAD", remote.name)).ok();
    let target = if update.old.is_none() && remote.is_named { default() } else { None };
    Sides { target: target.map(RevisionId::Commit), ..sides }
}

fn print(report: &Report, global: &Global) -> Result<()> {
    let mut out = output::coloured(output::color(global));
    write(report, Format::Text, &style(global, Some(HOOK_LINES)), &mut out)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Returns the updates with the commits to compare them with: the commit that the remote has or, if that is unknown
/// here, the last commit that the remote is known to have. Also returns what is unknown about the remote, which keeps
/// new errors from being distinguished from old ones.
fn steps(repository: &Repository, remote: &Remote, updates: Vec<Update>) -> Result<(Vec<Step>, Option<String>)> {
    let mut known = repository.remote_tips(&remote.name)?;
    known.extend(updates.iter().filter_map(|update| update.old));
    let (mut steps, mut unknown) = (Vec::new(), None);
    for update in updates {
        let branch = remote.branch(&update.branch);
        let before = match update.old {
            Some(old) if repository.commit(old).is_ok() => Some(old),
            old => {
                if let Some(old) = old {
                    unknown = Some(format!(
                        "{branch} is at {}, which is not here: `git fetch` fetches \
                                            it",
                        old.short()
                    ));
                }
                repository.merge_base_with_any(update.new, &known)?
            }
        };
        let Some(before) = before else {
            log::print(&format_args!(
                "hierad: {branch} is new, with nothing in it that the remote is known to have: not compared"
            ));
            unknown = Some(format!("{branch} is not compared with anything"));
            continue;
        };
        if before != update.new {
            steps.push(Step { update, before });
        }
    }
    Ok((steps, unknown))
}

/// The effects for which a push may be refused.
#[derive(Default)]
struct Brought {
    keys: BTreeSet<String>,
    /// The nodes on which a key fails that did not fail before.
    failing: BTreeSet<String>,
    /// The reason if something cannot be checked.
    unchecked: Option<String>,
}

impl Brought {
    fn add(&mut self, report: &Report) {
        if report.is_unreadable.after {
            self.unchecked = report.blind_spots.first().map(|spot| spot.headline.clone());
        }
        self.keys.extend(report.changes.iter().map(|change| change.key.to_string()));
        let breaks = report.changes.iter().filter(|change| is_break(change));
        let failing = NodeSet::union_of(report.nodes.total, breaks.map(|change| change.nodes.clone()));
        self.failing.extend(report.names.names_of(&failing).map(str::to_owned));
    }

    fn refusal(&self, mode: Mode) -> Option<String> {
        let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        if let (Mode::Errors | Mode::Changes, Some(why)) = (mode, &self.unchecked) {
            return Some(format!("cannot be checked: {why}"));
        }
        match mode {
            Mode::Errors if !self.failing.is_empty() => {
                Some(format!("brings errors to {}", count(self.failing.len(), "node")))
            }
            Mode::Changes if !self.keys.is_empty() => Some(format!("changes {}", count(self.keys.len(), "key"))),
            _ => None,
        }
    }
}

/// Returns true if a key fails now and did not fail before.
fn is_break(change: &KeyChange) -> bool {
    let outcome = change.outcome.as_ref();
    let fails = |outcome: &Option<_>| outcome.as_deref().is_some_and(|outcome| matches!(outcome, Outcome::Failed(_)));
    fails(outcome.after) && !fails(outcome.before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_tells_of_a_push() {
        let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        let told = format!(
            "refs/heads/a {one} refs/heads/x/y {two}\n(delete) {zero} refs/heads/gone {two}\nHEAD {one} refs/for/main%topic=t \
             {zero}\nrefs/tags/v1 {one} refs/tags/v1 {zero}\nrefs/hierad/s {one} refs/hierad/s {zero}\n"
        );
        let read = updates(&told).unwrap();
        let read: Vec<_> = read.iter().map(|update| (update.branch.as_str(), update.old.is_some())).collect();
        assert_eq!(read, [("x/y", true), ("main", false)]);
        assert_eq!(updates("").unwrap().len(), 0);
        let long = format!("refs/heads/a {} refs/heads/a {}\n", "1".repeat(64), "0".repeat(64));
        for wrong in ["nonsense\n", &long, "a  refs/heads/b c\n"] {
            assert!(updates(wrong).is_err(), "{wrong}");
        }
    }
}
