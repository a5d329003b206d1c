//! `hierad log`: the commits that changed keys, as `git log` shows those that changed files.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use regex::Regex;

use super::Asked;
use super::span::{SpanArguments, divided};
use crate::app::Workspace;
use crate::cli::arguments::filter::matches_a_node;
use crate::cli::diff::style;
use crate::cli::output::pager::Paged;
#[cfg(feature = "tables")]
use crate::cli::tables;
use crate::cli::{Global, PARQUET, Result, Status, WITHOUT_TABLES, bound, output};
#[cfg(feature = "tables")]
use crate::disk::FileMode;
#[cfg(feature = "tables")]
use crate::git::BranchName;
use crate::git::CommitId;
use crate::hiera::key::any_matches;
use crate::history::Query;
use crate::history::needle::Needle;
use crate::pattern::{Pattern, any};
use crate::pipeline::DiffFilter;
use crate::process::lower_priority;
use crate::report::writers::{json, text};
use crate::report::{Report, count};
#[cfg(feature = "tables")]
use crate::tables::events::Events;

/// The approximate number of lines of an entry, unless values are shown in full.
const ENTRY_LINES: usize = 24;

/// Arguments of `log`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of git log")]
pub(in crate::cli) struct Arguments {
    /// The keys, each a name, a glob or re:EXPRESSION [default: all], and the commits: A..B, or those up to --rev
    #[arg(value_name = "KEY|A..B")]
    words: Vec<String>,
    /// Only these nodes: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    node: Vec<Pattern>,
    #[command(flatten)]
    span: SpanArguments,
    /// Only commits of authors whose `Name <address>` this expression matches
    #[arg(long, value_name = "REGEX")]
    author: Option<Regex>,
    /// The maximum number of entries: the newest ones
    #[arg(short = 'n', long, value_name = "N", visible_alias = "max-count")]
    number: Option<usize>,
    /// Show the oldest first
    #[arg(long)]
    reverse: bool,
    /// Show values in full
    #[arg(short, long)]
    patch: bool,
    /// Show each commit on one line
    #[arg(long, conflicts_with = "patch")]
    oneline: bool,
    /// Only changes by which this text comes into a value, or leaves one
    #[arg(short = 'S', value_name = "TEXT", conflicts_with = "grep")]
    search: Option<String>,
    /// Only changes in which something that differs matches this expression
    #[arg(short = 'G', value_name = "REGEX", id = "grep")]
    grep: Option<Regex>,
    /// Output format: json is a list of reports as `diff` has them, ndjson has one on each line, parquet is a table
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format())]
    format: Format,
    /// The file of the table
    #[arg(long, short, value_name = "FILE", required_if_eq("format", PARQUET))]
    output: Option<PathBuf>,
    /// Follow first parents only, as is done anyway
    #[arg(long, hide = true)]
    first_parent: bool,
    /// Only add the commits to the index; for the daemon
    #[arg(long, hide = true)]
    index_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Ndjson,
    #[cfg(feature = "tables")]
    Parquet,
}

/// Returns a parser for the names of formats.
fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "json", "ndjson", PARQUET]).try_map(|name| match &*name {
        "json" => Ok(Format::Json),
        "ndjson" => Ok(Format::Ndjson),
        #[cfg(feature = "tables")]
        PARQUET => Ok(Format::Parquet),
        "text" => Ok(Format::Text),
        _ => Err(WITHOUT_TABLES),
    })
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    if arguments.output.is_some() && matches!(arguments.format, Format::Text | Format::Json | Format::Ndjson) {
        return Err(format!("--output names the file of a table: add --format {PARQUET}").into());
    }
    let (keys, range) = divided(&arguments.words)?;
    if arguments.index_only {
        lower_priority();
        bound::end_first();
    }
    let workspace = global.open()?;
    let mut progress = Some(global.show_progress(&workspace));
    let mut asked = Asked::open(global, workspace, &arguments.span, range)?;
    if arguments.index_only {
        return index(&mut asked);
    }
    matches_a_node(&arguments.node, &asked.pipeline.fleet)?;
    let filter =
        DiffFilter { key: &|key| any_matches(&keys, key), node: &|name| any(&arguments.node, name), paths: &[] };
    let is_of_all = keys.is_empty() && arguments.node.is_empty();
    let query = Query { filter, is_of_all, needle: arguments.needle() };
    asked.span.author.clone_from(&arguments.author);
    #[cfg(feature = "tables")]
    if let (Format::Parquet, Some(output)) = (arguments.format, &arguments.output) {
        tables::check(output)?;
        let branch = asked.workspace.branch_name(arguments.span.tip_name(range));
        let branch = branch.as_ref().map(BranchName::as_str);
        let walked = tables::write(output, FileMode::PRIVATE, progress.flatten(), |file| {
            let workers = asked.pipeline.workers.clone();
            let mut events = Events::new(file, branch, &workers)?;
            let walked = walk(&mut asked, arguments, &query, |report| Ok(events.add(report)?))?;
            Ok((events.finish()?, walked))
        })?;
        return finish(&asked, &keys, arguments, &walked);
    }
    let mut entries = Entries::new(arguments, &asked.workspace, global)?;
    let walked = walk(&mut asked, arguments, &query, |report| {
        progress.take();
        entries.write(report)
    })?;
    drop(progress);
    entries.finish()?;
    finish(&asked, &keys, arguments, &walked)
}

