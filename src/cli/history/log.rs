//! `hierad log`: the commits that changed keys, as `git log` shows those that changed files.

use std::io::Write;

use clap::{Args, ValueEnum};
use regex::Regex;

use super::Asked;
use super::span::{SpanArguments, divided};
use crate::app::Workspace;
use crate::cli::arguments::filter::{matches_a_key, matches_a_node};
use crate::cli::diff::style;
use crate::cli::output::pager::Paged;
use crate::cli::{Global, Result, Status, output};
use crate::hiera::key::any_matches;
use crate::history::Query;
use crate::history::needle::Needle;
use crate::pattern::{Pattern, any};
use crate::pipeline::{DiffFilter, RevisionId};
use crate::report::Report;
use crate::report::writers::{json, text};

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
    /// The maximum number of entries
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
    /// Output format: with json a list of reports as `diff` has them, with ndjson one on each line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Follow first parents only, as is done anyway
    #[arg(long, hide = true)]
    first_parent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Ndjson,
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    let (keys, range) = divided(&arguments.words)?;
    let workspace = global.open()?;
    let mut progress = Some(global.show_progress(&workspace));
    let mut asked = Asked::open(global, workspace, &arguments.span, range)?;
    matches_a_node(&arguments.node, &asked.pipeline.fleet)?;
    let filter =
        DiffFilter { key: &|key| any_matches(&keys, key), node: &|name| any(&arguments.node, name), paths: &[] };
    let is_of_all = keys.is_empty() && arguments.node.is_empty();
    let query = Query { filter, is_of_all, needle: arguments.needle() };
    let mut entries = Entries::new(arguments, &asked.workspace, global)?;
    let (mut history, mut commits) = asked.history()?;
    let mut steps: Box<dyn Iterator<Item = _>> = if arguments.reverse {
        let all: Vec<_> = commits.by_ref().collect();
        Box::new(all.into_iter().rev())
    } else {
        Box::new(commits.by_ref())
    };
    while entries.count < arguments.number.unwrap_or(usize::MAX) {
        let Some(step) = steps.next() else { break };
        if let Some(report) = history.report(&step?, &query)? {
            progress.take();
            entries.write(&report)?;
        }
    }
    drop((steps, progress, history));
    let (count, is_cut) = (entries.finish()?, commits.is_cut);
    drop(commits);
    asked.workspace.save();
    if count == 0 {
        none_found(&asked, &keys, arguments)?;
    }
    if is_cut {
        output::log::print(
            &"hierad: the history ends there, as the clone is shallow; `git fetch --unshallow` fetches the rest",
        );
    }
    Ok(Status::Done)
}

impl Arguments {
    fn needle(&self) -> Option<Needle> {
        let text = self.search.clone().map(Needle::Text);
        text.or_else(|| self.grep.clone().map(Needle::Pattern))
    }
}

/// Says that no commit was found. Fails if no key of the last commit matches, since the name may be wrong.
fn none_found(asked: &Asked, keys: &[Pattern], arguments: &Arguments) -> Result<()> {
    matches_a_key(keys, &asked.pipeline.keys(&[RevisionId::Commit(asked.tip())])?)?;
    if arguments.format == Format::Text {
        output::log::print(&"hierad: no commit changes that");
        asked.tell_unseen()?;
    }
    Ok(())
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
            Format::Json | Format::Ndjson => {
                if self.format == Format::Json {
                    self.out.write_all(if is_first { b"\n" } else { b",\n" })?;
                }
                json::write(report, json::Options { pretty: false, full: self.text.full }, &mut self.out)?;
            }
        }
        Ok(self.out.flush()?)
    }

    /// Ends the output, and returns the number of entries.
    fn finish(mut self) -> Result<usize> {
        if self.format == Format::Json {
            self.out.write_all(b"]\n")?;
        }
        self.out.finish()?;
        Ok(self.count)
    }
}
