//! The snapshots that the daemon writes: on the git references of branches or into folders, for each commit or by schedule.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Result;
use super::place::Slot;
use crate::daemon::service::Scheduled;
use crate::delivery::{Filter, Parcel, Sink, SnapshotSink, Target};
use crate::diagnostic::describe;
use crate::git::{BranchName, Branches, CommitId};
use crate::pipeline::export::events::since;
use crate::pipeline::export::{Event, Exported, Exporter};
use crate::pipeline::render::RenderError;
use crate::pipeline::{Pipeline, RevisionId};
use crate::schedule::Schedule;
use crate::settings::{SnapshotSetting, SnapshotTarget};
use crate::snapshot::history::{Last, reference};

/// The repositories that snapshots are written of, by their names in the queue.
#[derive(Default)]
pub(super) struct Archives(BTreeMap<String, Slot>);

impl Archives {
    /// Adds a repository, which is read as for reports.
    pub(super) fn add(&mut self, name: &str, slot: Slot) {
        self.0.insert(name.to_owned(), slot);
    }

    /// The sink that writes snapshots of each commit: it is tried until it succeeds, since each commit has its place.
    pub(super) fn sink(&self, setting: &SnapshotSetting) -> Sink {
        let (name, mut writers) = (setting.name.clone(), self.writers(setting));
        let filter = Filter { branches: setting.branches.clone(), ..Filter::default() };
        let write = move |parcel: &Parcel| match writers.get_mut(&parcel.repository) {
            Some(writer) => writer.arrived(parcel).map_err(|failure| describe(&*failure)),
            None => Err(format!("the repository {} is not watched any more", parcel.repository)),
        };
        let target = Target::Snapshots(SnapshotSink::new(Box::new(write)));
        Sink { name, filter, retry_for: Duration::MAX, target }
    }

    /// The work that writes snapshots of all branches when it is due.
    pub(super) fn scheduled(&self, setting: &SnapshotSetting, schedule: Schedule) -> Scheduled {
        let (name, mut writers) = (setting.name.clone(), self.writers(setting));
        let work = move || {
            // What is wrong with one branch is no reason to leave out another.
            let failures: Vec<String> = writers.values_mut().flat_map(Writer::all).collect();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
        };
        Scheduled { name, schedule, work: Box::new(work) }
    }

    fn writers(&self, setting: &SnapshotSetting) -> BTreeMap<String, Writer> {
        let writer = |(name, slot): (&String, &Slot)| (name.clone(), Writer::new(name, slot, setting));
        self.0.iter().map(writer).collect()
    }
}

/// Writes snapshots of one repository.
struct Writer {
    name: String,
    slot: Slot,
    setting: SnapshotSetting,
    /// Who has written the last ones on the reference of a branch, with which pipeline.
    exporters: HashMap<BranchName, (Arc<Pipeline>, Exporter)>,
    /// What a folder has, with which pipeline.
    folders: HashMap<PathBuf, (Arc<Pipeline>, CommitId)>,
}

impl Writer {
    fn new(name: &str, slot: &Slot, setting: &SnapshotSetting) -> Writer {
        Writer {
            name: name.to_owned(),
            slot: slot.clone(),
            setting: setting.clone(),
            exporters: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// Writes those of a commit that has come to a branch.
    fn arrived(&mut self, parcel: &Parcel) -> Result<()> {
        let commit = |id: &str| CommitId::from_hex(id).ok_or_else(|| format!("'{id}' is no commit"));
        let branch = BranchName::new(parcel.branch.clone());
        let event = Event { before: parcel.before.as_deref().map(commit).transpose()?, after: commit(&parcel.after)? };
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push } => {
                self.with_exporter(&branch, |exporter| Ok(exporter.export(&branch, &event, None)?))?;
                self.push(&branch, push.as_deref())
            }
            SnapshotTarget::Folder(pattern) => self.fill(&branch, &pattern.folder(&self.name, &branch), true),
        }
    }

