//! Settings as text.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{From, Row};
use crate::app::workspace::counting::Source;
use crate::cli::output::table;
use crate::settings::Refusal;
use crate::visible::visible;

/// The maximum number of characters of a value.
const MAX_CHARACTERS: usize = 60;

pub(super) fn write(
    files: &[(PathBuf, bool)],
    rows: &[Row],
    refused: &[Refusal],
    unknown: &[String],
    color: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (path, is_trusted) in files {
        let trust = if *is_trusted { "trusted" } else { "in the tree, not trusted: what needs no trust counts" };
        writeln!(out, "{}: {trust}", visible(&path.display().to_string()))?;
    }
    if files.is_empty() {
        writeln!(out, "no settings file: everything has its default, or a flag")?;
    }
    let row = |row: &Row| {
        vec![row.setting.clone(), row.value.as_ref().map(shown).unwrap_or_default(), origin_in_words(&row.from)]
    };
    let head = ["SETTING", "VALUE", "FROM"].map(str::to_owned).to_vec();
    if !rows.is_empty() {
        writeln!(out)?;
        table::write(&[head].into_iter().chain(rows.iter().map(row)).collect::<Vec<_>>(), color, out)?;
    }
    if !refused.is_empty() {
        writeln!(out, "\nLeft out for lack of trust:")?;
    }
    refused.iter().try_for_each(|refusal| writeln!(out, "  {}", visible(&refusal.to_string())))?;
    if !unknown.is_empty() {
        writeln!(out, "\nUnknown in git's configuration:")?;
    }
    unknown.iter().try_for_each(|text| writeln!(out, "  {}", visible(text)))
}

/// Returns a value on one line, cut if it is long.
fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let start: String = text.chars().take(MAX_CHARACTERS).collect();
    if start.len() < text.len() { format!("{start}...") } else { start }
}

fn origin_in_words(from: &From) -> String {
    match from {
        From::Git(origin) => format!("git's configuration, {origin}"),
        From::Settings(Source::Flag(flag)) => (*flag).to_owned(),
        From::Settings(Source::Variable(name)) => format!("${name}"),
        From::Settings(Source::Default) => "default".to_owned(),
        From::Settings(Source::File { path, line, is_of_base }) => {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let base = if *is_of_base { "; counts once the revision before has it" } else { "" };
            format!("{}{line}{base}", path.display())
        }
    }
}
