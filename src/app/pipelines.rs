//! The pipelines of a workspace: one for each environment (so one for each branch if branches are environments) and
//! each set of answers of node sources that is in use on some branch.
//!
//! A pipeline is built when it is first needed, and rebuilt when profile files, or files outside of the repository,
//! have changed. While somebody is still writing the profiles, the former pipeline stays in use.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::recent::Recent;
use super::workspace::outside::Outside;
use super::{Failure, Result, Workspace};
use crate::event::{CommitEvent, EventKind};
use crate::git::BranchName;
use crate::inventory::{AnswerSet, Inventory};
use crate::node::ProfileError;
use crate::pipeline::judge::Sides;
use crate::pipeline::{Comparison, DiffFilter, Pipeline, PipelineError, RevisionId};

/// The pipelines of a workspace by environment.
pub struct BranchPipelines {
    workspace: Workspace,
    /// The checks for changes outside the repository.
    outside: PacedChecks,
    by_nodes: Recent<Nodes, BuiltPipeline>,
    /// The answers of sources with which a pipeline was last built.
    good_answers: Option<AnswerSet>,
    trouble: SourceTrouble,
}

/// The reason why a source could not be asked last time; `None` if all could.
pub(super) type SourceTrouble = Arc<Mutex<Option<String>>>;

/// The nodes of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Nodes {
    /// The branch that is their environment; `None` for the nodes of all branches.
    branch: Option<BranchName>,
    /// The answers of sources that they come from; `None` if these are not there yet or there are no sources.
    answers: Option<AnswerSet>,
}

/// A pipeline, and what it was made of.
struct BuiltPipeline {
    pipeline: Arc<Pipeline>,
    outside: Arc<Outside>,
    profiles: Arc<ProfileChecks>,
}

/// A pipeline that is ready for use.
pub(super) struct ReadyPipeline {
    pipeline: Arc<Pipeline>,
    /// The checks of its profiles, which may have changed since it was last used; `None` if they were just read.
    unchecked: Option<Arc<ProfileChecks>>,
}

/// The checks for changes of a pipeline's profiles.
struct ProfileChecks {
    checks: Mutex<PacedChecks>,
    /// True if the last check found a change.
    have_changed: AtomicBool,
}

/// The maximum number of pipelines to keep: the most recently used ones.
const MAX_PIPELINES: usize = 16;

/// Checks for changed files, which take a small part of the time: there may be a hundred thousand files. A burst of
/// commits, or a machine that is slow for a moment, has all its checks.
struct PacedChecks {
    /// The time at which the checks so far will be a [`SHARE`]th of the time.
    paid: Instant,
    /// The time that the last checks took. A single slow one was held up by something else.
    took: [Duration; 3],
}

/// Checks up to this long are not counted, so a few files are checked at each commit.
const SHORT_CHECK: Duration = Duration::from_millis(20);

/// All others may take one of so many parts of the time, and [`AT_ONCE`] on top.
const SHARE: u32 = 50;

/// The time that checks may take without a pause.
const AT_ONCE: Duration = Duration::from_secs(2);

impl PacedChecks {
    fn begin() -> PacedChecks {
        PacedChecks { paid: Instant::now(), took: [Duration::ZERO; 3] }
    }

    /// Returns the result of a check, or `None` during a pause.
    fn check<T>(&mut self, check: impl FnOnce() -> T) -> Option<T> {
        let start = Instant::now();
        if self.paid > start + AT_ONCE * SHARE {
            return None;
        }
        let seen = check();
        self.took = [self.took[1], self.took[2], start.elapsed()];
        let took = self.took.into_iter().min().unwrap_or_default();
        if took > SHORT_CHECK {
            self.paid = self.paid.max(start) + took * SHARE;
        }
        Some(seen)
    }
}

impl BuiltPipeline {
    /// Returns true unless its profiles, or files outside of the repository, are known to have changed.
    fn is_current(&self, outside: &Arc<Outside>) -> bool {
        let have_changed = self.profiles.have_changed.load(Ordering::Relaxed) || self.pipeline.fleet.has_changed();
        Arc::ptr_eq(&self.outside, outside) && !have_changed
    }
}

impl ReadyPipeline {
    /// Checks the profiles. If they have changed, the pipeline is not used again.
    fn is_current(&self) -> bool {
        let Some(profiles) = &self.unchecked else { return true };
        let mut checks = profiles.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = checks.check(|| self.pipeline.fleet.is_current()).unwrap_or(true);
        profiles.have_changed.fetch_or(!is_current, Ordering::Relaxed);
        is_current
    }

    /// Does something with the pipeline, and checks its profiles meanwhile: with 10,000 nodes that takes a quarter as
    /// long as a small commit. Returns `None` if they have changed.
    fn used<T>(&self, work: impl FnOnce(&Pipeline) -> T) -> Option<T> {
        thread::scope(|scope| {
            let check = thread::Builder::new().spawn_scoped(scope, || self.is_current());
            let result = work(&self.pipeline);
            let joined = |check: ScopedJoinHandle<'_, bool>| check.join().unwrap_or_else(|panic| resume_unwind(panic));
            let is_current = check.map_or_else(|_| self.is_current(), joined);
            is_current.then_some(result)
        })
    }
}

