//! `hierad render`: the effective values of every node at one revision.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::arguments::as_of::AsOf;
use super::arguments::filter;
use super::arguments::what_if::WhatIf;
use super::diff::blind;
use super::output::log;
use super::progress::{Progress, Shown};
#[cfg(feature = "tables")]
use super::tables;
use super::{Global, PARQUET, Result, Status, WITHOUT_TABLES, output};
use crate::app::Workspace;
use crate::disk::{self, FileMode, ModeError};
use crate::git::BranchName;
use crate::hiera::key::any_matches;
use crate::pattern::{Pattern, any};
use crate::pipeline::render::Rendered;
use crate::pipeline::{Pipeline, RevisionId};
use crate::report::BlindSpot;
use crate::snapshot::{Format, Written};
#[cfg(feature = "tables")]
use crate::tables::values::{self, Values};
use crate::visible::visible;

/// Arguments of `render`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = form())]
    format: Form,
    /// The output: - for standard output, or a folder for a file for each node and manifest.json; with parquet, a file
    ///
    /// Unchanged files are not touched, and manifest.json is written last. Files that only the former manifest.json
    /// names, such as those of nodes that are gone, are removed; other files are left alone.
    #[arg(long, short, value_name = "DIR|FILE|-", default_value = "-")]
    output: PathBuf,
    /// The permissions of the written files, in octal: 0644 lets all users of the machine read them
    #[arg(long, value_name = "MODE", default_value = "0600", value_parser = mode)]
    mode: FileMode,
    /// Only these nodes: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    node: Vec<Pattern>,
    /// Only these keys: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    key: Vec<Pattern>,
    /// Write snapshots even if nothing can be read
    #[arg(long)]
    allow_blind: bool,
    #[command(flatten)]
    as_of: AsOf,
    #[command(flatten)]
    what_if: WhatIf,
}

/// The form of the values.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A snapshot of each node.
    Snapshots(Format),
    /// One table of all nodes.
    #[cfg(feature = "tables")]
    Parquet,
}

/// Returns a parser for the names of forms.
fn form() -> impl TypedValueParser<Value = Form> {
    let names = Format::ALL.map(Format::name).into_iter().chain([PARQUET]);
    PossibleValuesParser::new(names.map(PossibleValue::new)).try_map(|name| {
        #[cfg(feature = "tables")]
        if name == PARQUET {
            return Ok(Form::Parquet);
        }
        Format::ALL.into_iter().find(|format| format.name() == name).map(Form::Snapshots).ok_or(WITHOUT_TABLES)
    })
}

impl Arguments {
    /// Returns the arguments for snapshots of all keys in a folder.
    pub(super) fn of_folder(
        revision: String,
        (output, mode): (PathBuf, FileMode),
        node: Vec<Pattern>,
        allow_blind: bool,
    ) -> Arguments {
        Arguments {
            revision,
            format: Form::Snapshots(Format::Json),
            output,
            mode,
            node,
            key: Vec::new(),
            allow_blind,
            as_of: AsOf::default(),
            what_if: WhatIf::default(),
        }
    }
}

/// Parses the permissions of files.
pub(super) fn mode(text: &str) -> std::result::Result<FileMode, String> {
    text.parse().map_err(|error: ModeError| error.to_string())
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = arguments.what_if.open(global)?;
    let branch = workspace.branch(&arguments.revision)?;
    render(global, &workspace, branch.as_ref(), arguments)
}

