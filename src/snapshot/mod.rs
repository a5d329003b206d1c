//! Per-node snapshots of effective values: JSON, NDJSON and YAML, on a stream or in a folder.
//!
//! A value's text is made once and shared by all nodes that have it; a node's snapshot is the concatenation of such texts.

mod folder;
mod manifest;
mod replace;

use std::io::{self, Write};
use std::sync::Arc;

use crate::disclosure::Disclosure;
use crate::fleet::{Effective, Fleet};
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeId, NodeSet};
use crate::value::{Value, emit, json};

pub use folder::{Written, write_folder};
pub use manifest::Manifest;

/// The name and version of the form of a snapshot file.
pub const SCHEMA: &str = "hierad.snapshot/1";

/// How snapshots are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `{"schema", "node", "values", "errors"}`, indented.
    Json,
    /// `{"node", "values", "errors"}`, a line a node.
    Ndjson,
    /// The same as YAML, a document a node.
    Yaml,
}

/// A key with the text of its value or error, ready to be written.
struct Fragment {
    is_error: bool,
    text: String,
}

/// The snapshots of a fleet.
pub struct Snapshots<'a> {
    fleet: &'a Fleet,
    format: Format,
    fragments: Vec<Fragment>,
    /// For each node the numbers of its fragments, in the order of the keys.
    nodes: Vec<(NodeId, Vec<usize>)>,
}

impl<'a> Snapshots<'a> {
    /// Prepares the snapshots of `nodes`, with what `disclosure` lets through of secrets.
    pub fn new(
        effective: &Effective,
        fleet: &'a Fleet,
        nodes: &NodeSet,
        format: Format,
        disclosure: &Disclosure,
    ) -> Snapshots<'a> {
        let mut fragments = Vec::new();
        let mut lists: Vec<Vec<usize>> = vec![Vec::new(); fleet.len()];
        for (key, answers) in &effective.keys {
            for answer in answers {
                let Some(fragment) = fragment(key, &disclosure.outcome(&answer.outcome), format) else { continue };
                for node in answer.nodes.iter() {
                    lists[node.0 as usize].push(fragments.len());
                }
                fragments.push(fragment);
            }
        }
        let nodes = nodes.iter().map(|node| (node, std::mem::take(&mut lists[node.0 as usize]))).collect();
        Snapshots { fleet, format, fragments, nodes }
    }

    /// Writes all snapshots to a stream: NDJSON as lines, JSON as one array, YAML as documents.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let array = self.format == Format::Json;
        if array {
            out.write_all(b"[")?;
        }
        for (at, (node, fragments)) in self.nodes.iter().enumerate() {
            if array {
                out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
            }
            let text = self.snapshot(*node, fragments);
            out.write_all(if array { text.trim_end().as_bytes() } else { text.as_bytes() })?;
        }
        if array {
            out.write_all(b"\n]\n")?;
        }
        Ok(())
    }

    /// The snapshots one by one, with the names of their nodes.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, String)> {
        self.nodes.iter().map(|(node, fragments)| (self.fleet.name(*node), self.snapshot(*node, fragments)))
    }

    fn snapshot(&self, node: NodeId, fragments: &[usize]) -> String {
        let name = self.fleet.name(node);
        let select = |errors: bool| {
            let of_kind = fragments.iter().map(|at| &self.fragments[*at]).filter(move |f| f.is_error == errors);
            of_kind.map(|fragment| fragment.text.as_str()).collect::<Vec<_>>()
        };
        let (values, errors) = (select(false), select(true));
        match self.format {
            Format::Ndjson => {
                let (values, errors) = (values.join(","), errors.join(","));
                format!("{{\"node\":{},\"values\":{{{values}}},\"errors\":{{{errors}}}}}\n", json::string(name))
            }
            Format::Json => format!(
                "{{\n  \"schema\": \"{SCHEMA}\",\n  \"node\": {},\n  \"values\": {},\n  \"errors\": {}\n}}\n",
                json::string(name),
                json_object(&values),
                json_object(&errors),
            ),
            Format::Yaml => {
                let node = emit::key(name);
                format!("---\nnode: {node}\nvalues:{}\nerrors:{}\n", yaml_map(&values), yaml_map(&errors))
            }
        }
    }
}

fn json_object(entries: &[&str]) -> String {
    if entries.is_empty() { "{}".into() } else { format!("{{\n{}\n  }}", entries.join(",\n")) }
}

fn yaml_map(entries: &[&str]) -> String {
    if entries.is_empty() { " {}".into() } else { format!("\n{}", entries.join("\n")) }
}

fn fragment(key: &Arc<str>, outcome: &Outcome, format: Format) -> Option<Fragment> {
    let (is_error, value) = match outcome {
        Outcome::Found(value) => (false, value.clone()),
        Outcome::Failed(error) => (true, error_text(error)),
        Outcome::NotFound => return None,
    };
    let text = match format {
        Format::Ndjson => format!("{}:{}", json::string(key), json::compact(&value)),
        Format::Json => format!("    {}: {}", json::string(key), json::indented(&value, 2)),
        Format::Yaml => emit::entry(key, &value, 1),
    };
    Some(Fragment { is_error, text })
}

fn error_text(error: &LookupError) -> Value {
    error.text.visible().into()
}