impl BranchPipelines {
    /// Makes an empty set of pipelines. Profiles are read when a pipeline is first asked for.
    pub fn new(mut workspace: Workspace) -> BranchPipelines {
        workspace.keep_nothing();
        workspace.takes_old_answers = true;
        BranchPipelines {
            workspace,
            outside: PacedChecks::begin(),
            by_nodes: Recent::new(MAX_PIPELINES),
            good_answers: None,
            trouble: SourceTrouble::default(),
        }
    }

    /// Returns the sources of nodes.
    pub(super) fn inventory(&self) -> Inventory {
        self.workspace.inventory(None)
    }

    /// Returns the place where trouble with the sources is noted.
    pub(super) fn trouble(&self) -> SourceTrouble {
        self.trouble.clone()
    }

    /// Compares a commit with its predecessor.
    pub fn compare(&mut self, event: &CommitEvent) -> Result<Comparison> {
        compare(event, || self.ready(Some(&event.branch)))
    }

    /// Returns the pipeline of a branch, or that of the checked-out branch for `None`. Its nodes are those of the last
    /// answers of sources.
    pub fn get(&mut self, branch: Option<&BranchName>) -> Result<Arc<Pipeline>> {
        checked(|| self.ready(branch))
    }

    /// Returns the pipeline of a branch, as [`get`](Self::get) does, before its profiles are checked.
    pub(super) fn ready(&mut self, branch: Option<&BranchName>) -> Result<ReadyPipeline> {
        let last = self.inventory().last_answers();
        match (self.ready_with(branch, last.as_ref()), self.good_answers.clone()) {
            (Err(error), Some(good_answers)) if last.as_ref() != Some(&good_answers) => {
                tracing::warn!(%error, "the new answers of node sources are unusable: the previous ones stay in use");
                self.ready_with(branch, Some(&good_answers))
            }
            (Ok(pipeline), _) => {
                self.good_answers = last;
                Ok(pipeline)
            }
            (failed, _) => failed,
        }
    }

    /// Returns the pipeline of a branch for the nodes in these answers of sources, before its profiles are checked. All
    /// other files are in their current state.
    pub(super) fn ready_with(
        &mut self,
        branch: Option<&BranchName>,
        answers: Option<&AnswerSet>,
    ) -> Result<ReadyPipeline> {
        let branch = branch.filter(|_| self.workspace.settings.environment.is_of_branch()).cloned();
        let nodes = Nodes { branch, answers: answers.cloned() };
        self.renew_outside();
        let former = self.by_nodes.take(&nodes);
        let current = former.as_ref().filter(|built| built.is_current(self.workspace.outside()));
        let unchecked = current.map(|built| built.profiles.clone());
        let built = match former {
            Some(built) if unchecked.is_some() => built,
            former => self.renewed(&nodes, former)?,
        };
        let pipeline = built.pipeline.clone();
        self.by_nodes.put(nodes, built);
        Ok(ReadyPipeline { pipeline, unchecked })
    }

    /// Returns a workspace with these answers of sources, or with the last ones.
    pub(super) fn workspace_with(&self, answers: Option<&AnswerSet>) -> Workspace {
        let answers = answers.cloned().or_else(|| self.inventory().last_answers());
        self.workspace.with_answers(answers)
    }

