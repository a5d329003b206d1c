//! Arrays and hashes as text.
//!
//! Source: `string_PArrayType` and `string_PHashType` in `pops/types/string_converter.rb`.

use super::map::Formats;
use super::{Format, Formatted, illegal, text};
use crate::puppet::Ruby;
use crate::puppet::types::inference::infer::set_of;
use crate::value::{Hash, Type, Value};

/// The Ruby to imitate, the nesting depth of a container, and the choice to break lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) ruby: Ruby,
    level: usize,
    is_first: bool,
    indents: bool,
}

impl Setting {
    /// Returns the setting of a value that is in no container.
    pub(super) fn outermost(ruby: Ruby) -> Setting {
        Setting { ruby, level: 0, is_first: true, indents: false }
    }

    fn indenting(self, indents: bool) -> Setting {
        Setting { indents: indents || self.indents, ..self }
    }

    fn inner(self, indents: bool) -> Setting {
        Setting { level: self.level + 1, is_first: true, indents, ..self }
    }

    fn next(self) -> Setting {
        Setting { is_first: false, ..self }
    }

    fn breaks(self) -> bool {
        self.indents && self.level > 0 && !self.is_first
    }

    fn padding(self) -> String {
        "  ".repeat(self.level)
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value.bare(), Value::Array(_) | Value::Hash(_))
}

/// Returns the text of a part of a container.
fn part(value: &Value, outer: &Formats, inner: &Formats, setting: Setting) -> Formatted {
    let formats = if is_container(value) { outer } else { inner };
    text(&set_of(value), value, formats, setting)
}

fn opened(setting: Setting, delimiter: &str) -> String {
    if setting.breaks() { format!("\n{}{delimiter}", setting.padding()) } else { delimiter.to_owned() }
}

/// Returns the text of an array.
pub(super) fn array(kind: &Type, items: &[Value], formats: &Formats, setting: Setting) -> Formatted {
    let format = formats.for_type(kind);
    if !matches!(format.letter, 'a' | 's' | 'p') {
        return Err(illegal("Array", format.letter, "asp"));
    }
    let inner = format.contained.clone().unwrap_or_else(Formats::contained);
    let setting = setting.indenting(format.alternative);
    let children = setting.inner(format.alternative).next();
    let parts: Vec<String> =
        items.iter().map(|item| part(item, formats, &inner, children)).collect::<Result<_, _>>()?;
    let [open, close] = format.delimiters(["[", "]"]);
    let mut out = opened(setting, open);
    let is_wide = is_wide(&format, items, &parts);
    let separator = format.separator.as_deref().unwrap_or(", ");
    for (at, (item, text)) in items.iter().zip(&parts).enumerate() {
        if at == 0 {
            if is_wide && !is_container(item) {
                out.push(' ');
            }
        } else {
            out.push_str(separator);
            let after_container = format.alternative && is_container(&items[at - 1]);
            if (is_wide || after_container) && !is_container(item) {
                if !out.ends_with('\n') {
                    trim_end(&mut out);
                }
                out.push('\n');
                out.push_str(&children.padding());
            }
        }
        if out.ends_with(' ') && text.starts_with('\n') {
            trim_end(&mut out);
        }
        out.push_str(text);
    }
    out.push_str(close);
    Ok(out)
}

/// Trims the end as Ruby's `rstrip!` does.
fn trim_end(text: &mut String) {
    text.truncate(text.trim_end_matches(['\0', '\t', '\n', '\u{b}', '\u{c}', '\r', ' ']).len());
}

/// Returns true if the longest run of items between containers is wider than the format allows.
fn is_wide(format: &Format, items: &[Value], parts: &[String]) -> bool {
    let Some(width) = format.width.filter(|_| format.alternative) else { return false };
    let (mut widest, mut run) = (0, 0);
    for (item, text) in items.iter().zip(parts) {
        run = if is_container(item) { 0 } else { run + text.chars().count() };
        widest = widest.max(run);
    }
    widest > width
}

/// Returns the text of a hash.
pub(super) fn hash(kind: &Type, hash: &Hash, formats: &Formats, setting: Setting) -> Formatted {
    let format = formats.for_type(kind);
    match format.letter {
        'a' => {
            let pairs: Vec<Value> = hash.iter().map(|(k, v)| Value::array(vec![k.clone(), v.clone()])).collect();
            return array(&set_of(&Value::array(pairs.clone())), &pairs, formats, setting);
        }
        'h' | 's' | 'p' => {}
        other => return Err(illegal("Hash", other, "hasp")),
    }
    let inner = format.contained.clone().unwrap_or_else(Formats::contained);
    let setting = setting.indenting(format.alternative);
    let children = setting.inner(false);
    let mut separator = format.separator.clone().unwrap_or_else(|| ", ".into());
    let (mut line_end, mut padding) = ("", String::new());
    if format.alternative {
        if !separator.ends_with('\n') {
            trim_end(&mut separator);
        }
        separator.push('\n');
        line_end = "\n";
        padding = children.padding();
    }
    let arrow = format.separator2.as_deref().unwrap_or(" => ");
    let entry = |(key, value): (&Value, &Value)| {
        let (key, value) = (part(key, formats, &inner, children)?, part(value, formats, &inner, children)?);
        Ok(format!("{padding}{key}{arrow}{value}"))
    };
    let entries: Vec<String> = hash.iter().map(entry).collect::<Result<_, crate::puppet::Error>>()?;
    let [open, close] = format.delimiters(["{", "}"]);
    let last = if format.alternative { setting.padding() } else { String::new() };
    Ok(format!("{}{line_end}{}{line_end}{last}{close}", opened(setting, open), entries.join(&separator)))
}
