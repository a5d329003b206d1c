//! `hierad log`, `blame` and `bisect`: which commits changed a value, and since when it is what it is.

pub(super) mod bisect;
pub(super) mod blame;
pub(super) mod log;
mod span;

use std::sync::Arc;

use crate::app::Workspace;
use crate::cli::arguments::filter::matches_a_key;
use crate::cli::{Global, Result, output};
use crate::git::{BranchName, CommitId};
use crate::history::History;
use crate::history::commits::{Commits, Span};
use crate::history::index::Index;
use crate::pattern::Pattern;
use crate::pipeline::{Pipeline, RevisionId};
use crate::report::count;

use span::SpanArguments;

/// The repository, the nodes and the commits that a command is about.
struct Asked {
    workspace: Workspace,
    branch: Option<BranchName>,
    pipeline: Pipeline,
    span: Span,
    index: Option<Index>,
}

impl Asked {
    /// Opens the repository, and reads the nodes as its last commit has them.
    fn open(global: &Global, workspace: Workspace, span: &SpanArguments, range: Option<&str>) -> Result<Asked> {
        let branch = workspace.branch(span.tip_name(range))?;
        let span = span.span(&workspace, range)?;
        let pipeline = global.pipeline(&workspace, branch.as_ref(), &[RevisionId::Commit(span.tip)], &|_| true)?;
        let index = workspace.history_index(Arc::clone(&pipeline.fleet), branch.as_ref())?;
        Ok(Asked { workspace, branch, pipeline, span, index })
    }

    fn tip(&self) -> CommitId {
        self.span.tip
    }

    /// Says on standard error if not all values can be seen, so that commits may have changed some unseen.
    fn tell_unseen(&self) -> Result<()> {
        let spots = self.pipeline.unseen_at(RevisionId::Commit(self.span.tip))?;
        let Some(first) = spots.first() else { return Ok(()) };
        let more = match spots.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", count(more, "more blind spot")),
        };
        let headline = &first.headline;
        output::log::print(&format_args!("hierad: not all can be seen: {headline}{more}; `hierad check` tells more"));
        Ok(())
    }

    /// Says on standard error if a shallow clone lacks the commits before those that were looked at.
    fn tell_cut(is_cut: bool) {
        if is_cut {
            output::log::print(
                &"hierad: the history ends there, as the clone is shallow; `git fetch --unshallow` fetches the rest",
            );
        }
    }

    /// Fails if no key of the last commit matches, and says so if a pattern is a revision instead.
    fn check_keys(&self, keys: &[Pattern]) -> Result<()> {
        let known = self.pipeline.keys(&[RevisionId::Commit(self.span.tip)])?;
        matches_a_key(keys, &known).map_err(|error| {
            let revision = keys.iter().find(|key| self.workspace.repository.resolve(key.as_str()).is_ok());
            revision.map_or(error, |name| {
                let name = name.as_str();
                format!("{name} is a revision and no key: write --rev {name}, or A..B for several commits").into()
            })
        })
    }

    /// Returns the history, and the commits to look through.
    fn history(&mut self) -> Result<(History<'_>, Commits<'_>)> {
        let history = History::new(&self.pipeline, self.span.tip, self.index.take())?;
        Ok((history, self.span.clone().commits(&self.workspace.repository)?))
    }
}
