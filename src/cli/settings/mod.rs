//! `hierad settings`: which settings are in effect, where each comes from, and what was left out.

mod json;
mod masked;
mod text;

use std::io::Write;

use clap::Args;
use serde_json::Value;

use super::arguments::inspection::Format;
use super::{Global, Result, Status, hooks, output};
use crate::app::workspace::counting::{Counted, Source, counting};

/// Arguments of `settings`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Show those that have their default, too
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A setting as it is shown.
struct Row {
    setting: String,
    /// The value, with secrets masked.
    value: Option<Value>,
    from: From,
}

/// The place that a setting comes from.
enum From {
    Settings(Source),
    /// Git's configuration: the file or another place, as git names it.
    Git(String),
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let found = counting(&global.overrides())?;
    let is_shown = |row: &Counted| arguments.all || !matches!(row.source, Source::Default);
    let mut rows: Vec<Row> = found.settings.into_iter().filter(is_shown).map(row).collect();
    let of_git = hooks::git_settings(global)?;
    rows.extend(of_git.known.into_iter().map(|entry| Row {
        setting: entry.name,
        value: Some(entry.value.into()),
        from: From::Git(entry.origin),
    }));
    let mut out = output::coloured(output::color(global) && matches!(arguments.format, Format::Text));
    match arguments.format {
        Format::Text => {
            text::write(&found.files, &rows, &found.refused, &of_git.unknown, output::color(global), &mut out)?;
        }
        Format::Json => json::write(&found.files, &rows, &found.refused, &of_git.unknown, &mut out)?,
    }
    out.flush()?;
    Ok(Status::Done)
}

fn row(Counted { setting, value, source }: Counted) -> Row {
    let value = value.map(|value| masked::masked(&setting, serde_json::from_str(&value).unwrap_or_default()));
    Row { setting, value, from: From::Settings(source) }
}