    /// Writes those of all branches; what went wrong.
    fn all(&mut self) -> Vec<String> {
        let branches = match self.branches() {
            Ok(branches) => branches,
            Err(error) => return vec![format!("repository {}: {error}", self.name)],
        };
        let mut failures = Vec::new();
        for (branch, tip) in branches {
            if let Err(failure) = self.branch(&branch, tip) {
                failures.push(format!("branch {branch} of {}: {}", self.name, describe(&*failure)));
            }
        }
        failures
    }

    fn branches(&self) -> Result<Branches> {
        Ok(self.slot.get()?.repository.branches(&self.setting.branches)?)
    }

    fn branch(&mut self, branch: &BranchName, tip: CommitId) -> Result<()> {
        match self.setting.place.clone() {
            SnapshotTarget::Reference { push } => {
                let repository = self.slot.get()?.repository;
                let events = since(&repository, Last::of(&repository, branch)?, tip)?;
                self.with_exporter(branch, |exporter| Ok(exporter.export_all(branch, &events)?))?;
                self.push(branch, push.as_deref())
            }
            SnapshotTarget::Folder(pattern) => self.fill(branch, &pattern.folder(&self.name, branch), false),
        }
    }

    /// Writes to the reference of a branch, if it can by who did it last.
    fn with_exporter(
        &mut self,
        branch: &BranchName,
        export: impl FnOnce(&mut Exporter) -> Result<Exported>,
    ) -> Result<()> {
        let pipeline = self.pipeline(branch)?;
        let is_current = |(known, _): &(Arc<Pipeline>, Exporter)| Arc::ptr_eq(known, &pipeline);
        let (_, mut exporter) = match self.exporters.remove(branch).filter(is_current) {
            Some(known) => known,
            None => (pipeline.clone(), Exporter::new(pipeline.clone())),
        };
        let result = export(&mut exporter);
        self.exporters.insert(branch.clone(), (pipeline, exporter));
        let Exported { commits, files, skipped } = result?;
        for (commit, spot) in skipped {
            tracing::warn!(repository = self.name, %branch, %commit, "the last good snapshots stay: {}", spot.message);
        }
        let (commits, name) = (commits.len(), &self.setting.name);
        tracing::debug!(name, %branch, commits, files = files.changed, "snapshots are on the reference");
        Ok(())
    }

    fn push(&self, branch: &BranchName, remote: Option<&str>) -> Result<()> {
        let Some(remote) = remote else { return Ok(()) };
        Ok(self.slot.get()?.repository.push(remote, &reference(branch))?)
    }

    /// Writes those of the tip of a branch to a folder, unless they are there and `is_trusted` says that nobody else has changed them.
    fn fill(&mut self, branch: &BranchName, folder: &PathBuf, is_trusted: bool) -> Result<()> {
        // The last of several commits is all that a folder has in the end.
        let Some(tip) = self.slot.get()?.repository.tip(branch)? else { return Ok(()) };
        let pipeline = self.pipeline(branch)?;
        let is_there = |(by, of): &(Arc<Pipeline>, CommitId)| Arc::ptr_eq(by, &pipeline) && *of == tip;
        if is_trusted && self.folders.get(folder).is_some_and(is_there) {
            return Ok(());
        }
        let written = match pipeline.render(RevisionId::Commit(tip), folder) {
            Err(RenderError::Unreadable(spot)) => {
                tracing::warn!(repository = self.name, %branch, commit = %tip, "the last good snapshots stay: {}", spot.message);
                return Ok(());
            }
            written => written?,
        };
        let name = &self.setting.name;
        tracing::debug!(name, %branch, commit = %tip, files = written.changed, removed = written.removed, "snapshots are in the folder");
        self.folders.insert(folder.clone(), (pipeline, tip));
        Ok(())
    }

    fn pipeline(&self, branch: &BranchName) -> Result<Arc<Pipeline>> {
        self.slot.get()?.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(branch))
    }
}
