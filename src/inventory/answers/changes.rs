//! The changes of facts that were reported, for the history of values.
//!
//! A file lists them, the oldest first. Their answers stay for as long as they are in it: see [`MAX_CHANGES`].

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::answer_set::AnswerSet;
use super::folder::{MAX_HEADER, create_private, lock};
use crate::disk::{self, FileMode, replace_durably};
use crate::git::{BranchName, CommitId};

/// The file that lists changes.
const CHANGES: &str = "changes.json";

/// The maximum number of changes that are kept, and the bytes that their answers may have together.
const MAX_CHANGES: usize = 100;
const MAX_BYTES: u64 = 256 << 20;

/// A change of facts between two commits of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactsChange {
    /// The time at which it was noticed, in seconds since 1970.
    pub time: i64,
    /// The branch.
    pub branch: BranchName,
    /// The last commit of the branch by then.
    pub commit: CommitId,
    /// The answers of sources before.
    pub before: AnswerSet,
    /// Those after it.
    pub after: AnswerSet,
}

/// A change as the file has it.
#[derive(Serialize, Deserialize)]
struct Written {
    time: i64,
    branch: String,
    commit: String,
    before: AnswerSet,
    after: AnswerSet,
}

/// Returns the changes in a folder of answers, the oldest first, or `None` if their list cannot be read.
pub(in crate::inventory) fn noted(folder: &Path) -> Option<Vec<FactsChange>> {
    match disk::read_regular(&folder.join(CHANGES), MAX_HEADER) {
        Ok(content) => serde_json::from_slice::<Vec<Written>>(&content).ok()?.into_iter().map(Written::read).collect(),
        Err(error) => (error.kind() == ErrorKind::NotFound).then(Vec::new),
    }
}

/// Adds a change to those in a folder of answers. A list that is damaged begins anew.
pub(in crate::inventory) fn note(folder: &Path, change: FactsChange) -> io::Result<()> {
    create_private(folder)?;
    let _lock = lock(folder)?;
    let mut changes = noted(folder).unwrap_or_default();
    // A report that was not stored is made again, perhaps with newer answers.
    let last = changes.iter().rposition(|other| other.branch == change.branch);
    let is_again = |at: &usize| changes[*at].commit == change.commit && changes[*at].before == change.before;
    if let Some(at) = last.filter(is_again) {
        changes.remove(at);
    }
    changes.push(change);
    let kept = changes.split_off(changes.len() - fitting(folder, &changes));
    let written: Vec<Written> = kept.into_iter().map(Written::new).collect();
    replace_durably(&folder.join(CHANGES), &serde_json::to_vec(&written)?, FileMode::PRIVATE)
}

/// Returns the number of the newest changes that may be kept.
fn fitting(folder: &Path, changes: &[FactsChange]) -> usize {
    let (mut files, mut bytes) = (BTreeSet::new(), 0);
    let newest = changes.iter().rev().take(MAX_CHANGES).take_while(|change| {
        for file in change.files().filter(|file| files.insert(*file)) {
            bytes += fs::metadata(folder.join(file)).map_or(0, |metadata| metadata.len());
        }
        bytes <= MAX_BYTES
    });
    newest.count()
}

impl FactsChange {
    /// Returns the files of its answers.
    pub(in crate::inventory) fn files(&self) -> impl Iterator<Item = &str> {
        self.before.files().chain(self.after.files())
    }
}

impl Written {
    fn new(FactsChange { time, branch, commit, before, after }: FactsChange) -> Written {
        Written { time, branch: branch.to_string(), commit: commit.to_string(), before, after }
    }

    fn read(self) -> Option<FactsChange> {
        let Written { time, branch, commit, before, after } = self;
        Some(FactsChange { time, branch: BranchName::new(branch), commit: CommitId::from_hex(&commit)?, before, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Store;
    use crate::inventory::answers::store::{Answer, age};

    #[test]
    fn the_answers_of_the_newest_changes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "puppetdb", "a");
        let keep = |content: String| {
            let stored = store.keep("a", Answer { lines: content.into(), ..Answer::default() }).unwrap();
            age(folder.path());
            stored
        };
        let of = |commit: u8, time, [before, after]: [&str; 2]| {
            let [before, after] = [before, after].map(|file| AnswerSet::of([("a", file)]));
            let branch = BranchName::new("main");
            FactsChange { time, branch, commit: CommitId::from_bytes([commit; 20]), before, after }
        };
        let mut last = keep("0\n".to_owned());
        let first = last.clone();
        for number in 1..=MAX_CHANGES {
            let next = keep(format!("{number}\n"));
            let change = of(1, i64::try_from(number).unwrap(), [&last.header.file, &next.header.file]);
            note(folder.path(), change.clone()).unwrap();
            // The same again, as when a report is made twice.
            note(folder.path(), change).unwrap();
            last = next;
        }
        assert_eq!(noted(folder.path()).unwrap().len(), MAX_CHANGES);
        assert!(first.path.exists());
        // A report that was not stored is made again, with newer answers.
        let newest = keep("a\n".to_owned());
        let before = noted(folder.path()).unwrap().pop().unwrap().before;
        let again = of(1, 200, [before.files().next().unwrap(), &newest.header.file]);
        note(folder.path(), again.clone()).unwrap();
        assert_eq!(
            (noted(folder.path()).unwrap().len(), noted(folder.path()).unwrap().pop()),
            (MAX_CHANGES, Some(again))
        );
        // The oldest makes way for one more.
        note(folder.path(), of(2, 201, [&newest.header.file, "gone.ndjson"])).unwrap();
        assert_eq!(noted(folder.path()).unwrap().len(), MAX_CHANGES);
        keep("b\n".to_owned());
        keep("c\n".to_owned());
        assert!(!first.path.exists() && newest.path.exists());
    }
}
