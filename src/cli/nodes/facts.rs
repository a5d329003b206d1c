//! `hierad nodes facts`.

use std::io::Write;

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::{Global, Result, Status, output};
use crate::cli::arguments::inspection::{Format, Inspection};
use crate::cli::output::pager::Paged;
use crate::cli::output::table;
use crate::fleet::Fleet;
use crate::pipeline::{LevelUse, VariableUse};
use crate::puppet::json::compact;
use crate::report::{count, shorten};
use crate::value::Value;
use crate::visible::visible_json;

/// The maximum number of values shown for a variable, and the maximum width of each in columns.
const MAX_VALUES: usize = 4;
const MAX_COLUMNS: usize = 24;

/// Arguments of `nodes facts`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let point = workspace.point(&arguments.at.revision)?;
    let pipeline = super::pipeline(global, &workspace, point)?;
    let (variables, levels) = pipeline.uses(point)?;
    workspace.save();
    drop(progress);
    let (mut out, color) = (Paged::of(arguments.at.format == Format::Text, &workspace, global), output::color(global));
    match arguments.at.format {
        Format::Text => text((&variables, &levels), pipeline.fleet.len(), color, &mut out)?,
        Format::Json => {
            let wire = as_json(&variables, &levels, &pipeline.fleet);
            writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))?;
        }
    }
    out.finish()?;
    Ok(Status::Done)
}

fn text(
    (variables, levels): (&[VariableUse], &[LevelUse]),
    nodes: usize,
    color: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let head = ["VARIABLE", "READ BY", "NOT SET ON", "VALUES"].map(str::to_owned).to_vec();
    let mut sorted: Vec<&VariableUse> = variables.iter().collect();
    sorted.sort_by_key(|variable| !variable.decides_levels);
    let rows: Vec<Vec<String>> = [head].into_iter().chain(sorted.into_iter().map(row)).collect();
    table::write(&rows, color, out)?;
    let head = ["LEVEL", "NAME", "HAS DATA FOR", "LOCATIONS"].map(str::to_owned).to_vec();
    let row = |level: &LevelUse| {
        let served = match level.nodes.len() {
            0 => "no node".to_owned(),
            some if some == nodes => format!("all {}", count(nodes, "node")),
            some => format!("{some} of {}", count(nodes, "node")),
        };
        let locations: Vec<&str> = level.locations.iter().map(|location| &**location).collect();
        vec![level.place.to_string(), level.name.to_string(), served, locations.join(", ")]
    };
    writeln!(out)?;
    let rows: Vec<Vec<String>> = [head].into_iter().chain(levels.iter().map(row)).collect();
    table::write(&rows, color, out)?;
    let inert = levels.iter().filter(|level| level.nodes.is_empty()).count();
    writeln!(
        out,
        "\n{} on {}; {}, {inert} of them without data for any node",
        count(variables.len(), "variable"),
        count(nodes, "node"),
        count(levels.len(), "level")
    )
}

fn row(variable: &VariableUse) -> Vec<String> {
    let place = variable.all_places().next().map(ToString::to_string).unwrap_or_default();
    let place = match variable.all_places().count().saturating_sub(1) {
        0 => place,
        more => format!("{place} +{more}"),
    };
    let without = match variable.values.without.len() {
        0 => "-".to_owned(),
        some => format!("{some} of {}", variable.all_readers().len()),
    };
    vec![variable.name.clone(), place, without, values(variable)]
}

/// `3: Debian (120), Ubuntu (40), CentOS (1)`
fn values(variable: &VariableUse) -> String {
    let known = &variable.values.known;
    if known.len() > 1 && known.iter().all(|(_, nodes)| nodes.len() == 1) {
        return format!("{}: a different one on each node", known.len());
    }
    let mut shown: Vec<String> = known
        .iter()
        .take(MAX_VALUES)
        .map(|(value, nodes)| format!("{} ({})", shortened(value.as_ref()), nodes.len()))
        .collect();
    if known.len() > MAX_VALUES {
        shown.push("...".to_owned());
    }
    if known.is_empty() { "none".to_owned() } else { format!("{}: {}", known.len(), shown.join(", ")) }
}

fn shortened(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.to_string(),
        Some(value) => compact(value),
        None => "something else".to_owned(),
    };
    shorten(&text, MAX_COLUMNS)
}

fn as_json(variables: &[VariableUse], levels: &[LevelUse], fleet: &Fleet) -> Json {
    let variable = |variable: &VariableUse| {
        json!({
            "name": variable.name,
            "places": variable.all_places().map(ToString::to_string).collect::<Vec<_>>(),
            "decides_levels": variable.decides_levels,
            "readers": variable.all_readers().len(),
            "values": variable.values.known.len(),
            "not_set_on": fleet.names(&variable.values.without).map(|name| &**name).collect::<Vec<&str>>(),
        })
    };
    let level = |level: &LevelUse| {
        let without = fleet.all().difference(&level.nodes);
        json!({
            "place": level.place.to_string(),
            "name": &*level.name,
            "locations": level.locations.iter().map(|location| &**location).collect::<Vec<&str>>(),
            "nodes": level.nodes.len(),
            "inert_for": fleet.names(&without).map(|name| &**name).collect::<Vec<&str>>(),
        })
    };
    json!({
        "schema": "hierad.nodes.facts/1",
        "nodes": fleet.len(),
        "variables": variables.iter().map(variable).collect::<Vec<_>>(),
        "levels": levels.iter().map(level).collect::<Vec<_>>(),
    })
}
