//! Keys that a revision does not have, but that the index of the history knows.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use super::Result;
use crate::app::daemon::answers::{EffectiveValues, RequestedRevision, broken, unknown_key};
use crate::page::content::{Content, KnownAt, NoKey};
use crate::pipeline::Pipeline;

impl EffectiveValues {
    /// Returns what is known of a key that no data of a revision has.
    pub(super) fn no_key(&self, pipeline: &Pipeline, requested: &RequestedRevision, key: &str) -> Result<Content> {
        let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
        let message = unknown_key(key, &revision, requested).to_string();
        let is_known = |at: &RequestedRevision| -> Result<bool> {
            Ok(!self.changed_keys(pipeline, at, &|name| name == key, 1)?.is_empty())
        };
        let known_at = if is_known(requested)? {
            Some(KnownAt::This)
        } else {
            is_known(&self.resolve("HEAD")?)?.then_some(KnownAt::Newest)
        };
        Ok(Content::NoKey(NoKey { key: key.to_owned(), message, known_at }))
    }

    /// Returns keys with a text in their names, in small letters, that earlier commits had and a revision has not.
    pub(super) fn former_keys(
        &self,
        pipeline: &Pipeline,
        requested: &RequestedRevision,
        text: &str,
        most: usize,
    ) -> Result<Vec<String>> {
        let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
        let is_former = |key: &str| !revision.keys.contains(key) && key.to_lowercase().contains(text);
        self.changed_keys(pipeline, requested, &is_former, most)
    }

    /// Returns at most `most` of the keys that are wanted and that the commits up to a revision changed, as far as the
    /// index has them.
    fn changed_keys(
        &self,
        pipeline: &Pipeline,
        requested: &RequestedRevision,
        is_wanted: &dyn Fn(&str) -> bool,
        most: usize,
    ) -> Result<Vec<String>> {
        let index = self.workspace.history_index(pipeline.fleet.clone(), requested.branch.as_ref()).map_err(broken)?;
        let Some(index) = index else { return Ok(Vec::new()) };
        let by_commit = index.keys_by_commit(is_wanted);
        let mut found: BTreeSet<&Arc<str>> = BTreeSet::new();
        let commits = iter::once(Ok(requested.commit)).chain(self.workspace.repository.first_parents(requested.commit));
        // The walk ends where a shallow clone does.
        for commit in commits.map_while(std::result::Result::ok).take_while(|_| !by_commit.is_empty()) {
            found.extend(by_commit.get(&commit).into_iter().flatten());
            if found.len() >= most {
                break;
            }
        }
        Ok(found.into_iter().take(most).map(ToString::to_string).collect())
    }
}
