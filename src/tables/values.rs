//! The table of effective values: a row for each key on each node that has a value or an error.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use crate::disclosure::Disclosure;
use crate::fleet::{self, Answer, Effective, Fleet, OriginClasses, Revision, parallel};
use crate::hiera::Outcome;
use crate::hiera::explain::provenance::Origin;
use crate::node::{NodeId, NodeSet};
use crate::report::{Commit, type_name};
use crate::snapshot::Manifest;
use crate::workers::Workers;

use super::file::{Cell, Kind, Names, Record, Table, names_of};
use super::{TableError, outcome_cells, time_cell};

/// The name and version of the form of the table.
pub const SCHEMA: &str = "hierad.values/1";

const COLUMNS: [(&str, Kind); 12] = [
    ("commit", Kind::Text),
    ("branch", Kind::Text),
    ("time", Kind::Time),
    ("node", Kind::Text),
    ("key", Kind::Text),
    ("status", Kind::Text),
    ("value", Kind::Text),
    ("error", Kind::Text),
    ("type", Kind::Text),
    ("level", Kind::Text),
    ("file", Kind::Text),
    ("line", Kind::Number),
];

/// The number of rows whose records are made at a time, unless a key alone has more.
const ROWS_AT_ONCE: usize = 1 << 18;

/// The effective values of a fleet at one revision.
pub struct Values<'a> {
    /// The revision.
    pub revision: &'a Revision,
    /// Its values.
    pub effective: &'a Effective,
    /// The commit, or `None` for files that are no commit.
    pub commit: Option<&'a Commit>,
    /// The branch, if it is known.
    pub branch: Option<&'a str>,
    /// The manifest, which the file carries as metadata.
    pub manifest: Manifest,
    /// The treatment of secrets.
    pub disclosure: &'a Disclosure,
}

/// Writes the table, sorted by key. Returns the number of its rows.
pub fn write(values: &Values<'_>, out: impl Write + Send, workers: &Workers) -> Result<u64, TableError> {
    let fleet = &values.revision.fleet;
    let about =
        serde_json::to_string(&Manifest { schema: SCHEMA, ..values.manifest.clone() }).map_err(io::Error::from)?;
    let mut table = Table::new(out, &COLUMNS, (SCHEMA, about), workers)?;
    let (of_all, names) = (values.of_all(), names_of(fleet));
    let origins = fleet::origins(values.revision, &fleet.everywhere(values.effective.keys.keys()), workers);
    let keys: Vec<(&Arc<str>, &Vec<Answer>)> = values.effective.keys.iter().collect();
    for keys in keys.chunks((ROWS_AT_ONCE / fleet.len().max(1)).max(1)) {
        let records = parallel::map(keys, workers, "making rows", |(key, answers)| {
            let places = Places::new(origins.get(*key), fleet);
            let of_key = [&of_all[..], &[Cell::Node, Cell::text(&***key)]].concat();
            answers.iter().flat_map(|answer| values.records(&of_key, answer, &places, &names)).collect::<Vec<_>>()
        });
        records.into_iter().flatten().try_for_each(|record| table.add(record))?;
    }
    Ok(table.finish()?)
}

impl Values<'_> {
    /// Returns the cells that all rows share, before that of the node.
    fn of_all(&self) -> [Cell; 3] {
        let text = |text: Option<&str>| text.map_or(Cell::Null, Cell::text);
        let commit = self.commit;
        [
            text(commit.map(|commit| &*commit.id)),
            text(self.branch),
            time_cell(commit.and_then(|commit| commit.time.as_deref())),
        ]
    }

    /// Returns the records of an answer, one for each place that it comes from.
    fn records(&self, of_key: &[Cell], answer: &Answer, places: &Places<'_>, names: &Names) -> Vec<Record> {
        let outcome = self.disclosure.outcome(&answer.outcome);
        let kind = if let Outcome::Found(value) = &*outcome { Cell::text(type_name(value)) } else { Cell::Null };
        let of_answer =
            [of_key, &outcome_cells(Some(&outcome), |error| error.text.visible().to_owned()), &[kind]].concat();
        let divided = places.divide(answer);
        let record = |(place, nodes): (Option<&Origin>, _)| {
            let level = place.map_or(Cell::Null, |origin| Cell::text(&*origin.level));
            let place = match &*outcome {
                Outcome::Failed(error) => error.place.as_ref(),
                _ => place.map(|origin| &origin.place),
            };
            let file = place.map_or(Cell::Null, |place| Cell::text(&*place.path));
            let line = place.and_then(|place| place.line).map_or(Cell::Null, |line| Cell::Number(line.into()));
            Record { nodes, names: names.clone(), cells: [&of_answer[..], &[level, file, line]].concat() }
        };
        divided.into_iter().map(record).collect()
    }
}

/// The places of a key's value.
struct Places<'o> {
    classes: &'o [(Origin, NodeSet)],
    /// The class of each node, by its number. It is behind the last one if the node is in none.
    class_of: Vec<usize>,
}

impl<'o> Places<'o> {
    fn new(classes: Option<&'o OriginClasses>, fleet: &Fleet) -> Places<'o> {
        let classes = classes.map_or(&[][..], Vec::as_slice);
        let mut class_of = vec![classes.len(); fleet.len()];
        for (class, (_, nodes)) in classes.iter().enumerate() {
            nodes.iter().for_each(|node| class_of[node.0 as usize] = class);
        }
        Places { classes, class_of }
    }

    /// Divides the nodes of an answer by the places of their values.
    fn divide(&self, answer: &Answer) -> Vec<(Option<&'o Origin>, Vec<NodeId>)> {
        let mut divided: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for node in answer.nodes.iter() {
            divided.entry(self.class_of[node.0 as usize]).or_default().push(node);
        }
        let origin = |class: usize| self.classes.get(class).map(|(origin, _)| origin);
        divided.into_iter().map(|(class, nodes)| (origin(class), nodes)).collect()
    }
}
