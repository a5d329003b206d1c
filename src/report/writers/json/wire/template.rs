//! The JSON of a change whose values differ from node to node only by variables in their texts: it has marks in place
//! of the variables.

use serde::Serialize;

use super::WireChange;
use super::tables::Tables;
use crate::diff::Variants;
use crate::fleet::Variable;
use crate::report::KeyChange;
use crate::report::writers::json::WireFormatter;

/// The marks in the texts of a change.
#[derive(Serialize)]
pub(super) struct WireTemplate {
    /// The beginning of each mark: the position of a variable and a semicolon follow.
    mark: String,
    /// The positions of the variables.
    variables: Vec<usize>,
}

/// Returns a change with a mark for each variable.
pub(super) fn marked<'a>(
    change: &'a KeyChange,
    variants: &'a Variants,
    tables: &Tables<'a>,
) -> (KeyChange, WireTemplate) {
    let number = |variable: &&'a Variable| tables.variables.number(variable, &change.nodes);
    let mut variables: Vec<usize> = variants.variables().iter().map(number).collect();
    let mark = unused_tag(&json(change, tables));
    let marked = change.marked(variants, &|at| format!("{mark}{};", variables[at]));
    variables.sort_unstable();
    variables.dedup();
    (marked, WireTemplate { mark, variables })
}

/// Returns a tag that does not occur in `json` and does not overlap with itself.
fn unused_tag(json: &str) -> String {
    let mut tags = (0..=json.len()).map(|number| format!("@{number}:"));
    tags.find(|tag| !json.contains(&**tag)).unwrap_or_default()
}

fn json(change: &KeyChange, tables: &Tables<'_>) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, WireFormatter);
    // Writing to memory cannot fail.
    _ = WireChange::new(change, 0, &tables.places).serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}