    /// Replaces a pipeline with a new one, or keeps the former one if that fails.
    fn renewed(&mut self, nodes: &Nodes, former: Option<BuiltPipeline>) -> Result<BuiltPipeline> {
        match (self.make(nodes), former) {
            (Ok(pipeline), former) => {
                if former.is_some() {
                    tracing::info!("the node profiles have changed and have been read again");
                }
                let repository = &self.workspace.repository;
                let is_there = |branch: &BranchName| !matches!(repository.tip(branch), Ok(None));
                self.by_nodes.retain(|nodes| nodes.branch.as_ref().is_none_or(is_there));
                let outside = self.workspace.outside().clone();
                let (checks, have_changed) = (Mutex::new(PacedChecks::begin()), AtomicBool::new(false));
                let profiles = Arc::new(ProfileChecks { checks, have_changed });
                Ok(BuiltPipeline { pipeline: Arc::new(pipeline), outside, profiles })
            }
            // Somebody may be writing them right now.
            (Err(error), Some(former)) => {
                tracing::warn!(%error, "the node profiles have changed and cannot be read: the former ones stay in \
                                        use");
                former.profiles.have_changed.store(false, Ordering::Relaxed);
                Ok(former)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Makes the pipeline of these nodes, whose profiles it reads.
    fn make(&self, Nodes { branch, answers }: &Nodes) -> Result<Pipeline> {
        let (workspace, branch) = (self.workspace.with_answers(answers.clone()), branch.as_ref());
        let tip = workspace.repository.resolve(branch.map_or("HEAD", BranchName::as_str)).ok().map(RevisionId::Commit);
        let report = |error: &ProfileError| {
            tracing::warn!(%error, "a node profile cannot be read: its node is left out");
        };
        workspace.pipeline_for(branch, tip.as_slice(), &|_| true, &report)
    }

    /// Rebuilds all pipelines if anything outside of the repository has changed.
    fn renew_outside(&mut self) {
        let workspace = &mut self.workspace;
        match self.outside.check(|| workspace.renew_outside()) {
            Some(Ok(true)) => tracing::info!("files outside the repository have changed: reading them again"),
            Some(Err(error)) => {
                tracing::warn!(%error, "files outside of the repository have changed and cannot be read: the former \
                                        ones stay in use");
            }
            Some(Ok(false)) | None => {}
        }
    }
}

/// The maximum number of attempts while profiles keep changing.
pub(super) const ATTEMPTS: usize = 5;

/// Returns what a commit changes, with the pipeline that `get` returns. If profiles turn out to have changed
/// meanwhile, compares the commit again with the next pipeline.
pub(super) fn compare(event: &CommitEvent, mut get: impl FnMut() -> Result<ReadyPipeline>) -> Result<Comparison> {
    let have_changed =
        |error: &Failure| matches!(error.downcast_ref::<PipelineError>(), Some(PipelineError::ProfilesChanged));
    for _ in 1..ATTEMPTS {
        match get()?.used(|pipeline| compare_with(pipeline, event)) {
            Some(Err(error)) if have_changed(&error) => tracing::info!("{error}; comparing the commit again"),
            Some(compared) => return compared,
            None => {}
        }
    }
    compare_with(&*checked(get)?, event)
}

/// Returns the pipeline that `get` returns, or the next one if its profiles have changed.
fn checked(mut get: impl FnMut() -> Result<ReadyPipeline>) -> Result<Arc<Pipeline>> {
    let ready = get()?;
    if ready.is_current() { Ok(ready.pipeline) } else { Ok(get()?.pipeline) }
}

/// Returns what a commit changes. If git has collected the former tip of a rewritten branch, the commit is compared
/// with its first parent.
fn compare_with(pipeline: &Pipeline, event: &CommitEvent) -> Result<Comparison> {
    let (repository, mut before) = (pipeline.repository(), event.before);
    if let Some(gone) = before.filter(|before| repository.is_gone(*before))
        && !repository.is_gone(event.after)
    {
        before = repository.parents(event.after)?.first();
        let compared = before.map(tracing::field::display);
        tracing::warn!(%gone, compared, "git has collected the former tip; comparing the commit with its parent");
    }
    let before = before.map_or(RevisionId::Empty, RevisionId::Commit);
    let target = event.judge.filter(|judge| !repository.is_gone(*judge)).map(RevisionId::Commit);
    // A new branch is judged by the default branch, into which it is likely to be merged.
    let branch = (event.kind == EventKind::Created).then(|| repository.branch().ok().flatten()).flatten();
    let sides = Sides { before, after: RevisionId::Commit(event.after), target, branch, is_request: false };
    Ok(pipeline.diff_between(&sides, &DiffFilter::ALL)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::app::Overrides;

    fn git(folder: &Path, arguments: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        assert!(Command::new("git").arg("-C").arg(folder).args(who).args(arguments).status().unwrap().success());
    }

    /// Each branch is an environment with a pipeline of its own, so a check of one's profiles says nothing about
    /// another's, and a pause after it does not affect the others.
    #[test]
    fn the_pause_after_a_look_is_that_of_one_branch() {
        let folder = tempfile::tempdir().unwrap();
        let (data, node) = (folder.path().join("data"), folder.path().join("node.yaml"));
        std::fs::create_dir(&data).unwrap();
        git(&data, &["init", "--quiet", "--initial-branch=main"]);
        git(&data, &["commit", "--quiet", "--allow-empty", "--message=first"]);
        git(&data, &["branch", "test"]);
        let settings = format!("profiles: {}\nenvironment: branch\n", node.display());
        std::fs::write(data.join(".git/hierad.yaml"), settings).unwrap();
        std::fs::write(&node, "name: n\n").unwrap();
        let overrides = Overrides { repo: Some(data), is_isolated: true, ..Overrides::default() };
        let mut pipelines = BranchPipelines::new(Workspace::open(&overrides).unwrap());
        let [main, test] = ["main", "test"].map(BranchName::new);
        let of = |pipelines: &mut BranchPipelines, branch| pipelines.get(Some(branch)).unwrap();
        let former = [of(&mut pipelines, &main), of(&mut pipelines, &test)];
        std::fs::write(&node, "name: other\n").unwrap();
        let nodes = Nodes { branch: Some(main.clone()), answers: None };
        let built = pipelines.by_nodes.take(&nodes).unwrap();
        built.profiles.checks.lock().unwrap().paid = Instant::now() + Duration::from_hours(1);
        pipelines.by_nodes.put(nodes, built);
        assert!(Arc::ptr_eq(&of(&mut pipelines, &main), &former[0]), "a pause");
        assert!(!Arc::ptr_eq(&of(&mut pipelines, &test), &former[1]), "a look");
    }
}
