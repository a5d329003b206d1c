//! The commits that changed values, as links to them.

use std::sync::Arc;

use super::{Result, entry};
use crate::app::daemon::answers::{EffectiveValues, broken, history};
use crate::daemon::http::{AnswerError, HistoryPlace, HistoryRequest, PageRequest};
use crate::git::CommitId;
use crate::page::content::{Change, Changes, Content};
use crate::pattern::Pattern;
use crate::report::Report;
use crate::report::writers::text::entry::in_short;
use crate::workers::Stop;

/// The size that a pattern may have when it is compiled, in bytes.
const MAX_PATTERN: usize = 1 << 16;

/// The number of entries in a part of the list.
const ENTRIES: usize = 20;

impl EffectiveValues {
    pub(super) fn changes(
        &self,
        page: &PageRequest,
        (key, node, after): (Option<&str>, Option<&str>, Option<HistoryPlace>),
        stop: &Arc<dyn Stop>,
    ) -> Result<Content> {
        let request = HistoryRequest {
            revision: page.revision.clone(),
            keys: pattern(key)?,
            nodes: pattern(node)?,
            text: None,
            after,
            limit: ENTRIES,
        };
        let found = self.with_history(&request, stop, history::reports)?;
        let entries = found.entries.iter().map(|report| self.change(report)).collect::<Result<_>>()?;
        let masked =
            found.unseen.iter().map(|id| format!("{} may change values that fail before and after", id.short()));
        Ok(Content::Changes(Changes {
            key: key.map(str::to_owned),
            node: node.map(str::to_owned),
            entries,
            next: found.next.map(|place| place.to_string()),
            unseen: found.blind_spots.iter().cloned().chain(masked).collect(),
        }))
    }

    fn change(&self, report: &Report) -> Result<Change> {
        let id = report.commit.after.as_ref().and_then(|commit| CommitId::from_hex(&commit.id));
        let id = id.ok_or_else(|| AnswerError::Broken("a report has no commit".into()))?;
        let mut commit = entry(self.workspace.repository.commit(id).map_err(broken)?);
        let is_of_facts = report.is_of_facts();
        if let (true, Some(time)) = (is_of_facts, &report.facts_time) {
            commit.time.clone_from(time);
        }
        Ok(Change { commit, is_of_facts, words: in_short(report) })
    }
}

/// Returns the pattern of a name, if there is one.
fn pattern(name: Option<&str>) -> Result<Vec<Pattern>> {
    let pattern = name.map(|name| Pattern::bounded(name, MAX_PATTERN)).transpose();
    Ok(pattern.map_err(|error| AnswerError::Wrong(error.to_string()))?.into_iter().collect())
}