/// The commits that were looked at.
struct Walked {
    looked_at: usize,
    found: usize,
    /// See [`Commits::is_cut`](crate::history::commits::Commits::is_cut).
    is_cut: bool,
    /// See [`History::masked`](crate::history::History::masked).
    masked: Vec<CommitId>,
}

/// Gives the entries that are asked for to `write`, in their order.
fn walk(
    asked: &mut Asked,
    arguments: &Arguments,
    query: &Query<'_>,
    mut write: impl FnMut(&Report) -> Result<()>,
) -> Result<Walked> {
    let facts = asked.workspace.facts_history(asked.branch.as_ref(), &asked.span);
    let (mut history, mut commits) = asked.history()?;
    let most = arguments.number.unwrap_or(usize::MAX);
    // Those to come are needed only if the last of them is written first.
    let (mut kept, mut looked_at, mut found) = (Vec::new(), 0_usize, 0_usize);
    while found < most {
        let Some(step) = commits.next().transpose()? else { break };
        looked_at += 1;
        let mut reports = facts.after(step.commit.id, query)?;
        reports.extend(history.report(&step, query)?);
        for report in reports.into_iter().take(most - found) {
            found += 1;
            if arguments.reverse {
                kept.push(report);
            } else {
                write(&report)?;
            }
        }
    }
    kept.iter().rev().try_for_each(write)?;
    Ok(Walked { looked_at, found, is_cut: commits.is_cut, masked: history.masked })
}

/// Keeps what was found for the next run, and says what may be missing.
fn finish(asked: &Asked, keys: &[Pattern], arguments: &Arguments, walked: &Walked) -> Result {
    asked.workspace.save();
    if walked.found == 0 {
        none_found(asked, keys, (arguments, walked.looked_at))?;
    }
    Asked::tell_cut(walked.is_cut);
    tell_masked(&walked.masked);
    if arguments.format == Format::Text {
        asked.tell_unseen()?;
    }
    Ok(Status::Done)
}

/// Adds all commits to the index, unless it turns out to keep few.
fn index(asked: &mut Asked) -> Result {
    let (mut history, commits) = asked.history()?;
    let mut misses = 0;
    for step in commits {
        misses = if history.keep(&step?)? { 0 } else { misses + 1 };
        if misses > MAX_MISSES {
            break;
        }
    }
    Ok(Status::Done)
}

/// The number of commits in a row that are compared in vain.
const MAX_MISSES: usize = 20;

impl Arguments {
    fn needle(&self) -> Option<Needle> {
        let text = self.search.clone().map(Needle::Text);
        text.or_else(|| self.grep.clone().map(Needle::Pattern))
    }
}

/// Says that no commit was found. Fails if no key of the last commit matches, since the name may be wrong.
fn none_found(asked: &Asked, keys: &[Pattern], (arguments, looked_at): (&Arguments, usize)) -> Result<()> {
    asked.check_keys(keys)?;
    if arguments.format == Format::Text {
        let of = if looked_at == 0 { "there is no such commit" } else { "no commit changes that" };
        output::log::print(&format_args!("hierad: {of}"));
    }
    Ok(())
}

/// Says on standard error which commits may have changed values unseen, since they fail before and after.
fn tell_masked(commits: &[CommitId]) {
    let Some(first) = commits.first() else { return };
    let (number, first) = (count(commits.len(), "commit"), first.short());
    output::log::print(&format_args!(
        "hierad: {number} may change values that fail before and after, such as {first}: `hierad diff {first}~ {first}`"
    ));
}

/// Writes entries as they are found.
struct Entries {
    out: Paged,
    format: Format,
    oneline: bool,
    text: text::Options,
    count: usize,
}

impl Entries {
    fn new(arguments: &Arguments, workspace: &Workspace, global: &Global) -> Result<Entries> {
        let format = arguments.format;
        let mut out = Paged::of(format == Format::Text, workspace, global);
        if format == Format::Json {
            out.write_all(b"[")?;
        }
        let text = text::Options { full: arguments.patch, lines: Some(ENTRY_LINES), ..style(global, None).text };
        Ok(Entries { out, format, oneline: arguments.oneline, text, count: 0 })
    }

    fn write(&mut self, report: &Report) -> Result<()> {
        let is_first = self.count == 0;
        self.count += 1;
        match self.format {
            Format::Text if self.oneline => text::entry::write_line(report, self.text, &mut self.out)?,
            Format::Text => {
                if !is_first {
                    writeln!(self.out)?;
                }
                text::entry::write(report, self.text, &mut self.out)?;
            }
            // A table is not written entry by entry.
            _ => {
                if self.format == Format::Json {
                    self.out.write_all(if is_first { b"\n" } else { b",\n" })?;
                }
                json::write(report, json::Options { pretty: false, full: self.text.full }, &mut self.out)?;
            }
        }
        Ok(self.out.flush()?)
    }

    /// Ends the output.
    fn finish(mut self) -> Result<()> {
        if self.format == Format::Json {
            self.out.write_all(b"]\n")?;
        }
        Ok(self.out.finish()?)
    }
}
