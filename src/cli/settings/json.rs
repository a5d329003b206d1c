//! Settings as JSON.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{From, Row};
use crate::app::workspace::counting::Source;
use crate::settings::Refusal;
use crate::visible::visible_json;

pub(super) fn write(
    files: &[(PathBuf, bool)],
    rows: &[Row],
    refused: &[Refusal],
    unknown: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let files = files.iter().map(|(path, is_trusted)| json!({"path": path.to_string_lossy(), "trusted": is_trusted}));
    let rows = rows
        .iter()
        .map(|Row { setting, value, from }| json!({"setting": setting, "value": value, "from": place(from)}));
    let refused = refused.iter().map(|refusal| {
        json!({
            "path": refusal.path.to_string_lossy(),
            "line": refusal.line,
            "setting": Some(refusal.setting).filter(|setting| !setting.is_empty()),
            "reason": refusal.text,
            "advice": refusal.advice(),
        })
    });
    let wire = json!({
        "schema": "hierad.settings/1",
        "files": files.collect::<Vec<Value>>(),
        "settings": rows.collect::<Vec<Value>>(),
        "left_out": refused.collect::<Vec<Value>>(),
        "unknown_git_settings": unknown,
    });
    writeln!(out, "{}", visible_json(&wire.to_string()))
}

fn place(from: &From) -> Value {
    match from {
        From::Git(origin) => json!({"kind": "git", "origin": origin}),
        From::Settings(Source::Flag(flag)) => json!({"kind": "flag", "name": flag}),
        From::Settings(Source::Variable(name)) => json!({"kind": "variable", "name": name}),
        From::Settings(Source::Default) => json!({"kind": "default"}),
        From::Settings(Source::File { path, line, is_of_base }) => {
            json!({"kind": "file", "path": path.to_string_lossy(), "line": line, "of_base": is_of_base})
        }
    }
}
