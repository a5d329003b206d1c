//! `hierad nodes show`.

use std::io::Write;

use clap::Args;
use serde_json::{Map, Value as Json, json};

use super::super::lookup::unknown_node;
use super::super::{Global, Result, Status, output};
use crate::cli::arguments::inspection::Format;
use crate::cli::output::pager::Paged;
use crate::cli::output::table;
use crate::inventory::{Described, Origin};
use crate::node::{Catalog, FACTS, FIELDS, Field, Names, VARIABLES, timestamp};
use crate::puppet::json::compact;
use crate::report::shorten;
use crate::value::Value;
use crate::visible::{visible, visible_json};

/// The maximum width of a value, unless `--full` is given.
const MAX_COLUMNS: usize = 60;

/// Arguments of `nodes show`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The node
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    output: super::Output,
    /// Shorten no value
    #[arg(long)]
    full: bool,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let branch = workspace.branch("HEAD")?;
    let fleet = workspace.fleet(&workspace.revisions(), branch.as_ref(), &[], &|_| true, &|error| {
        global.print_profile_error(error);
    })?;
    if fleet.find(&arguments.name).is_none() {
        return Err(unknown_node(&arguments.name, &fleet));
    }
    let described = super::inventory(&workspace)?.describe(&arguments.name)?;
    drop(progress);
    let described = described.ok_or_else(|| unknown_node(&arguments.name, &fleet))?;
    let (mut out, color) =
        (Paged::of(arguments.output.format == Format::Text, &workspace, global), output::color(global));
    match arguments.output.format {
        Format::Text => text(&described, arguments.full, color, &mut out)?,
        Format::Json => writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&as_json(&described))?))?,
    }
    out.finish()?;
    Ok(Status::Done)
}

/// A variable with its value, and the number of its origin.
struct VariableRow {
    name: String,
    value: String,
    origin: Option<usize>,
}

/// Writes the origins with their numbers, and a line for each value inside of the variables.
fn text(described: &Described, is_full: bool, color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", visible(&described.profile.name))?;
    for (number, origin) in described.origins.iter().enumerate() {
        writeln!(out, "  {}  {}", number + 1, visible(&in_words(origin)))?;
    }
    writeln!(out)?;
    let row = |variable: VariableRow| {
        let value = if is_full { variable.value } else { shorten(&variable.value, MAX_COLUMNS) };
        let from = variable.origin.map_or_else(|| "the name".to_owned(), |number| (number + 1).to_string());
        vec![variable.name, from, value]
    };
    let head = ["VARIABLE", "FROM", "VALUE"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(variable_rows(described).into_iter().map(row)).collect();
    table::write(&rows, color, out)?;
    catalog(&described.profile.catalog, is_full, out)
}

/// Writes what is known about the node's last catalog.
fn catalog(Catalog { classes, keys }: &Catalog, is_full: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let listed = |names: &Names| {
        let names = visible(&names.iter().collect::<Vec<_>>().join(", ")).into_owned();
        if names.is_empty() {
            "none".to_owned()
        } else if is_full {
            names
        } else {
            shorten(&names, MAX_COLUMNS)
        }
    };
    if let Some(classes) = classes {
        writeln!(out, "\nclasses in its last catalog ({}): {}", classes.iter().count(), listed(classes))?;
    }
    if let Some(keys) = keys {
        let what =
            if classes.is_some() { "other keys looked up for it" } else { "\nkeys looked up for its last catalog" };
        writeln!(out, "{what} ({}): {}", keys.iter().count(), listed(keys))?;
    }
    Ok(())
}

/// `profiles/web01.yaml:1`, `PuppetDB at https://..., asked 5 min ago, facts 20 min old`
fn in_words(origin: &Origin) -> String {
    let what = match origin.fetched {
        Some(time) => format!("{}, asked {} ago", origin.entry, table::age(time.cast_signed())),
        None => origin.place.clone(),
    };
    let age = origin.time.map(|time| format!(", facts {} old", table::age(time)));
    what + &age.unwrap_or_default()
}

fn variable_rows(described: &Described) -> Vec<VariableRow> {
    let profile = &described.profile;
    let mut rows = Vec::new();
    let mut fields: Vec<(&Field, &str)> = FIELDS.iter().filter_map(|field| Some((field, field.prefix?))).collect();
    // Facts come last, since there are many.
    fields.sort_by_key(|(field, _)| field.name == FACTS);
    for (field, prefix) in fields {
        let hash = match field.written(profile) {
            Value::Undef => continue,
            Value::Hash(hash) => hash,
            value => {
                let origin = described.origin_of(field.name, "");
                visit_leaves(field.name.to_owned(), &value, &mut |name, value| {
                    rows.push(VariableRow { name, value, origin });
                });
                continue;
            }
        };
        let mut entries: Vec<(String, &Value)> = hash.iter().map(|(key, value)| (key.to_s(), value)).collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        for (key, value) in entries {
            let origin = described.origin_of(field.name, &key);
            let name = if prefix.is_empty() { segment(&key) } else { format!("{prefix}.{}", segment(&key)) };
            visit_leaves(name, value, &mut |name, value| rows.push(VariableRow { name, value, origin }));
        }
    }
    rows.extend(profile.unresolved.iter().map(|(name, reason)| VariableRow {
        name: segment(name),
        value: reason.to_string(),
        origin: described.origin_of(VARIABLES, name),
    }));
    rows
}

/// Calls `visit` for each value except non-empty hashes and arrays, under the name that data would use.
fn visit_leaves(name: String, value: &Value, visit: &mut dyn FnMut(String, String)) {
    match value {
        Value::Hash(hash) if !hash.is_empty() => {
            hash.iter().for_each(|(key, value)| visit_leaves(format!("{name}.{}", segment(&key.to_s())), value, visit));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, item)| visit_leaves(format!("{name}.{at}"), item, visit));
        }
        Value::String(text) => visit(name, text.to_string()),
        other => visit(name, compact(other)),
    }
}

/// Returns the name of an entry as an interpolation writes it.
fn segment(name: &str) -> String {
    if name.is_empty() || name.contains('.') { format!("'{name}'") } else { name.to_owned() }
}

fn as_json(described: &Described) -> Json {
    let origins = described.origins.iter().map(|origin| {
        json!({
            "source": origin.entry,
            "place": origin.place,
            "fetched": origin.fetched.and_then(|time| timestamp(time.cast_signed())),
            "time": origin.time.and_then(timestamp),
        })
    });
    let variables = variable_rows(described).into_iter().map(|row| {
        let VariableRow { name, value, origin } = row;
        (name, json!({"value": value, "origin": origin}))
    });
    let mut node = json!({
        "schema": "hierad.node/1",
        "name": &*described.profile.name,
        "origins": origins.collect::<Vec<_>>(),
        "variables": variables.collect::<Map<_, _>>(),
    });
    let Catalog { classes, keys } = &described.profile.catalog;
    let known = [("classes", classes), ("keys", keys)].into_iter();
    let known: Map<String, Json> =
        known.filter_map(|(what, names)| Some((what.to_owned(), names.as_ref()?.iter().collect()))).collect();
    if !known.is_empty() {
        node["catalog"] = known.into();
    }
    node
}
