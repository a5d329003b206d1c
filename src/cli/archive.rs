//! The snapshots that the daemon writes for each commit, on the git references of branches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::watch::Pipelines;
use super::{Result, describe};
use crate::delivery::{Filter, Parcel, Sink, Snapshots, Target};
use crate::git::{BranchName, CommitId, Repository};
use crate::pipeline::Pipeline;
use crate::pipeline::export::{Event, Exporter};
use crate::settings::{SNAPSHOTS, SnapshotSetting};
use crate::snapshot::history::reference;

/// The repositories that snapshots are written in, by their names in the queue.
#[derive(Default)]
pub(super) struct Archives(HashMap<String, Archive>);

/// A repository that snapshots are written in.
struct Archive {
    repository: Repository,
    pipelines: Arc<Mutex<Pipelines>>,
    /// Who has written the last ones of a branch, with which pipeline.
    exporters: HashMap<BranchName, (Arc<Pipeline>, Exporter)>,
}

impl Archives {
    /// Adds a repository, which is read as for reports.
    pub(super) fn add(&mut self, name: &str, repository: Repository, pipelines: Arc<Mutex<Pipelines>>) {
        self.0.insert(name.to_owned(), Archive { repository, pipelines, exporters: HashMap::new() });
    }

    /// The sink that writes them: it is tried until it succeeds, since each commit has its place.
    pub(super) fn sink(mut self, setting: &SnapshotSetting) -> Sink {
        let filter = Filter { branches: setting.branches.clone(), ..Filter::default() };
        let push = setting.push.clone();
        let write = move |parcel: &Parcel| match self.0.get_mut(&parcel.repository) {
            Some(archive) => archive.write(parcel, push.as_deref()).map_err(|failure| describe(&*failure)),
            None => Err(format!("the repository {} is not watched any more", parcel.repository)),
        };
        let target = Target::Snapshots(Snapshots::new(Box::new(write)));
        Sink { name: SNAPSHOTS.to_owned(), filter, retry_for: Duration::MAX, target }
    }
}

impl Archive {
    fn write(&mut self, parcel: &Parcel, push: Option<&str>) -> Result<()> {
        let commit = |id: &str| CommitId::from_hex(id).ok_or_else(|| format!("'{id}' is no commit"));
        let branch = BranchName::new(parcel.branch.clone());
        let event = Event { before: parcel.before.as_deref().map(commit).transpose()?, after: commit(&parcel.after)? };
        let pipeline = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(Some(&branch))?;
        let is_current = |(known, _): &(Arc<Pipeline>, Exporter)| Arc::ptr_eq(known, &pipeline);
        let (_, mut exporter) = match self.exporters.remove(&branch).filter(is_current) {
            Some(known) => known,
            None => (pipeline.clone(), Exporter::new(pipeline.clone())),
        };
        let result = exporter.export(&branch, &event, None);
        self.exporters.insert(branch.clone(), (pipeline, exporter));
        result?;
        if let Some(remote) = push {
            self.repository.push(remote, &reference(&branch))?;
        }
        Ok(())
    }
}
