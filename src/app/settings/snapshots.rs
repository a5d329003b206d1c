//! Checks `snapshots:`, the snapshots that the daemon writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::STDOUT;
use crate::disk::FileMode;
use crate::git::{BranchName, BranchPatterns, is_remote_address};
use crate::schedule::Schedule;
use crate::settings::repository::seconds;
use crate::settings::source::SourceFile;
use crate::settings::{SettingsError, raw};
use crate::snapshot::file_name;

/// Snapshots that the daemon writes.
#[derive(Debug, Clone)]
pub struct SnapshotSetting {
    /// The name of the work in the queue.
    pub name: String,
    /// Their destination.
    pub place: SnapshotTarget,
    /// The branches.
    pub branches: BranchPatterns,
    /// The time for which a commit's snapshots are retried before they are set aside.
    pub retry_for: Duration,
    /// The schedule; `None` to write them for each commit.
    pub schedule: Option<Schedule>,
}

/// The default and the maximum of `retry_for`, in hours.
const RETRY_FOR: (f64, f64) = (24.0, 1_000_000.0);

/// A destination of snapshots.
#[derive(Debug, Clone)]
pub enum SnapshotTarget {
    /// The references `refs/hierad/snapshots/BRANCH`, a commit for each commit of the branch.
    Reference {
        /// The remote that the references are pushed to.
        push: Option<PushTarget>,
        /// True if a branch's reference is deleted along with the branch.
        prune: bool,
    },
    /// A folder, which holds the snapshots of the branch's tip in files of this mode.
    Folder(FolderPattern, FileMode),
}

/// A remote that references are pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Its name or address.
    pub remote: String,
    /// The time limit of an exchange with it.
    pub limit: Duration,
}

/// The default of `push_timeout`, in seconds. The branches of a remote wait for each other, and a first push may have a
/// long history.
const DEFAULT_PUSH_TIMEOUT: f64 = 300.0;

/// The placeholder for the name of the branch.
const BRANCH_PLACEHOLDER: &str = "{branch}";

/// The placeholder for the name of the repository.
const REPOSITORY_PLACEHOLDER: &str = "{repository}";

/// A pattern for the folder of each branch of each repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPattern(String);

impl FolderPattern {
    /// Returns the folder of a branch. A slash in a name becomes `%2F`, as in the files of nodes.
    pub fn folder(&self, repository: &str, branch: &BranchName) -> PathBuf {
        let mut folder = String::new();
        // Goes part by part, since a name may look like a placeholder.
        for piece in self.0.split_inclusive('}') {
            let names = [(BRANCH_PLACEHOLDER, branch.as_str()), (REPOSITORY_PLACEHOLDER, repository)];
            match names.into_iter().find_map(|(mark, name)| Some((piece.strip_suffix(mark)?, name))) {
                Some((text, name)) => folder += &(text.to_owned() + &file_name(name)),
                None => folder += piece,
            }
        }
        folder.into()
    }

    /// Returns the folder that the folders of all branches are in.
    pub fn root(&self) -> &Path {
        let fixed = self.0.split_once('{').map_or(&*self.0, |(fixed, _)| fixed);
        match fixed.rsplit_once('/') {
            Some((folder, _)) if fixed.len() < self.0.len() => Path::new(folder),
            _ => Path::new(fixed),
        }
    }
}

/// Checks all snapshots. In the queue they share names with `sinks`, so no sink may have the same name.
pub(super) fn check_all(
    source: &SourceFile<'_>,
    raw: BTreeMap<String, raw::Snapshots>,
    several: bool,
    sinks: &BTreeMap<String, raw::Sink>,
) -> Result<Vec<SnapshotSetting>, SettingsError> {
    let is_taken = |name: &String| sinks.contains_key(name) || (sinks.is_empty() && name == STDOUT);
    if let Some(name) = raw.keys().find(|name| is_taken(name)) {
        let text = format!("there is a sink '{name}': snapshots need another name");
        return Err(source.invalid(&["snapshots", name], text));
    }
    raw.into_iter().map(|(name, raw)| check(source, &name, raw, several)).collect()
}

