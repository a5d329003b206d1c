//! The commits that changed values, as links to them.

use std::sync::Arc;

use super::timeline::timeline;
use super::{Result, entry};
use crate::app::daemon::answers::{EffectiveValues, broken, history};
use crate::daemon::http::{AnswerError, HistoryRequest};
use crate::git::CommitId;
use crate::page::content::{Change, Changes, Content};
use crate::report::Report;
use crate::report::writers::text::entry::each_in_short;
use crate::workers::Stop;

/// The maximum number of lines on the changes of a commit.
const MAX_LINES: usize = 3;

impl EffectiveValues {
    /// Returns some of the commits that changed the keys of a request, and the place where the next ones begin.
    pub(super) fn changes(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> Result<Content> {
        let (found, timeline) = self.with_history(request, stop, |question| {
            let (pipeline, nodes) = question.scope();
            let found = history::reports(question)?;
            let key = one_key(request);
            let timeline = key.map(|key| timeline(pipeline, key, &nodes, &found.entries)).transpose()?.flatten();
            Ok((found, timeline))
        })?;
        let entries = found.entries.iter().map(|report| self.change(report)).collect::<Result<_>>()?;
        let masked =
            found.unseen.iter().map(|id| format!("{} may change values that fail before and after", id.short()));
        Ok(Content::Changes(Changes {
            keys: request.keys.iter().map(|key| key.as_str().to_owned()).collect(),
            nodes: request.nodes.iter().map(|node| node.as_str().to_owned()).collect(),
            entries,
            next: found.next.map(|place| place.to_string()),
            blind_spots: found.blind_spots.iter().cloned().chain(masked).collect(),
            timeline,
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
        Ok(Change { commit, is_of_facts, lines: each_in_short(report, MAX_LINES) })
    }
}

/// Returns the key that a request is about if it names one, and is about no part of its values.
fn one_key(HistoryRequest { keys, text, .. }: &HistoryRequest) -> Option<&str> {
    let [key] = keys.as_slice() else { return None };
    Some(key.as_str()).filter(|key| text.is_none() && !key.contains(['*', '?', '[', '{']))
}