/// Writes the values that nodes get if `branch` is deployed.
pub(super) fn render(
    global: &Global,
    workspace: &Workspace,
    branch: Option<&BranchName>,
    arguments: &Arguments,
) -> Result {
    #[cfg(feature = "tables")]
    if let Form::Parquet = arguments.format {
        tables::check(&arguments.output)?;
    }
    let (workspace, point) = &arguments.as_of.at(global, workspace.clone(), &arguments.revision)?;
    let (progress, point) = (global.show_progress(workspace), *point);
    let pipeline = global.pipeline(workspace, branch, &[point], &|name: &str| any(&arguments.node, name))?;
    let revision = pipeline.revision(point)?;
    if revision.keys.is_empty() {
        global.progress.print(&"hierad: warning: no data file gives a value to any key; see `hierad check`");
    }
    if let Some(spot) = pipeline.unreadable(&revision).filter(|_| !arguments.allow_blind) {
        return Err(blind(Some(&spot)));
    }
    filter::matches_a_key(&arguments.key, &revision.keys)?;
    let keys = revision.keys.iter().filter(|key| any_matches(&arguments.key, key)).cloned().collect();
    match arguments.format {
        Form::Snapshots(format) => {
            let rendered = pipeline.snapshots(point, &revision, &keys, format);
            workspace.save();
            warn(&global.progress, &rendered.blind_spots);
            write_snapshots(&pipeline, point, &rendered, arguments, progress)
        }
        #[cfg(feature = "tables")]
        Form::Parquet => {
            let effective = pipeline.effective(&revision, &keys);
            let spots = pipeline.blind_spots_of(point, &revision, &effective);
            workspace.save();
            warn(&global.progress, &spots);
            let (commit, branch) = (pipeline.commit(point)?, workspace.branch_name(&arguments.revision));
            let values = Values {
                revision: &revision,
                effective: &effective,
                commit: commit.as_ref(),
                branch: branch.as_ref().map(BranchName::as_str),
                manifest: pipeline.manifest(point, keys.len(), &spots),
                disclosure: &pipeline.disclosure,
            };
            tables::write(&arguments.output, arguments.mode, progress, |file| {
                let rows = values::write(&values, file, &pipeline.workers)?;
                pipeline.fleet_has_stayed()?;
                Ok((rows, ()))
            })?;
            Ok(Status::Done)
        }
    }
}

/// Writes snapshots to standard output or to a folder.
fn write_snapshots(
    pipeline: &Pipeline,
    point: RevisionId,
    rendered: &Rendered<'_>,
    arguments: &Arguments,
    progress: Option<Shown>,
) -> Result {
    if arguments.output.as_os_str() == "-" {
        drop(progress);
        let mut out = output::stdout();
        rendered.snapshots.write(&mut out)?;
        out.flush()?;
        return Ok(Status::Done);
    }
    let folder = &arguments.output;
    disk::check_output(folder)?;
    let written = pipeline.write_folder(point, rendered, folder, arguments.mode)?;
    drop(progress);
    let nodes = pipeline.fleet.len() - written.without_file.len();
    let Written { changed, removed, .. } = written;
    let count = if nodes == 1 { "1 snapshot".to_owned() } else { format!("{nodes} snapshots") };
    log::print(&format_args!("{count} in {}: {changed} written, {removed} removed", folder.display()));
    written.fault().map_or(Ok(Status::Done), |fault| Err(fault.into()))
}

/// The codes of blind spots that were printed before.
const PRINTED_EARLIER: [&str; 2] = ["profile-left-out", "refused-setting"];

/// The maximum number of blind spots that are shown one by one.
const MAX_WARNINGS: usize = 3;

/// Warns of blind spots, except for left-out profiles and refused settings, which were printed when they were read.
fn warn(progress: &Progress, spots: &[BlindSpot]) {
    let spots: Vec<&BlindSpot> = spots.iter().filter(|spot| !PRINTED_EARLIER.contains(&spot.code)).collect();
    for spot in spots.iter().take(MAX_WARNINGS) {
        progress.print(&format_args!("hierad: warning: {}", visible(&spot.message)));
    }
    if let Some(more @ 1..) = spots.len().checked_sub(MAX_WARNINGS) {
        progress.print(&format_args!("hierad: warning: and {more} more; see `hierad check`"));
    }
}
