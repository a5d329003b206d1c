//! Finds the places of data that a Puppet server on JRuby reads differently.

use std::collections::BTreeMap;

use super::{Fault, READ_OTHERWISE};
use crate::blind_spots::files::read_otherwise::{ORDER_OF_GLOB, globs_of_several, places, places_of_config};
use crate::diagnostic::{Place, Severity};
use crate::fleet::Revision;
use crate::hiera::backend::DataFile;
use crate::hiera::layer::Environment;
use crate::puppet::server::Notes;
use crate::tree::{BlobId, TreeError};

/// Returns a fault for each kind of places in the data file at `path`.
pub(super) fn faults(
    environment: &Environment,
    path: &str,
    id: BlobId,
    file: &DataFile,
) -> Result<Vec<Fault>, TreeError> {
    Ok(faults_of(path, &places(environment, id, file)?))
}

/// Returns such faults for each hiera.yaml.
pub(super) fn faults_of_configs(environment: &Environment) -> Result<Vec<Fault>, TreeError> {
    let mut faults = Vec::new();
    for layer in environment.layers() {
        if let Ok(config) = &layer.config {
            faults.extend(faults_of(&config.path, &places_of_config(&*layer.tree, &config.path)?));
        }
    }
    Ok(faults)
}

fn faults_of(path: &str, notes: &Notes) -> Vec<Fault> {
    let mut faults = BTreeMap::new();
    for (line, kind) in notes.iter() {
        let fault =
            || Fault::new(Severity::Warning, READ_OTHERWISE, kind.sentence("this file")).with_fix(kind.remedy());
        faults.entry(kind).or_insert_with(fault).places.insert(Place::line(path, line));
    }
    faults.into_values().collect()
}

/// Returns the fault of a data file. If the file cannot be read but a server reads it, the text says so.
pub(super) fn qualified(fault: Fault, otherwise: &[Fault]) -> Fault {
    if fault.code != "data-syntax" || otherwise.is_empty() {
        return fault;
    }
    Fault { text: format!("{}; but a Puppet server on JRuby reads it", fault.text), ..fault }
}

/// Returns notes on things that depend on the server: the order of a glob's files, and names beyond ASCII.
pub(super) fn notes(revision: &Revision) -> Vec<Fault> {
    let note = |text: &str, fix: &str| Fault::new(Severity::Note, READ_OTHERWISE, text).with_fix(fix);
    let order = note(
        ORDER_OF_GLOB,
        "ignore this if no two of the files have the same key; else name them with \
                                     `paths`",
    );
    let globs = globs_of_several(revision).into_iter().map(|(glob, _)| Some(glob.place)).fold(order, Fault::at);
    let names = note(
        "a Puppet server whose locale is not UTF-8 does not find files with names beyond ASCII",
        "run the server with LC_ALL=C.UTF-8, or rename the file",
    );
    let reached = revision.reached_files();
    let paths = reached.iter().filter(|path| !path.is_ascii()).map(|path| Some(Place::file(path.clone())));
    let names = paths.fold(names, Fault::at);
    [globs, names].into_iter().filter(|fault| !fault.places.is_empty()).collect()
}
