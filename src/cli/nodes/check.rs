//! `hierad nodes check`.

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::super::{Global, Result, Status, output};
use crate::cli::arguments::inspection::{Format, Inspection};
use crate::cli::output::pager::Paged;
use crate::cli::output::table;
use crate::cli::output::{HEADING, NEW, QUIET, painted};
use crate::fleet::Fleet;
use crate::inventory::Overview;
use crate::node::{NodeId, NodeSet};
use crate::pipeline::VariableUse;
use crate::report::count;
use crate::visible::{visible, visible_json};

/// A day in seconds.
const DAY: i64 = 86_400;

/// The maximum number of nodes that are named, and the maximum width of their names if there are several.
const MAX_NAMES: usize = 3;
const MAX_NAMES_WIDTH: usize = 60;

/// Arguments of `nodes check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
    /// The age in days from which the facts of a profile are old
    #[arg(long, value_name = "DAYS", default_value = "30")]
    older_than: u32,
}

/// A fault of some profiles.
struct Fault {
    code: &'static str,
    /// The place that reads a variable, or empty.
    place: String,
    text: String,
    fix: String,
    nodes: NodeSet,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let point = workspace.point(&arguments.at.revision)?;
    let pipeline = super::pipeline(global, &workspace, point)?;
    let (variables, _) = pipeline.uses(point)?;
    let overview = super::inventory(&workspace)?.overview(super::facts_of_head(&workspace))?;
    workspace.save();
    drop(progress);
    let fleet = &pipeline.fleet;
    let is_accepted = pipeline.accepts_lack(point);
    let missing = variables.iter().filter_map(|variable| Some((variable, missing_variable(variable, fleet)?)));
    let (accepted, missing): (Vec<_>, Vec<_>) = missing.partition(|(variable, _)| is_accepted(variable));
    let mut faults: Vec<Fault> = missing.into_iter().map(|(_, fault)| fault).collect();
    faults.extend(old_profiles(&overview, fleet, arguments.older_than));
    faults.extend(unknown_nodes(&overview, fleet));
    let (mut out, color) = (Paged::of(arguments.at.format == Format::Text, &workspace, global), output::color(global));
    match arguments.at.format {
        Format::Text => text(&faults, [variables.len(), accepted.len()], fleet, color, &mut out)?,
        Format::Json => json(&faults, fleet, &mut out)?,
    }
    out.finish()?;
    Ok(if faults.is_empty() { Status::Done } else { Status::Found })
}

/// Returns a fault if some of the nodes that read a variable do not have it.
fn missing_variable(variable: &VariableUse, fleet: &Fleet) -> Option<Fault> {
    let without = |readers: &NodeSet| variable.values.without.intersection(readers);
    let (mut nodes, mut readers) = (without(&variable.readers), &variable.readers);
    let (mut places, mut is_read) = (&variable.places, "is read here");
    if nodes.is_empty() {
        (nodes, readers) = (without(&variable.readers_by_functions), &variable.readers_by_functions);
        (places, is_read) = (&variable.places_of_functions, "may be read by a function here");
    }
    let place = places.first().filter(|_| !nodes.is_empty())?;
    let others = match places.len() - 1 {
        0 => String::new(),
        more => format!(", and at {} more", count(more, "place")),
    };
    let name = &variable.name;
    Some(Fault {
        code: "missing-variable",
        place: place.to_string(),
        text: format!("'{name}' {is_read}{others}, but not set on {}", share_in_words(&nodes, readers, fleet)),
        fix: variable.remedy().to_string(),
        nodes,
    })
}

