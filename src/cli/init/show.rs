//! Shows the effect of the settings: the nodes, a sample of answers compared with Puppet's, and the last change.

use std::io::Write;
use std::time::{Duration, Instant};

use super::print_row;
use crate::app::Workspace;
use crate::cli::diff::{HOOK_LINES, style};
use crate::cli::{Global, Result, output, verify};
use crate::git::CommitId;
use crate::pipeline::{Comparison, DiffFilter, Pipeline, RevisionId};
use crate::report::{BlindSpot, Format, Verdict, count, write};
use crate::snapshot;

/// The maximum number of commits examined to find one that changes something, and the approximate time limit.
const MAX_COMMITS: usize = 200;
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// The maximum number of blind spots shown.
const MAX_BLIND_SPOTS: usize = 5;

/// The number of answers that Puppet is asked for.
const SAMPLE_SIZE: usize = 100;

/// A repository whose nodes are known.
pub(super) struct Ready {
    workspace: Workspace,
    pipeline: Pipeline,
    head: CommitId,
}

impl Ready {
    /// Reads the settings and the nodes.
    pub(super) fn open(global: &Global) -> Result<Ready> {
        let workspace = global.open()?;
        let _progress = global.show_progress(&workspace);
        let head = workspace.repository.resolve("HEAD")?;
        let branch = workspace.branch("HEAD")?;
        let pipeline = global.pipeline(&workspace, branch.as_ref(), &[RevisionId::Commit(head)], &|_| true)?;
        Ok(Ready { workspace, pipeline, head })
    }

    /// Looks for the last change.
    pub(super) fn last_change(&self, global: &Global) -> Result<LastChange> {
        let _progress = global.show_progress(&self.workspace);
        let change = last_change(&self.workspace, &self.pipeline, self.head)?;
        self.workspace.save();
        Ok(change)
    }

    /// Prints how many nodes and keys there are.
    pub(super) fn print_nodes(&self, out: &mut dyn Write) -> Result<()> {
        let keys = self.pipeline.cached_revision(RevisionId::Commit(self.head))?.keys.len();
        let (nodes, keys) = (count(self.pipeline.fleet.len(), "node"), count(keys, "key"));
        Ok(print_row(out, "nodes", &format!("{nodes}, {keys} with data"))?)
    }

    /// Prints the blind spots of all keys.
    pub(super) fn print_blind_spots(&self, global: &Global, out: &mut dyn Write) -> Result<()> {
        let Ready { workspace, pipeline, head } = self;
        let (progress, head) = (global.show_progress(workspace), RevisionId::Commit(*head));
        let revision = pipeline.cached_revision(head)?;
        let rendered = pipeline.snapshots(head, &revision, &revision.keys, snapshot::Format::Json);
        drop(progress);
        for spot in rendered.blind_spots.iter().take(MAX_BLIND_SPOTS) {
            let fix = spot.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
            print_row(out, "blind spot", &format!("{}{fix}", spot.message))?;
        }
        if let Some(more @ 1..) = rendered.blind_spots.len().checked_sub(MAX_BLIND_SPOTS) {
            print_row(out, "blind spot", &format!("and {more} more: see `hierad check`"))?;
        }
        Ok(())
    }
}

/// Compares a sample of answers with those of Puppet, if it is on the machine.
pub(super) fn verify_some(global: &Global, out: &mut dyn Write) -> Result<()> {
    let text = match verify::sample(global, SAMPLE_SIZE) {
        Some(Ok(text)) => text,
        Some(Err(failure)) => format!("could not be asked: {}", crate::diagnostic::describe(&*failure)),
        None => "is not on this machine; where it is, `hierad verify` compares".to_owned(),
    };
    Ok(print_row(out, "puppet", &text)?)
}

/// A commit and the one before it, compared.
pub(super) type Change = (CommitId, CommitId, Comparison);

/// The last change, or the commits examined without finding one.
pub(super) enum LastChange {
    Found(Box<Change>),
    NotIn(LookedAt),
}

impl LastChange {
    /// Returns the blind spots of its report.
    pub(super) fn blind_spots(&self) -> &[BlindSpot] {
        match self {
            LastChange::Found(change) => &change.2.report.blind_spots,
            LastChange::NotIn(_) => &[],
        }
    }

    /// Shows the report, or says that no change was found.
    pub(super) fn show(&self, global: &Global, out: &mut dyn Write) -> Result<()> {
        let (before, after, comparison) = match self {
            LastChange::Found(change) => &**change,
            LastChange::NotIn(looked_at) => {
                print_row(out, "last change", &looked_at.in_words())?;
                return Ok(());
            }
        };
        let short = |id: &CommitId| id.to_string().chars().take(10).collect::<String>();
        print_row(out, "last change", &format!("hierad diff {} {}", short(before), short(after)))?;
        writeln!(out)?;
        out.flush()?;
        let mut out = output::coloured(output::color(global));
        write(&comparison.report, Format::Text, &style(global, Some(HOOK_LINES)), &mut out)?;
        Ok(out.flush()?)
    }
}

/// The commits examined without finding a change.
#[derive(Default)]
pub(super) struct LookedAt {
    count: usize,
    /// The number of commits with blind spots.
    with_blind_spots: usize,
}

impl LookedAt {
    fn in_words(&self) -> String {
        let commits = match self.count {
            0 => return "there is none yet: the first commit has nothing before it".to_owned(),
            1 => "the last commit".to_owned(),
            count => format!("the last {count} commits"),
        };
        let caveat = match self.with_blind_spots {
            0 => String::new(),
            with_blind_spots if with_blind_spots == self.count => ", as far as can be seen".to_owned(),
            with_blind_spots => format!(", of which not all can be seen in {with_blind_spots}"),
        };
        format!("not in {commits}{caveat}: try `hierad diff` with others")
    }
}

/// Returns the last commit that changes something, or in which nothing can be read.
fn last_change(workspace: &Workspace, pipeline: &Pipeline, head: CommitId) -> Result<LastChange> {
    let (mut after, mut walk) = (head, workspace.repository.first_parents(head));
    let (mut looked_at, start) = (LookedAt::default(), Instant::now());
    while looked_at.count < MAX_COMMITS && start.elapsed() < TIME_LIMIT {
        let Some(before) = walk.next().transpose()? else { break };
        let [from, to] = [before, after].map(RevisionId::Commit);
        let comparison = pipeline.diff(from, to, &DiffFilter::ALL)?;
        looked_at.count += 1;
        match comparison.report.verdict() {
            Verdict::NoChange => {}
            Verdict::NoChangeSeen if !comparison.report.is_unreadable.after => looked_at.with_blind_spots += 1,
            Verdict::Changes | Verdict::NoChangeSeen => {
                return Ok(LastChange::Found(Box::new((before, after, comparison))));
            }
        }
        after = before;
    }
    Ok(LastChange::NotIn(looked_at))
}
