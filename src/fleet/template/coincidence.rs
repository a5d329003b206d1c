//! Finds nodes on which texts are equal although they differ as templates.
//!
//! Two values can be compared by their templates on all nodes where such texts differ, since the comparison takes
//! the same course there.

use super::{Skeleton, Template, TextPart, part_on};
use crate::node::{NodeId, NodeSet};
use crate::value::Value;

/// The maximum number of pairs of texts to compare.
const MAX_PAIRS: usize = 4096;

/// Returns the `nodes` on which two texts of `templates` and `values` are equal although they differ as templates.
/// Returns `None` if there are too many texts to compare.
pub fn coincidences(templates: &[&Template], values: &[&Value], nodes: &NodeSet) -> Option<NodeSet> {
    let mut texts: Vec<&[TextPart]> = Vec::new();
    let mut constants: Vec<&str> = Vec::new();
    for Template(skeleton) in templates {
        skeleton.add_texts(&mut texts);
        add_constants(skeleton, &mut constants)?;
    }
    values.iter().try_for_each(|value| add_strings(value, &mut constants))?;
    texts.sort_by_cached_key(|text| format!("{text:?}"));
    texts.dedup();
    constants.sort_unstable();
    constants.dedup();
    if texts.len() * (texts.len() + constants.len()) > MAX_PAIRS {
        return None;
    }
    let mut found = NodeSet::new();
    for (at, text) in texts.iter().enumerate() {
        let others = texts[at + 1..].iter().copied().map(OtherText::Text);
        for other in others.chain(constants.iter().map(|text| OtherText::Constant(text))) {
            if !other.surely_differs(text) {
                nodes.iter().filter(|node| other.is_equal_on(text, *node)).for_each(|node| found.insert(node));
            }
        }
    }
    Some(found)
}

/// A text to compare with that of a template.
enum OtherText<'a> {
    Text(&'a [TextPart]),
    Constant(&'a str),
}

impl OtherText<'_> {
    /// Returns true if the texts differ whatever the variables are.
    fn surely_differs(&self, text: &[TextPart]) -> bool {
        match self {
            OtherText::Text(other) => {
                let common_prefix = text.iter().zip(*other).take_while(|(a, b)| a == b).count();
                let (text, other) = (&text[common_prefix..], &other[common_prefix..]);
                let common_suffix = text.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
                match (&text[..text.len() - common_suffix], &other[..other.len() - common_suffix]) {
                    ([], rest) | (rest, []) => rest.iter().any(|part| matches!(part, TextPart::Literal(_))),
                    ([TextPart::Literal(a)], [TextPart::Literal(b)]) => a != b,
                    ([TextPart::Literal(a), ..], [TextPart::Literal(b), ..]) => {
                        !a.starts_with(&**b) && !b.starts_with(&**a)
                    }
                    _ => false,
                }
            }
            OtherText::Constant(constant) => {
                let starts =
                    |part: &TextPart| matches!(part, TextPart::Literal(text) if !constant.starts_with(&**text));
                let ends = |part: &TextPart| matches!(part, TextPart::Literal(text) if !constant.ends_with(&**text));
                text.first().is_some_and(starts) || text.last().is_some_and(ends)
            }
        }
    }

    fn is_equal_on(&self, text: &[TextPart], node: NodeId) -> bool {
        let bytes = |parts: &'_ [TextPart]| parts.iter().map(|part| part_on(part, node).len()).sum::<usize>();
        match self {
            OtherText::Text(other) => {
                bytes(text) == bytes(other)
                    && text
                        .iter()
                        .flat_map(|part| part_on(part, node).bytes())
                        .eq(other.iter().flat_map(|part| part_on(part, node).bytes()))
            }
            OtherText::Constant(constant) => {
                bytes(text) == constant.len()
                    && text.iter().flat_map(|part| part_on(part, node).bytes()).eq(constant.bytes())
            }
        }
    }
}

fn add_constants<'s>(skeleton: &'s Skeleton, constants: &mut Vec<&'s str>) -> Option<()> {
    match skeleton {
        Skeleton::Same(value) => add_strings(value, constants),
        Skeleton::Text(_) => Some(()),
        Skeleton::Array(items) => items.iter().try_for_each(|item| add_constants(item, constants)),
        Skeleton::Hash(entries) => entries.iter().try_for_each(|(_, value)| add_constants(value, constants)),
    }
}

/// Adds the texts of a value; returns `None` if there are too many.
fn add_strings<'v>(value: &'v Value, strings: &mut Vec<&'v str>) -> Option<()> {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.iter().try_for_each(|item| add_strings(item, strings))?,
        Value::Hash(hash) => hash.iter().try_for_each(|(_, value)| add_strings(value, strings))?,
        _ => {}
    }
    (strings.len() <= MAX_PAIRS).then_some(())
}
