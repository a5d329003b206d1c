//! `--as-of`: the commit and the facts of a time.

use clap::Args;
use jiff::Timestamp;

use crate::app::Workspace;
use crate::cli::{Global, Result};
use crate::history::commits::Span;
use crate::pipeline::RevisionId;

/// The flag that goes back in time.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct AsOf {
    /// As of this date, in any form that git reads: at the last commit by then and, if a daemon has kept them, with the
    /// facts of that time
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

impl AsOf {
    /// Returns the repository with the facts of the time, and the last commit of a revision by then. Says on standard
    /// error which these are.
    pub(in crate::cli) fn at(
        &self,
        global: &Global,
        workspace: Workspace,
        revision: &str,
    ) -> Result<(Workspace, RevisionId)> {
        let point = workspace.point(revision)?;
        let Some(date) = &self.as_of else { return Ok((workspace, point)) };
        let RevisionId::Commit(tip) = point else {
            return Err("--as-of: the checked-out files are of now: name a commit or a branch".into());
        };
        let repository = &workspace.repository;
        let time = repository.date(date)?.ok_or_else(|| format!("--as-of: git reads no date in '{date}'"))?;
        let mut commits = Span { until: Some(time), ..Span::up_to(tip) }.commits(repository)?;
        let Some(step) = commits.next().transpose()? else {
            let shallow = if commits.is_cut { ", as far as this shallow clone goes" } else { "" };
            return Err(format!("--as-of: no commit of {revision} is as old as '{date}'{shallow}").into());
        };
        let (then, is_kept) = match workspace.with_facts_of(time) {
            Some(then) => (then, true),
            None => (workspace.clone(), false),
        };
        let facts = if is_kept { "with the facts of then" } else { "with the facts of today: none of then are kept" };
        let (id, time) = (step.commit.id.short(), Timestamp::from_second(time)?);
        global.progress.print(&format_args!("hierad: as of {time}: commit {id}, {facts}"));
        Ok((then, RevisionId::Commit(step.commit.id)))
    }
}
