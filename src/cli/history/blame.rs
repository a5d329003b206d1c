//! `hierad blame`: the commit that made each part of the present values what it is.

use std::collections::HashSet;
use std::io::Write;

use clap::{Args, ValueEnum};

use super::Asked;
use super::span::{SpanArguments, divided};
use crate::cli::arguments::filter::matches_a_node;
use crate::cli::output::pager::Paged;
use crate::cli::output::{NEW, QUIET, painted};
use crate::cli::{Global, Result, Status, output};
use crate::fleet::Fleet;
use crate::hiera::key::any_matches;
use crate::history::blame::BlamedPart;
use crate::pattern::{Pattern, any};
use crate::pipeline::DiffFilter;
use crate::puppet::json::compact;
use crate::report::{author_name, count, day, shorten};
use crate::visible::visible;

/// The maximum widths of the columns of authors, of names of nodes, and of places.
const AUTHOR_COLUMNS: usize = 20;
const NODE_COLUMNS: usize = 30;
const PLACE_COLUMNS: usize = 40;

/// Arguments of `blame`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The keys, each a name, a glob or re:EXPRESSION [default: all, if nodes are named], and the commits to look
    /// through: A..B, or all those up to --rev
    #[arg(value_name = "KEY|A..B", required_unless_present = "node")]
    words: Vec<String>,
    /// Only these nodes: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    node: Vec<Pattern>,
    #[command(flatten)]
    span: SpanArguments,
    /// Write each commit's lines for programs, in the manner of `git blame --porcelain`
    #[arg(long, conflicts_with = "format")]
    porcelain: bool,
    /// Output format; ndjson has a part of a value on each line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Ndjson,
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    let (keys, range) = divided(&arguments.words)?;
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let mut asked = Asked::open(global, workspace, &arguments.span, range)?;
    let tip = asked.tip();
    matches_a_node(&arguments.node, &asked.pipeline.fleet)?;
    asked.check_keys(&keys)?;
    let filter =
        DiffFilter { key: &|key| any_matches(&keys, key), node: &|name| any(&arguments.node, name), paths: &[] };
    let nodes = asked.pipeline.chosen_nodes(&filter).len();
    let (mut history, mut commits) = asked.history()?;
    let parts = history.blame(tip, &mut commits, &filter, usize::MAX)?;
    let is_cut = commits.is_cut;
    drop((progress, history, commits));
    let is_text = arguments.format == Format::Text && !arguments.porcelain;
    let mut out = Paged::of(is_text, &asked.workspace, global);
    let page = Page { fleet: &asked.pipeline.fleet, asked: nodes, color: output::color(global) };
    match arguments.format {
        Format::Ndjson => page.json(&parts, &mut out)?,
        Format::Text if arguments.porcelain => porcelain(&parts, &mut out)?,
        Format::Text => page.text(&parts, &mut out)?,
    }
    out.finish()?;
    asked.workspace.save();
    Asked::tell_cut(is_cut);
    if parts.is_empty() {
        output::log::print(&"hierad: there is no value to blame on anybody");
    }
    if is_text {
        asked.tell_unseen()?;
    }
    Ok(Status::Done)
}

/// The layout of the answer.
struct Page<'a> {
    fleet: &'a Fleet,
    /// The number of nodes asked for.
    asked: usize,
    color: bool,
}

impl Page<'_> {
    fn text(&self, parts: &[BlamedPart], out: &mut dyn Write) -> std::io::Result<()> {
        let widest = |of: &dyn Fn(&BlamedPart) -> String, most: usize| {
            parts.iter().map(|part| of(part).chars().count()).max().unwrap_or(0).min(most)
        };
        let authors = widest(&author, AUTHOR_COLUMNS);
        let nodes = widest(&|part| self.nodes(part), NODE_COLUMNS);
        let places = widest(&place, PLACE_COLUMNS);
        for part in parts {
            let mark = if part.is_boundary { "^" } else { "" };
            let id: String = format!("{mark}{}", part.commit.id).chars().take(8).collect();
            let author = shorten(&author(part), authors);
            let time = part.commit.time.to_string();
            let nodes = if self.asked > 1 { format!("{:nodes$}  ", self.nodes(part)) } else { String::new() };
            let about = format!("({author:authors$} {}) {nodes}{:places$}", day(&time), place(part));
            let head = painted(self.color, NEW, &id);
            let about = painted(self.color, QUIET, &visible(&about));
            writeln!(out, "{head} {about}  {}", visible(&format!("{}: {}", part.path.below(&part.key), value(part))))?;
        }
        Ok(())
    }

    /// Returns words for the nodes of a part: a name, or how many of those asked for.
    fn nodes(&self, part: &BlamedPart) -> String {
        match part.nodes.first() {
            Some(only) if part.nodes.is_singleton() => self.fleet.name(only).to_string(),
            _ if part.nodes.len() == self.asked => "all nodes".to_owned(),
            _ => count(part.nodes.len(), "node"),
        }
    }

    fn json(&self, parts: &[BlamedPart], out: &mut dyn Write) -> std::io::Result<()> {
        parts.iter().try_for_each(|part| writeln!(out, "{}", part.to_json(self.fleet)?))
    }
}

/// Writes the parts as `git blame --porcelain` writes lines: what is known of a commit stands where it is first
/// met.
fn porcelain(parts: &[BlamedPart], out: &mut dyn Write) -> std::io::Result<()> {
    let mut met = HashSet::new();
    for part in parts {
        let commit = &part.commit;
        writeln!(out, "{} {}", commit.id, part.nodes.len())?;
        if met.insert(commit.id) {
            let (name, mail) = commit.author.rsplit_once(" <").unwrap_or((&commit.author, ""));
            writeln!(out, "author {}\nauthor-mail <{}", visible(name), visible(mail))?;
            writeln!(out, "author-time {}\nsummary {}", commit.time.seconds, visible(&commit.summary))?;
        }
        if part.is_boundary {
            writeln!(out, "boundary")?;
        }
        if let Some(origin) = &part.origin {
            writeln!(out, "filename {}", visible(&origin.place.path))?;
            if let Some(line) = origin.place.line {
                writeln!(out, "line {line}")?;
            }
        }
        writeln!(out, "\t{}", visible(&format!("{}: {}", part.path.below(&part.key), value(part))))?;
    }
    Ok(())
}

fn author(part: &BlamedPart) -> String {
    author_name(&part.commit.author).to_owned()
}

fn place(part: &BlamedPart) -> String {
    part.origin.as_ref().map(|origin| origin.place.to_string()).unwrap_or_default()
}

fn value(part: &BlamedPart) -> String {
    match &part.value {
        Ok(value) if part.varies => format!("{} (differs between nodes)", compact(value)),
        Ok(value) => compact(value),
        Err(error) => format!("fails: {}", error.text.visible()),
    }
}