/// Checks the snapshots `name` of a daemon that watches one or `several` repositories.
fn check(
    source: &SourceFile<'_>,
    name: &str,
    raw: raw::Snapshots,
    several: bool,
) -> Result<SnapshotSetting, SettingsError> {
    let invalid = |text: &str| source.invalid(&["snapshots", name], format!("snapshots '{name}' {text}"));
    let raw::Snapshots { reference, folder, mode, push, push_timeout, prune, retry_for, branches, schedule, time_zone } =
        raw;
    if folder.is_none() && mode.is_some() {
        return Err(invalid("do not go to a folder, so 'mode' has no effect"));
    }
    let mode = mode.map_or(Ok(FileMode::PRIVATE), |mode| mode.parse());
    let mode = mode.map_err(|error| invalid(&format!("have an invalid 'mode': {error}")))?;
    if push.is_none() && push_timeout.is_some() {
        return Err(invalid("have no 'push', so 'push_timeout' has no effect"));
    }
    let limit = seconds("push_timeout", push_timeout.unwrap_or(DEFAULT_PUSH_TIMEOUT));
    let limit = limit.map_err(|text| invalid(&format!("need {text}")))?;
    if several && push.as_deref().is_some_and(is_remote_address) {
        return Err(invalid(ONE_ADDRESS));
    }
    let push = push.map(|remote| PushTarget { remote, limit });
    let place = match (reference, folder) {
        (true, None) => SnapshotTarget::Reference { push, prune: prune.unwrap_or(false) },
        (false, Some(_)) if prune.is_some() => return Err(invalid("go to a folder, so 'prune' has no effect")),
        (false, Some(_)) if push.is_some() => return Err(invalid("go to a folder, so 'push' has no effect")),
        (false, Some(folder)) => {
            if !folder.contains(BRANCH_PLACEHOLDER) && !is_one_branch(branches.as_slice()) {
                return Err(invalid(&format!(
                    "of several branches need a folder each: put {BRANCH_PLACEHOLDER} into 'folder', or name one branch in 'branches'"
                )));
            }
            if several && !folder.contains(REPOSITORY_PLACEHOLDER) {
                return Err(invalid(&format!(
                    "of several repositories need a folder each: put {REPOSITORY_PLACEHOLDER} into 'folder'"
                )));
            }
            SnapshotTarget::Folder(FolderPattern(source.folder.join(folder).display().to_string()), mode)
        }
        _ => return Err(invalid("need either 'ref: true' or 'folder: DIR'")),
    };
    if schedule.as_slice().is_empty() && time_zone.is_some() {
        return Err(invalid("have no 'schedule', so 'time_zone' has no effect"));
    }
    let schedule = (!schedule.as_slice().is_empty()).then(|| Schedule::new(schedule.as_slice(), time_zone.as_deref()));
    let schedule = schedule.transpose().map_err(|error| invalid(&format!("have an invalid schedule: {error}")))?;
    if schedule.is_some() && retry_for.is_some() {
        return Err(invalid("have a 'schedule', so 'retry_for' has no effect"));
    }
    let (default, most) = RETRY_FOR;
    let hours = retry_for.unwrap_or(default);
    let retry_for = Some(hours).filter(|hours| (0.0..=most).contains(hours));
    let retry_for = retry_for.and_then(|hours| Duration::try_from_secs_f64(hours * 3600.0).ok());
    let retry_for =
        retry_for.ok_or_else(|| invalid(&format!("need a number of hours for 'retry_for', not {hours}")))?;
    let branches = BranchPatterns::new(branches.as_slice()).map_err(|error| invalid(&format!("have {error}")))?;
    Ok(SnapshotSetting { name: name.to_owned(), place, branches, retry_for, schedule })
}

/// The fault of a push of several repositories to one address, which may have a password and is not told.
const ONE_ADDRESS: &str =
    "of several repositories would be pushed to the same references: name a remote, such as 'origin', for an address";

/// Returns true if the patterns select exactly one branch.
fn is_one_branch(patterns: &[String]) -> bool {
    matches!(patterns, [one] if !one.contains(['*', '?', '[', '{', '\\']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_branch_has_a_folder_of_its_own() {
        let folder = |pattern: &str, repository: &str, branch: &str| {
            let folder = FolderPattern(pattern.to_owned()).folder(repository, &BranchName::new(branch));
            folder.to_str().unwrap().to_owned()
        };
        assert_eq!(folder("/srv/all", "data", "main"), "/srv/all");
        assert_eq!(folder("/srv/{repository}/x-{branch}/y", "data", "team/one"), "/srv/data/x-team%2Fone/y");
        assert_eq!(folder("{branch}{repository}{other}", "{branch}", "../.."), "%2E.%2F..%7Bbranch%7D{other}");
    }
}
