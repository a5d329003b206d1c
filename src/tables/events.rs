//! The table of events: a row for each key on each node that a commit, or new facts, changed.

use std::io::Write;
use std::sync::Arc;

use crate::fleet::Fleet;
use crate::hiera::LookupError;
use crate::report::{Between, KeyChange, Report};
use crate::workers::Workers;

use super::file::{Cell, Kind, Names, Record, Table, names_of};
use super::{TableError, outcome_cells, time_cell};

/// The name and version of the form of the table.
pub const SCHEMA: &str = "hierad.events/1";

const COLUMNS: [(&str, Kind); 15] = [
    ("commit", Kind::Text),
    ("branch", Kind::Text),
    ("time", Kind::Time),
    ("author", Kind::Text),
    ("summary", Kind::Text),
    ("event", Kind::Text),
    ("node", Kind::Text),
    ("key", Kind::Text),
    ("kind", Kind::Text),
    ("before_status", Kind::Text),
    ("before", Kind::Text),
    ("before_error", Kind::Text),
    ("after_status", Kind::Text),
    ("after", Kind::Text),
    ("after_error", Kind::Text),
];

/// The table while it is written, report by report.
pub struct Events<'t, W: Write + Send> {
    table: Table<'t, W>,
    branch: Cell,
    /// The fleet of the last report, with the names of its nodes.
    known: Option<(Arc<Fleet>, Names)>,
}

impl<'t, W: Write + Send> Events<'t, W> {
    /// Begins a table of what happened on a branch, if that is known.
    pub fn new(out: W, branch: Option<&str>, workers: &'t Workers) -> Result<Events<'t, W>, TableError> {
        let about = format!("{{\"schema\":\"{SCHEMA}\",\"hierad\":\"{}\"}}", env!("CARGO_PKG_VERSION"));
        let table = Table::new(out, &COLUMNS, (SCHEMA, about), workers)?;
        Ok(Events { table, branch: branch.map_or(Cell::Null, Cell::text), known: None })
    }

    /// Adds the changes of an entry of the history.
    pub fn add(&mut self, report: &Report) -> Result<(), TableError> {
        let (of_report, names) = (self.of_report(report), self.names(&report.names.fleet));
        for change in report.changes.iter().flat_map(KeyChange::each_variant) {
            let of_change = [Cell::Node, Cell::text(&*change.key), Cell::text(change.kind.as_str())];
            let [before, after] = [&change.outcome.before, &change.outcome.after];
            let [before, after] =
                [before, after].map(|outcome| outcome_cells(outcome.as_deref(), LookupError::to_string));
            let nodes = change.nodes.iter().collect();
            let cells = [&of_report[..], &of_change, &before, &after].concat();
            self.table.add(Record { nodes, names: names.clone(), cells })?;
        }
        Ok(())
    }

    /// Returns the names of the nodes of a fleet: facts may have changed on nodes that are gone by now.
    fn names(&mut self, fleet: &Arc<Fleet>) -> Names {
        match &self.known {
            Some((known, names)) if Arc::ptr_eq(known, fleet) => names.clone(),
            _ => self.known.insert((fleet.clone(), names_of(fleet))).1.clone(),
        }
    }

    /// Returns the cells that all changes of a report share.
    fn of_report(&self, report: &Report) -> [Cell; 6] {
        let (commit, is_of_facts) = (report.commit.after.as_ref(), report.between == Between::Facts);
        // Facts change after a commit: neither its author nor its time are theirs.
        let made = commit.filter(|_| !is_of_facts);
        let time = if is_of_facts { &report.facts_time } else { &made.and_then(|commit| commit.time.clone()) };
        let text = |text: Option<&String>| text.map_or(Cell::Null, Cell::text);
        [
            text(commit.map(|commit| &commit.id)),
            self.branch.clone(),
            time_cell(time.as_deref()),
            text(made.map(|commit| &commit.author)),
            text(made.map(|commit| &commit.summary)),
            Cell::text(if is_of_facts { "facts" } else { "commit" }),
        ]
    }

    /// Ends the table. Returns the number of its rows.
    pub fn finish(self) -> Result<u64, TableError> {
        Ok(self.table.finish()?)
    }
}