/// Returns a fault if facts of profiles are older than `days`.
fn old_profiles(overview: &Overview, fleet: &Fleet, days: u32) -> Option<Fault> {
    let limit = table::now() - i64::from(days) * DAY;
    let is_old = |(node, time): &(NodeId, i64)| (*time < limit).then_some(*node);
    let known = overview.nodes.iter().filter_map(|(name, node)| Some((fleet.find(name)?, node.time?)));
    let known: Vec<(NodeId, i64)> = known.collect();
    let nodes: NodeSet = known.iter().filter_map(is_old).collect();
    let oldest = known.iter().map(|(_, time)| *time).min().filter(|_| !nodes.is_empty())?;
    Some(Fault {
        code: "old-profile",
        place: String::new(),
        text: format!(
            "the facts of {} are older than {}, the oldest {}",
            share_in_words(&nodes, &fleet.all(), fleet),
            count(days as usize, "day"),
            table::age(oldest)
        ),
        fix: "get them anew, or remove the profiles of nodes that are gone".to_owned(),
        nodes,
    })
}

/// Returns a fault if profiles belong to nodes that are missing from every `PuppetDB` that knows all nodes.
fn unknown_nodes(overview: &Overview, fleet: &Fleet) -> Option<Fault> {
    let complete: Vec<usize> = (0..overview.entries.len()).filter(|at| overview.entries[*at].knows_all).collect();
    let label = &overview.entries[*complete.first()?].label;
    let is_known = |places: &[(usize, String)]| places.iter().any(|(entry, _)| complete.contains(entry));
    let unknown = overview.nodes.iter().filter(|(_, node)| !is_known(&node.places));
    let nodes: NodeSet = unknown.filter_map(|(name, _)| fleet.find(name)).collect();
    (!nodes.is_empty()).then(|| Fault {
        code: "unknown-node",
        place: String::new(),
        text: format!("{} have a profile, but are not in {label}", share_in_words(&nodes, &fleet.all(), fleet)),
        fix: "remove the profiles of nodes that are gone".to_owned(),
        nodes,
    })
}

/// `2 of 161 nodes: db01, db02`
fn share_in_words(nodes: &NodeSet, whole: &NodeSet, fleet: &Fleet) -> String {
    let names: Vec<&str> = fleet.names(nodes).take(MAX_NAMES).map(|name| &**name).collect();
    // Several long names would be noise.
    let shown = if names.concat().len() > MAX_NAMES_WIDTH { 1 } else { names.len() };
    let names = names[..shown].join(", ");
    match (nodes.len(), whole.len()) {
        (1, 1) => names,
        (some, all) if some == all => format!("any of {}", count(all, "node")),
        (some, all) if some == shown => format!("{some} of {}: {names}", count(all, "node")),
        (some, all) => format!("{some} of {}, such as {names}", count(all, "node")),
    }
}

fn text(
    faults: &[Fault],
    [variables, accepted]: [usize; 2],
    fleet: &Fleet,
    color: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for fault in faults {
        let place = if fault.place.is_empty() { String::new() } else { format!("{}: ", fault.place) };
        let (place, warning) = (painted(color, HEADING, &place), painted(color, NEW, "warning"));
        writeln!(out, "{place}{warning}{}", visible(&format!(": {} [{}]", fault.text, fault.code)))?;
        writeln!(out, "    {} {}", painted(color, QUIET, "->"), visible(&fault.fix))?;
    }
    let (nodes, variables) = (count(fleet.len(), "node"), count(variables, "variable"));
    if faults.is_empty() {
        let are_set = if accepted == 0 { "set" } else { "set or accepted" };
        return writeln!(out, "all {variables} that are read are {are_set} on the nodes that read them ({nodes})");
    }
    writeln!(out, "{}: {variables} that are read, {nodes}", count(faults.len(), "warning"))
}

fn json(faults: &[Fault], fleet: &Fleet, out: &mut dyn Write) -> std::io::Result<()> {
    let finding = |fault: &Fault| {
        json!({
            "code": fault.code,
            "place": if fault.place.is_empty() { None } else { Some(&fault.place) },
            "text": fault.text,
            "fix": fault.fix,
            "nodes": fleet.names(&fault.nodes).map(|name| &**name).collect::<Vec<&str>>(),
        })
    };
    let wire = json!({
        "schema": "hierad.nodes.check/1",
        "nodes": fleet.len(),
        "findings": faults.iter().map(finding).collect::<Vec<_>>(),
    });
    writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
}
