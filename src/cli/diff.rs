//! `hierad diff`: what changes in effective values between two revisions.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::context::Context;
use super::{Global, Result, Status, output};
use crate::git::Repository;
use crate::hiera::LookupError;
use crate::pattern::{Pattern, any};
use crate::pipeline::{Compared, Point};
use crate::report::{Report, json, markdown, text};

/// Arguments of `diff`.
#[derive(Debug, Default, Args)]
pub(super) struct Arguments {
    /// From which revision, or FROM..TO, or FROM...TO for what TO changes since it left FROM
    ///
    /// Without any, what the last commit changes. '.' is the checked-out files, committed or not; alone, it shows what they
    /// change since the last commit.
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// To which revision [default: HEAD]
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// How to write
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Only these nodes: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    node: Vec<Pattern>,
    /// Only these keys: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    key: Vec<Pattern>,
    /// Exit with status 2 if there are differences
    #[arg(long)]
    exit_code: bool,
    /// Shorten nothing in the text form
    #[arg(long)]
    full: bool,
    /// The most characters in the Markdown form
    #[arg(long, value_name = "CHARACTERS")]
    budget: Option<usize>,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
    Markdown,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let context = Context::open(global)?;
    let progress = context.show_progress();
    let (before, after) = revisions(&context, arguments)?;
    let branch = context.branch()?;
    let pipeline = context.pipeline_for(branch.as_ref(), &[before, after], &|name: &str| any(&arguments.node, name))?;
    let Compared { report, unseen, effective: _effective } =
        pipeline.diff(before, after, &|key| any(&arguments.key, key))?;
    drop(progress);
    let mut out = output::stdout();
    let style = Style { full: arguments.full, budget: arguments.budget, pretty: false };
    write(&report, arguments.format, global, style, &mut out)?;
    out.flush()?;
    context.save();
    if let Some(warning) = blind(&unseen) {
        anstream::eprintln!("hierad: {warning}");
    }
    let differs = !report.changes.is_empty();
    Ok(if arguments.exit_code && differs { Status::Found } else { Status::Done })
}

/// A word on keys that fail on both sides: that no change of them shows does not mean that there is none.
fn blind(failing: &BTreeMap<Arc<str>, LookupError>) -> Option<String> {
    let (key, error) = failing.iter().next()?;
    let count = match failing.len() {
        1 => format!("key '{key}' fails"),
        count => format!("{count} keys, such as '{key}', fail"),
    };
    Some(format!("{count} before and after, so no change of them can be seen: {error}; see `hierad check`"))
}

/// How a report is written, besides its form.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// Shorten nothing in the text form.
    pub(super) full: bool,
    /// The most characters in the Markdown form.
    pub(super) budget: Option<usize>,
    /// JSON over several lines.
    pub(super) pretty: bool,
}

/// Writes a report in one of the forms.
pub(super) fn write(
    report: &Report,
    format: Format,
    global: &Global,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    match format {
        Format::Text => {
            let options = text::Options { color: output::color(global), width: output::width(), full: style.full };
            text::write(report, options, out)
        }
        Format::Json => json::write(report, json::Options { pretty: style.pretty }, out),
        Format::Markdown => {
            let default = markdown::Options::default();
            markdown::write(report, markdown::Options { budget: style.budget.unwrap_or(default.budget) }, out)
        }
    }
}

/// The two points that the arguments name.
fn revisions(context: &Context, arguments: &Arguments) -> Result<(Point, Point)> {
    let repository: &Repository = &context.repository;
    let or_head = |text: &str| if text.is_empty() { "HEAD".to_owned() } else { text.to_owned() };
    match (&arguments.from, &arguments.to) {
        (None, _) => {
            let after = repository.resolve("HEAD")?;
            let before = repository.first_parent(after)?;
            Ok((before.map_or(Point::Nothing, Point::Commit), Point::Commit(after)))
        }
        (Some(range), Some(to)) if range.contains("..") => {
            Err(format!("{range} names two revisions already: what is {to} for?").into())
        }
        (Some(from), Some(to)) => context.points([from, to]),
        (Some(range), None) => {
            if let Some((from, to)) = range.split_once("...") {
                let [from, to] = repository.resolve_all([&or_head(from), &or_head(to)])?;
                let base = repository.merge_base(from, to)?;
                let base = base.ok_or_else(|| format!("{range}: the two have no commit in common"))?;
                return Ok((Point::Commit(base), Point::Commit(to)));
            }
            if let Some((from, to)) = range.split_once("..").filter(|_| range != "..") {
                return context.points([&or_head(from), &or_head(to)]);
            }
            if range == "." {
                return Ok((context.point("HEAD")?, Point::WorkTree));
            }
            context.points([range, "HEAD"])
        }
    }
}
