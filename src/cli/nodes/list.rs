//! `hierad nodes list`.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use super::super::{Global, Result, Status, output};
use crate::cli::arguments::inspection::Format;
use crate::cli::output::pager::Paged;
use crate::cli::output::table;
use crate::git::BranchName;
use crate::inventory::{KnownNode, Overview};
use crate::node::timestamp;
use crate::report::count;
use crate::visible::{visible, visible_json};

pub(super) fn run(global: &Global, format: Format) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let branch = workspace.branch("HEAD")?;
    let revisions = workspace.revisions();
    // Reading the fleet reports nodes that are left out, and says what to do if there are no profiles.
    let fleet = workspace.fleet(&revisions, branch.as_ref(), &[], &|_| true, &|error| {
        global.print_profile_error(error);
    })?;
    let inventory = workspace.inventory(branch.as_ref().map(BranchName::as_str));
    let overview = inventory.overview(super::facts_of_head(&workspace))?;
    workspace.save();
    drop(progress);
    let names: BTreeSet<&Arc<str>> = fleet.iter().map(|(_, name)| name).collect();
    let nodes: Vec<_> = overview.nodes.iter().filter(|(name, _)| names.contains(name)).collect();
    let (mut out, color) = (Paged::of(format == Format::Text, &workspace, global), output::color(global));
    match format {
        Format::Text => text(&overview, &nodes, color, &mut out)?,
        Format::Json => json(&overview, &nodes, &mut out)?,
    }
    out.finish()?;
    Ok(Status::Done)
}

fn text(
    overview: &Overview,
    nodes: &[(&Arc<str>, &KnownNode)],
    color: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let head = ["NODE", "ENVIRONMENT", "FACTS", "FROM"].map(str::to_owned).to_vec();
    let row = |(name, node): &(&Arc<str>, &KnownNode)| {
        let age = node.time.map_or_else(|| "no date".to_owned(), |time| format!("{} old", table::age(time)));
        vec![name.to_string(), node.environment.to_string(), age, origins_in_words(overview, node)]
    };
    let rows: Vec<Vec<String>> = [head].into_iter().chain(nodes.iter().map(row)).collect();
    table::write(&rows, color, out)?;
    let fetches = overview.entries.iter().filter_map(|entry| Some((&entry.label, entry.fetched?)));
    let fetches = fetches.map(|(label, time)| format!("; {label} was asked {} ago", table::age(time.cast_signed())));
    writeln!(out, "{}{}", count(nodes.len(), "node"), visible(&fetches.collect::<String>()))
}

/// Returns the entries with information about a node: files by their places, others by their names.
fn origins_in_words(overview: &Overview, node: &KnownNode) -> String {
    let mut from: Vec<&str> = Vec::new();
    for (entry, place) in &node.places {
        let entry = &overview.entries[*entry];
        let shown = if entry.fetched.is_some() { &entry.label } else { place };
        if !from.contains(&&**shown) {
            from.push(shown);
        }
    }
    from.join("; ")
}

#[derive(Serialize)]
struct WireNodes<'a> {
    schema: &'static str,
    sources: Vec<WireSource<'a>>,
    nodes: Vec<WireNode<'a>>,
}

#[derive(Serialize)]
struct WireSource<'a> {
    name: &'a str,
    /// The time of the fetch; null for files.
    fetched: Option<String>,
}

#[derive(Serialize)]
struct WireNode<'a> {
    name: &'a str,
    environment: &'a str,
    /// The time of the facts, if it is known.
    time: Option<String>,
    from: Vec<WireOrigin<'a>>,
}

#[derive(Serialize)]
struct WireOrigin<'a> {
    /// The number of the source, from 0.
    source: usize,
    place: &'a str,
}

fn json(overview: &Overview, nodes: &[(&Arc<str>, &KnownNode)], out: &mut dyn Write) -> std::io::Result<()> {
    let sources = overview.entries.iter().map(|entry| WireSource {
        name: &entry.label,
        fetched: entry.fetched.and_then(|time| timestamp(time.cast_signed())),
    });
    let nodes = nodes.iter().map(|(name, node)| WireNode {
        name,
        environment: &node.environment,
        time: node.time.and_then(timestamp),
        from: node.places.iter().map(|(source, place)| WireOrigin { source: *source, place }).collect(),
    });
    let wire = WireNodes { schema: "hierad.nodes/1", sources: sources.collect(), nodes: nodes.collect() };
    writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
}
