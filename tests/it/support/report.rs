//! Reports in JSON with what their tables hold put back in its places.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

/// Reads a report.
#[track_caller]
pub(crate) fn read(text: impl AsRef<[u8]>) -> Json {
    filled(serde_json::from_slice(text.as_ref()).unwrap())
}

/// Returns true for a report, as opposed to other documents.
pub(crate) fn is_report(json: &Json) -> bool {
    json["schema"].as_str().is_some_and(|schema| schema.starts_with("hierad.diff/"))
}

/// Returns a report that needs no table: sets of nodes are lists of names, a place is in each origin, and each variant
/// of a change with a template is a change of its own. Other documents stay as they are.
pub(crate) fn filled(mut report: Json) -> Json {
    if !is_report(&report) {
        return report;
    }
    let tables = Tables::take(report.as_object_mut().unwrap());
    let mut sets: Vec<Vec<usize>> = tables.sets.clone();
    let changes = report["changes"].as_array().unwrap();
    let mut all: Vec<Json> = Vec::new();
    let mut numbers: Vec<Vec<usize>> = vec![Vec::new(); changes.len()];
    for of_key in (0..changes.len()).collect::<Vec<_>>().chunk_by(|a, b| changes[*a]["key"] == changes[*b]["key"]) {
        let mut filled: Vec<(Vec<usize>, usize, Json)> = Vec::new();
        for at in of_key {
            filled.extend(tables.variants(&changes[*at]).into_iter().map(|(nodes, change)| (nodes, *at, change)));
        }
        filled.sort_by_key(|(nodes, ..)| nodes.first().copied());
        for (nodes, at, mut change) in filled {
            let known = sets.iter().position(|set| *set == nodes);
            change["nodes"] = known.unwrap_or(sets.len()).into();
            sets.extend(known.is_none().then_some(nodes));
            numbers[at].push(all.len());
            all.push(change);
        }
    }
    report["changes"] = all.into();
    for group in report["groups"].as_array_mut().unwrap() {
        let changes = group["changes"].as_array().unwrap().iter().flat_map(|at| &numbers[index(at)]);
        let mut changes: Vec<usize> = changes.copied().collect();
        changes.sort_unstable();
        group["changes"] = changes.into();
    }
    tables.fill_places(&mut report);
    let names = |set: &Vec<usize>| -> Json { set.iter().map(|at| tables.names[*at].clone()).collect() };
    report["node_sets"] = sets.iter().map(names).collect();
    report
}

struct Tables {
    names: Vec<Json>,
    sets: Vec<Vec<usize>>,
    variables: Vec<Json>,
    places: Vec<Json>,
}

impl Tables {
    fn take(report: &mut Map<String, Json>) -> Tables {
        let mut take = |name: &str| match report.remove(name) {
            Some(Json::Array(items)) => items,
            other => panic!("{name}: {other:?}"),
        };
        let set = |set: &Json| set.as_array().unwrap().iter().flat_map(positions).collect();
        let sets = take("node_sets").iter().map(set).collect();
        Tables { sets, names: take("node_names"), variables: take("variables"), places: take("places") }
    }

    /// The variants of a change, each with its nodes.
    fn variants(&self, change: &Json) -> Vec<(Vec<usize>, Json)> {
        let nodes = &self.sets[index(&change["nodes"])];
        let mut change = change.clone();
        let Some(template) = change.as_object_mut().unwrap().remove("template") else {
            return vec![(nodes.clone(), change)];
        };
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut variants: Vec<(Vec<usize>, Json)> = Vec::new();
        for node in nodes {
            let mut variant = change.clone();
            let fill = |part: &mut Json| self.fill_texts(part, template["mark"].as_str().unwrap(), *node);
            for part in ["before", "after", "leaves"] {
                fill(&mut variant[part]);
            }
            let number = *known.entry(variant.to_string()).or_insert(variants.len());
            if number == variants.len() {
                variants.push((Vec::new(), variant));
            }
            variants[number].0.push(*node);
        }
        variants
    }

    /// Replaces the marks of the texts in a value, in one pass.
    fn fill_texts(&self, value: &mut Json, mark: &str, node: usize) {
        match value {
            Json::String(text) => {
                let mut pieces = text.split(mark);
                let mut filled = pieces.next().unwrap().to_owned();
                for piece in pieces {
                    let (variable, rest) = piece.split_once(';').unwrap();
                    filled += self.variables[variable.parse::<usize>().unwrap()][node].as_str().unwrap();
                    filled += rest;
                }
                *text = filled;
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.fill_texts(item, mark, node)),
            Json::Object(fields) => fields.values_mut().for_each(|field| self.fill_texts(field, mark, node)),
            _ => {}
        }
    }

    fn fill_places(&self, report: &mut Json) {
        for leaf in list(report, "changes").flat_map(|change| list(change, "leaves")) {
            for side in ["before", "after"] {
                self.fill_origin(&mut leaf[side]);
                if let Some(sources) = leaf.get_mut("sources") {
                    list(sources, side).for_each(|source| *source = self.place(source));
                }
            }
        }
        list(report, "reencrypted").for_each(|secret| self.fill_origin(secret));
        for lines in list(report, "lines") {
            self.fill_by(lines);
            list(lines, "reasons").for_each(|reason| self.fill_by(reason));
        }
        list(report, "policies").flat_map(|policy| list(policy, "places")).for_each(|place| *place = self.line(place));
    }

    fn fill_origin(&self, part: &mut Json) {
        if let Some(origin) = part.get_mut("origin") {
            *origin = self.place(origin);
        }
    }

    fn fill_by(&self, entry: &mut Json) {
        if let Some(place) = entry.get_mut("by") {
            *place = self.line(place);
        }
    }

    fn line(&self, place: &Json) -> Json {
        let place = &self.places[index(place)];
        json!({"path": place[0], "line": place[1]})
    }

    /// An origin or a source.
    fn place(&self, entry: &Json) -> Json {
        let mut filled = self.line(&entry["place"]);
        let level = &self.places[index(&entry["place"])][2];
        [("level", level), ("how", &entry["how"])]
            .into_iter()
            .filter(|(_, field)| !field.is_null())
            .for_each(|(name, field)| filled[name] = field.clone());
        filled
    }
}

/// The items of a list in a field, which may be missing.
fn list<'r>(object: &'r mut Json, field: &str) -> impl Iterator<Item = &'r mut Json> {
    object.get_mut(field).and_then(Json::as_array_mut).into_iter().flatten()
}

fn positions(item: &Json) -> Vec<usize> {
    match item {
        Json::Array(range) => (index(&range[0])..=index(&range[1])).collect(),
        one => vec![index(one)],
    }
}

fn index(number: &Json) -> usize {
    usize::try_from(number.as_u64().unwrap()).unwrap()
}
