//! `hierad export`: snapshots on a git reference.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::output::log;
use super::{Global, Result, Status, render};
use crate::app::Workspace;
use crate::disk::FileMode;
use crate::event::CommitEvent;
use crate::git::{BranchName, PasswordPrompt, Repository};
use crate::pattern::{Pattern, any};
use crate::pipeline::RevisionId;
use crate::pipeline::export::events::{chain, one, since};
use crate::pipeline::export::{Exported, Exporter};
use crate::snapshot::history::{Last, reference};
use crate::snapshot::pushed::{Prepared, Pushed};

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The commit, or FROM..TO for each commit of TO that FROM does not have, by first parents
    ///
    /// Without any, exports each commit of the branch since the last snapshots, or its last commit if there are none
    /// yet. Existing snapshots are not changed, and none are added for earlier commits: the effect of other profiles
    /// or settings shows with the next commit.
    #[arg(value_name = "REV | FROM..TO")]
    revision: Option<String>,
    /// The branch [default: the current one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Write to a folder, as `render` does, instead of the reference
    #[arg(long, short, value_name = "DIR", conflicts_with = "push")]
    output: Option<PathBuf>,
    /// The permissions of the files in a folder, in octal: 0644 lets all users of the machine read them
    #[arg(long, value_name = "MODE", default_value = "0600", value_parser = render::mode)]
    mode: FileMode,
    /// Push the reference afterwards, with the user's git
    #[arg(long, value_name = "REMOTE")]
    push: Option<String>,
    /// Only these nodes; new commits have no files of others: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    node: Vec<Pattern>,
    /// Export even commits of which nothing can be read
    #[arg(long)]
    allow_blind: bool,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let branch = match &arguments.branch {
        Some(name) => BranchName::new(name),
        None => workspace.repository.branch()?.ok_or("no branch is checked out; name one with --branch")?,
    };
    if let Some(folder) = &arguments.output {
        let revision = arguments.revision.clone().unwrap_or_else(|| branch.reference());
        let folder = (folder.clone(), arguments.mode);
        let arguments = render::Arguments::of_folder(revision, folder, arguments.node.clone(), arguments.allow_blind);
        return render::render(global, &workspace, Some(&branch), &arguments);
    }
    if global.show_secrets {
        return Err("git keeps what was committed: --show-secrets needs --output".into());
    }
    let remote = arguments.push.as_deref().map(|name| workspace.repository.remote(name, PasswordPrompt::User));
    let pushed = remote.as_ref().map(|remote| Pushed::new(&workspace.repository, remote));
    let prepared = pushed.map(|pushed| pushed.prepare(&branch)).transpose()?;
    let events = events(&workspace.repository, &branch, arguments.revision.as_deref())?;
    let last_from_remote =
        if prepared == Some(Prepared::Taken) { Last::of(&workspace.repository, &branch)? } else { None };
    let exported = export(global, &workspace, &branch, (last_from_remote, &events), arguments)?;
    if let Some((commit, spot)) = exported.skipped.first() {
        let count = match exported.skipped.len() {
            1 => format!("commit {} is left out", commit.short()),
            count => format!("{count} commits are left out, the first of them {}", commit.short()),
        };
        let fix = spot.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
        log::print(&format_args!("hierad: warning: {count}: {}{fix}; --allow-blind exports it anyway", spot.message));
    }
    if exported.commits.is_empty() && !exported.skipped.is_empty() {
        return Err("nothing was exported: nothing of these commits could be read".into());
    }
    log::print(&summary(&exported, &reference(&branch)));
    if let (Some(pushed), Some(name)) = (pushed, &arguments.push) {
        pushed.push(&branch)?;
        log::print(&format_args!("{} pushed to {name}", reference(&branch)));
    }
    exported.files.fault().map_or(Ok(Status::Done), |fault| Err(fault.into()))
}

fn export(
    global: &Global,
    workspace: &Workspace,
    branch: &BranchName,
    (last_from_remote, events): (Option<Last>, &[CommitEvent]),
    arguments: &Arguments,
) -> Result<Exported> {
    let last = events.last().map(|event| event.after).or(last_from_remote.map(|last| last.source));
    let Some(last) = last else { return Ok(Exported::default()) };
    let progress = global.show_progress(workspace);
    let pipeline = global
        .pipeline(workspace, Some(branch), &[RevisionId::Commit(last)], &|name: &str| any(&arguments.node, name))?;
    let mut exporter = Exporter::new(Arc::new(pipeline)).allow_unreadable(arguments.allow_blind);
    let mut done = if last_from_remote.is_some() { exporter.renew(branch)? } else { Exported::default() };
    done += exporter.export_all(branch, events)?;
    drop(progress);
    workspace.save();
    Ok(done)
}

fn summary(exported: &Exported, reference: &str) -> String {
    let files = &exported.files;
    match exported.commits.len() {
        0 => format!("{reference} has these snapshots already"),
        1 => format!("1 commit on {reference}: {} files written, {} removed", files.changed, files.removed),
        count => format!("{count} commits on {reference}: {} files written, {} removed", files.changed, files.removed),
    }
}

/// Returns the commits that the revision argument means.
fn events(repository: &Repository, branch: &BranchName, revision: Option<&str>) -> Result<Vec<CommitEvent>> {
    match revision.map(|text| (text, text.split_once(".."))) {
        Some((text, Some((_, to)))) if to.starts_with('.') => {
            Err(format!("{text}: use two dots, FROM..TO, for the commits of one branch").into())
        }
        Some((_, Some((from, to)))) => {
            let commit = |text: &str| match text {
                "" => repository.resolve(&branch.reference()),
                _ => repository.resolve(text),
            };
            Ok(chain(repository, branch, commit(from)?, commit(to)?)?)
        }
        Some((text, None)) => Ok(one(repository, branch, repository.resolve(text)?)?),
        None => {
            let tip = repository.tip(branch)?.ok_or_else(|| format!("there is no branch '{branch}' with a commit"))?;
            Ok(since(repository, branch, Last::of(repository, branch)?, tip)?)
        }
    }
}
