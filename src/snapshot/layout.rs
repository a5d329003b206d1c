//! The forms of a snapshot: the text around its values, and the text of each value.

use super::{Format, SCHEMA};
use crate::puppet::{emit, json};
use crate::value::Value;

/// The text around the values and errors of a node.
pub(super) struct Layout {
    /// Before the node's name.
    pub(super) head: String,
    /// Between the name and the values.
    pub(super) values: &'static str,
    /// Between the values and the errors.
    pub(super) errors: &'static str,
    /// After the errors; a line end follows.
    pub(super) tail: &'static str,
    /// Replaces the first separator of values, and is as long.
    pub(super) open: &'static str,
    /// Before each value.
    pub(super) separator: &'static str,
    /// After the last value.
    pub(super) close: &'static str,
    /// Written if there are no values.
    pub(super) empty: &'static str,
}

impl Layout {
    pub(super) fn of(format: Format) -> Layout {
        match format {
            Format::Ndjson => Layout {
                head: "{\"node\":".into(),
                values: ",\"values\":",
                errors: ",\"errors\":",
                tail: "}",
                open: "{",
                separator: ",",
                close: "}",
                empty: "{}",
            },
            Format::Json => Layout {
                head: format!("{{\n  \"schema\": \"{SCHEMA}\",\n  \"node\": "),
                values: ",\n  \"values\": ",
                errors: ",\n  \"errors\": ",
                tail: "\n}",
                open: "{\n",
                separator: ",\n",
                close: "\n  }",
                empty: "{}",
            },
            Format::Yaml => Layout {
                head: "---\nnode: ".into(),
                values: "\nvalues:",
                errors: "\nerrors:",
                tail: "",
                open: "\n",
                separator: "\n",
                close: "",
                empty: " {}",
            },
        }
    }
}

/// Returns the text of a node's name.
pub(super) fn name(format: Format, node: &str) -> String {
    match format {
        Format::Json | Format::Ndjson => json::string(node),
        Format::Yaml => emit::key(node),
    }
}

/// Returns the text of a key with its value.
pub(super) fn entry(format: Format, key: &str, value: &Value) -> String {
    match format {
        Format::Ndjson => format!("{}:{}", json::string(key), json::compact(value)),
        Format::Json => format!("    {}: {}", json::string(key), json::indented(value, 2)),
        Format::Yaml => emit::entry(key, value, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_makes_room_for_what_opens() {
        for format in [Format::Ndjson, Format::Json, Format::Yaml] {
            let layout = Layout::of(format);
            assert_eq!(layout.open.len(), layout.separator.len());
        }
    }
}
