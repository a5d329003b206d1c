//! `hierad nodes`: the nodes that answers are for, where their profiles come from, and what is missing in them.

mod check;
mod facts;
mod fetch;
mod list;
mod show;

use clap::{Args, Subcommand};

use super::arguments::inspection::Format;
use super::{Global, Result};
use crate::app::Workspace;
use crate::git::BranchName;
use crate::inventory::{FactNames, Inventory};
use crate::pipeline::{Pipeline, RevisionId};

/// Arguments of `nodes`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all nodes, with the age of their facts and where they come from; `nodes` alone does the same
    List(Output),
    /// Show every variable of a node, and where it comes from
    Show(show::Arguments),
    /// Ask all sources anew, and write one file with the facts that are read
    ///
    /// The file has one node per line, with only the facts and variables that hiera.yaml and data read, so it can be
    /// committed and named with --profiles. Facts that change by themselves, such as uptime, are left out where they
    /// are only part of what is read. Secrets are never written: texts under names such as `db_password`, and private
    /// keys.
    Fetch(fetch::Arguments),
    /// List profiles that lack a variable which hiera.yaml or data read, that are old, or that belong to no node
    Check(check::Arguments),
    /// Show which variables decide what nodes get, their values, and the levels of hiera.yaml with the nodes they serve
    Facts(facts::Arguments),
}

/// The format of an answer.
#[derive(Debug, Args)]
struct Output {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    match &arguments.action {
        None => list::run(global, Format::Text),
        Some(Action::List(output)) => list::run(global, output.format),
        Some(Action::Show(arguments)) => show::run(global, arguments),
        Some(Action::Fetch(arguments)) => fetch::run(global, arguments),
        Some(Action::Check(arguments)) => check::run(global, arguments),
        Some(Action::Facts(arguments)) => facts::run(global, arguments),
    }
}

/// Returns a pipeline for all nodes at a revision, and prints the errors of profiles.
fn pipeline(global: &Global, workspace: &Workspace, point: RevisionId) -> Result<Pipeline> {
    let branch = workspace.branch("HEAD")?;
    global.pipeline(workspace, branch.as_ref(), &[point], &|_| true)
}

/// Returns the sources of nodes for the checked-out branch.
fn inventory(workspace: &Workspace) -> Result<Inventory> {
    let branch = workspace.branch("HEAD")?;
    Ok(workspace.inventory(branch.as_ref().map(BranchName::as_str)))
}

/// Returns the facts that the last commit reads, so that sources are asked for them; none without a commit.
fn facts_of_head(workspace: &Workspace) -> FactNames {
    let Ok(head) = workspace.point("HEAD") else { return FactNames::default() };
    let referenced = workspace.revisions().referenced_variables(&[head], &workspace.workers);
    FactNames::of(&referenced.wanted())
}
