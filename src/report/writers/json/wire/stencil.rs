//! The JSON of a change whose values differ from node to node only by variables in their texts: with marks in place of
//! the variables, or filled for each variant.

use serde::Serialize;

use super::WireChange;
use super::tables::{PlaceTable, Tables};
use crate::diff::Variants;
use crate::fleet::Variable;
use crate::node::NodeId;
use crate::puppet;
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
pub(super) fn template<'a>(
    change: &'a KeyChange,
    variants: &'a Variants,
    tables: &Tables<'a>,
) -> (KeyChange, WireTemplate) {
    let number = |variable: &&'a Variable| tables.variables.number(variable, &change.nodes);
    let mut variables: Vec<usize> = variants.variables().iter().map(number).collect();
    let mark = unused_tag(&json(change, "", &tables.places));
    let marked = change.marked(variants, &|at| format!("{mark}{};", variables[at]));
    variables.sort_unstable();
    variables.dedup();
    (marked, WireTemplate { mark, variables })
}

/// The JSON of a change, with places for variables and for the number of the set of nodes.
pub(super) struct Stencil<'a> {
    /// The text before the first place, then each place with the text after it.
    start: String,
    places: Vec<(Place, String)>,
    variables: Vec<&'a Variable>,
    /// The last filled form, and a text in it, kept to reuse their memory.
    filled: String,
    text: String,
}

#[derive(Clone, Copy)]
enum Place {
    /// A variable, by its number.
    Variable(usize),
    Nodes,
}

impl<'a> Stencil<'a> {
    pub(super) fn new(change: &'a KeyChange, variants: &'a Variants, places: &PlaceTable) -> Stencil<'a> {
        let variables = variants.variables();
        let count = variables.len();
        let tag = unused_tag(&json(change, "", places));
        let mark = |number: usize| format!("{tag}{number};");
        let marked = json(&change.marked(variants, &mark), &mark(count), places);
        let mut pieces = marked.split(&*tag).map(str::to_owned);
        let start = pieces.next().unwrap_or_default();
        let place = |piece: String| {
            let (number, rest) = piece.split_once(';')?;
            let number = number.parse().ok()?;
            Some((if number == count { Place::Nodes } else { Place::Variable(number) }, rest.to_owned()))
        };
        Stencil {
            start,
            places: pieces.filter_map(place).collect(),
            variables,
            filled: String::new(),
            text: String::new(),
        }
    }

    /// Returns the JSON of the variant on `node`, whose set of nodes has the number `nodes`.
    pub(super) fn fill(&mut self, node: NodeId, nodes: usize) -> &[u8] {
        self.filled.clear();
        self.filled.push_str(&self.start);
        for (place, rest) in &self.places {
            match place {
                Place::Variable(number) => {
                    self.text.clear();
                    let text = self.variables.get(*number).map_or("", |variable| variable.on(node));
                    puppet::json::write_text(text, &mut self.text);
                    // It is inserted into a JSON string, so its quotes are left out.
                    self.filled.push_str(self.text.get(1..self.text.len() - 1).unwrap_or_default());
                }
                Place::Nodes => self.filled.push_str(&nodes.to_string()),
            }
            self.filled.push_str(rest);
        }
        self.filled.as_bytes()
    }
}

/// Returns a tag that does not occur in `json` and does not overlap with itself.
fn unused_tag(json: &str) -> String {
    let mut tags = (0..=json.len()).map(|number| format!("@{number}:"));
    tags.find(|tag| !json.contains(&**tag)).unwrap_or_default()
}

fn json(change: &KeyChange, nodes: &str, places: &PlaceTable) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, WireFormatter);
    // Writing to memory cannot fail.
    _ = WireChange::new(change, nodes, places).serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}
