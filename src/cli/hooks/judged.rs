//! Compares what a push moves, prints what it changes on the nodes, and says whether it is to be refused.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::pushed::{Push, Remote, Update};
use super::{GATE, PRE_PUSH, unexpected};
use crate::cli::diff::{HOOK_LINES, style};
use crate::cli::output::log;
use crate::cli::{Global, Result, output};
use crate::event::{CommitEvent, EventKind};
use crate::git::{BranchName, BranchPatterns, CommitId, Repository};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::pipeline::judge::Sides;
use crate::pipeline::{Comparison, DiffFilter, RevisionId};
use crate::report::{Format, KeyChange, PolicyLevel, Report, write};

/// The effects of a push for which it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// None: it is only shown.
    Print,
    /// A policy that fails.
    Policies,
    /// Errors on nodes that had none.
    Errors,
    /// Any change.
    Changes,
}

impl Mode {
    /// Reads one of git's settings.
    pub(super) fn parse(name: &str, value: &str) -> std::result::Result<Mode, String> {
        match value {
            "print" => Ok(Mode::Print),
            "policies" => Ok(Mode::Policies),
            "errors" => Ok(Mode::Errors),
            "changes" => Ok(Mode::Changes),
            other => Err(unexpected(name, other, &["print", "off", "policies", "errors", "changes"])),
        }
    }
}

/// An update, and the commit that it is compared with.
struct Step {
    update: Update,
    before: CommitId,
}

/// Prints what a push changes. Returns the reason for refusing it, or `None`.
pub(super) fn check(global: &Global, push: Push, mode: Mode) -> Result<Option<String>> {
    if push.updates.are_none() {
        return Ok(None);
    }
    let workspace = global.open()?;
    let (remote, updates) = push.updates(&workspace.repository)?;
    let remote = &remote;
    let mut effects = PushEffects::default();
    // Branches of one environment share its profiles.
    let mut groups: BTreeMap<Option<BranchName>, Vec<Step>> = BTreeMap::new();
    let (steps, unknown) = steps(&workspace.repository, remote, updates)?;
    effects.unchecked = unknown;
    for step in steps {
        let is_per_branch = workspace.settings.environment.is_of_branch();
        groups.entry(is_per_branch.then(|| step.update.branch.clone())).or_default().push(step);
    }
    for (environment, steps) in groups {
        let points: BTreeSet<CommitId> = steps.iter().flat_map(|step| [step.before, step.update.new]).collect();
        let points: Vec<RevisionId> = points.into_iter().map(RevisionId::Commit).collect();
        let progress = global.show_progress(&workspace);
        let pipeline = global.pipeline(&workspace, environment.as_ref(), &points, &|_| true)?;
        drop(progress);
        let left_out = pipeline.fleet.left_out().first();
        effects.unchecked =
            effects.unchecked.take().or_else(|| left_out.map(|error| format!("nodes are left out: {error}")));
        for Step { update, before } in steps {
            let progress = global.show_progress(&workspace);
            let sides = sides(&workspace.repository, remote, &update, before);
            effects.is_unjudged |= !workspace.has_policies(sides.judge());
            let Comparison { mut report, effective: _effective } = pipeline.diff_between(&sides, &DiffFilter::ALL)?;
            drop(progress);
            let branch = BranchName::new(remote.branch(&update.branch));
            let (before, after, kind) = (Some(before), update.new, EventKind::New);
            report.event = Some(CommitEvent::new(branch, before, after, kind));
            effects.add(&report);
            print(&report, global)?;
        }
    }
    workspace.save();
    if effects.is_unjudged && mode == Mode::Policies {
        log::print(&format_args!("hierad: {}", without_policies(if remote.is_here { GATE } else { PRE_PUSH })));
    }
    Ok(effects.refusal(mode))
}

/// Returns the warning that no policy judges pushes, which git's `setting` leaves to policies.
pub(super) fn without_policies(setting: &str) -> String {
    format!(
        "no policy refuses anything, not even errors: add 'policies' to the settings, or `git config {setting} errors`"
    )
}

/// Returns the sides of an update. The remote's current commit judges it; for a new branch, the remote's default
/// branch does.
fn sides(repository: &Repository, remote: &Remote, update: &Update, before: CommitId) -> Sides {
    let sides = Sides::of(RevisionId::Commit(before), RevisionId::Commit(update.new));
    let default = || match remote {
        Remote { is_here: true, .. } => repository.head().ok()?.commit,
        Remote { is_named: true, name, .. } => repository.resolve_trusted(&format!("refs/remotes/{name}/HEAD")).ok(),
        _ => None,
    };
    let target = if update.old.is_none() { default() } else { None };
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
    let mut known = if remote.is_here {
        repository.branches(&BranchPatterns::all())?.into_values().collect()
    } else {
        repository.remote_tips(&remote.name)?
    };
    known.extend(updates.iter().filter_map(|update| update.old));
    let (mut steps, mut unknown) = (Vec::new(), None);
    if remote.is_here && known.is_empty() {
        log::print(&"hierad: the first push, which is not compared with anything");
        return Ok((steps, unknown));
    }
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
struct PushEffects {
    keys: BTreeSet<String>,
    /// The nodes on which a key fails that did not fail before.
    failing: BTreeSet<String>,
    /// The policies that fail.
    policies: BTreeSet<String>,
    /// True if some branch has no policies.
    is_unjudged: bool,
    /// The reason why something cannot be checked.
    unchecked: Option<String>,
}

impl PushEffects {
    fn add(&mut self, report: &Report) {
        if report.is_unreadable.after {
            self.unchecked = report.blind_spots.first().map(|spot| spot.headline.clone());
        }
        self.keys.extend(report.changes.iter().map(|change| change.key.to_string()));
        let breaks = report.changes.iter().filter(|change| is_break(change));
        let failing = NodeSet::union_of(report.nodes.total, breaks.map(|change| change.nodes.clone()));
        self.failing.extend(report.names.names_of(&failing).map(str::to_owned));
        let fails = report.policies.iter().filter(|hit| hit.counts_as() == Some(PolicyLevel::Failure));
        self.policies.extend(fails.map(|hit| hit.name.to_string()));
    }

    /// Returns the reason for refusing the push, or `None`.
    fn refusal(&self, mode: Mode) -> Option<String> {
        let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        if mode != Mode::Print
            && let Some(why) = &self.unchecked
        {
            return Some(format!("cannot be checked: {why}"));
        }
        match mode {
            Mode::Policies if !self.policies.is_empty() => {
                let names: Vec<&str> = self.policies.iter().map(String::as_str).collect();
                let policy = if names.len() == 1 { "the policy" } else { "the policies" };
                Some(format!("breaks {policy} {}", names.join(", ")))
            }
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
