//! `hierad trust`: trusts the settings of the tree until they change.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{Global, Result, Status, output};
use crate::app::workspace::trust;
use crate::visible::visible;

/// The maximum number of characters shown of a value.
const MAX_VALUE: usize = 300;

/// Arguments of `trust`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The settings file in the work tree [default: hierad.yaml at its top]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Trust the file no longer
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// List the files that are trusted, and those that were until they changed
    #[arg(long, conflicts_with = "file")]
    list: bool,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let (repo, file) = (global.repo.as_deref(), arguments.file.as_deref());
    let mut out = output::stdout();
    if arguments.list {
        for file in trust::trusted(repo)? {
            let state = if file.counts { "trusted" } else { "has changed, and is not trusted any more" };
            writeln!(out, "{}: {state}", visible(&file.path))?;
        }
    } else if arguments.revoke {
        let was_trusted = trust::revoke(repo, file)?;
        writeln!(out, "{}", if was_trusted { "it is not trusted any more" } else { "it was not trusted" })?;
    } else {
        let (path, privileges) = trust::trust(repo, file)?;
        writeln!(out, "{} is trusted until it changes; `hierad trust --revoke` ends that", visible(&path))?;
        if privileges.is_empty() {
            writeln!(out, "nothing in it needs trust")?;
        }
        for privilege in privileges {
            let place = privilege.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            writeln!(out, "  {place}{}: {}", privilege.setting, shown(&privilege.value))?;
        }
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Returns a value made safe to show, cut if it is long.
fn shown(value: &str) -> String {
    let start: String = value.chars().take(MAX_VALUE).collect();
    let rest = if start.len() < value.len() { " ... (cut)" } else { "" };
    format!("{}{rest}", visible(&start))
}
