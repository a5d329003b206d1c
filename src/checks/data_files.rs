//! Finds data files that cannot be read, and those that no node's hierarchy leads to.

use std::collections::{BTreeMap, BTreeSet};

use super::failing_keys::with_failing_keys;
use super::{Fault, Pipeline, PipelineError, absent_keys, read_otherwise, unaskable_keys};
use crate::blind_spots::accept::{self, Accepted};
use crate::blind_spots::files::changed::MOST_ACCEPTED;
use crate::blind_spots::files::misnamed::Misnamed;
use crate::blind_spots::keys::callers::patterns_of_callers;
use crate::blind_spots::keys::failing::Causes;
use crate::blind_spots::levels::variables::{fix_of_fact, plain};
use crate::diagnostic::{Place, Severity, Subject};
use crate::fleet::Revision;
use crate::hiera::backend::{DataFile, Format};
use crate::hiera::layer::path_patterns::{PathPattern, datadirs, is_below, patterns};
use crate::report::Remedy;
use crate::tree::child;

const UNREACHED: &str = "unreached-file";

impl Pipeline {
    /// Returns the faults of data files and, in the second list, the files that no node reads.
    pub(super) fn data_faults(
        &self,
        revision: &Revision,
        causes: &Causes,
        accepted: &Accepted,
    ) -> Result<(Vec<Fault>, Vec<Fault>), PipelineError> {
        let environment = &revision.environment;
        let strict = environment.options.puppet.refuses_data_files_that_are_no_hash();
        let reached = revision.reached_files();
        let datadirs = datadirs(environment);
        let misnamed = Misnamed::all(revision)?;
        let patterns_of_callers = patterns_of_callers(environment);
        let by_facts = by_facts(revision);
        let (mut faults, mut folders) = (Vec::new(), Folders::default());
        for (path, id) in &environment.data_files()?.files {
            let is_reached = reached.contains(path.as_str());
            let is_data = datadirs.iter().any(|folder| is_below(path, folder));
            if !is_reached && !is_data {
                continue;
            }
            let format = environment.format_of(path);
            let file = environment.data_file(path, *id)?;
            let otherwise = read_otherwise::faults(environment, path, *id, &file)?;
            let fault = fault_of(path, &file, format, strict);
            let fault = fault.map(|fault| read_otherwise::qualified(fault, &otherwise));
            faults.extend(otherwise);
            faults.extend(fault.map(|fault| with_failing_keys(fault, path, causes)));
            if is_reached {
                faults.extend(absent_keys::faults(path, &file, revision));
                faults.extend(unaskable_keys::faults(path, &file));
            }
            let is_misnamed = misnamed.binary_search_by(|file| file.path.cmp(path)).is_ok();
            let is_of_caller = patterns_of_callers.iter().any(|pattern| pattern.matches(path));
            let is_fine = is_misnamed || is_of_caller || accepted.has(UNREACHED, path);
            let fact = || by_facts.iter().find(|(pattern, _)| pattern.matches(path)).map(|(_, fix)| fix.to_string());
            let is_fine = is_reached || is_fine;
            folders.add(path, &datadirs, is_fine, if is_fine { None } else { fact() });
        }
        let mut unreached = if self.fleet.is_empty() { Vec::new() } else { folders.faults() };
        let not_accepted: Vec<&Misnamed> =
            misnamed.iter().filter(|file| !accepted.has(UNREACHED, &file.path)).collect();
        unreached.extend(fault_of_names(&not_accepted));
        Ok((faults, unreached))
    }
}

/// Returns the paths with one of Facter's facts that some node lacks, each with the remedy.
fn by_facts(revision: &Revision) -> Vec<(PathPattern<'_>, Remedy)> {
    let lacking = |name: &&str| !revision.fleet.nodes_without(name).is_empty();
    let fix = |pattern: &PathPattern<'_>| {
        let of_facts = pattern.variables().into_iter().filter_map(|name| Some((name, fix_of_fact(plain(name))?)));
        of_facts.filter(|(name, _)| lacking(name)).map(|(_, fix)| fix).next()
    };
    patterns(&revision.environment).into_iter().filter_map(|pattern| fix(&pattern).map(|fix| (pattern, fix))).collect()
}

/// Returns the fault of files whose names keep levels from reading them, or `None` if there are none.
fn fault_of_names(files: &[&Misnamed]) -> Option<Fault> {
    let (text, advice) = Misnamed::fault_and_fix(files)?;
    let line = accept::line(UNREACHED, files.iter().take(MOST_ACCEPTED).map(|file| &*file.path));
    let fault = Fault::new(Severity::Warning, UNREACHED, text);
    let fault = fault.with_fix(format!("{advice}; or add to hierad.yaml: {line}"));
    Some(files.iter().fold(fault, |fault, file| fault.at(Some(Place::line(&*file.path, 1)))))
}

/// Returns the fault of a data file as a whole, or `None` if it has none.
fn fault_of(path: &str, file: &DataFile, format: Format, strict: bool) -> Option<Fault> {
    if let Some(fault) = file.fault() {
        let text = format!("the file cannot be read: {}", fault.text.replace(['\n', '\r'], " "));
        let syntax_fault = Fault::new(Severity::Error, "data-syntax", text).at(Some(Place::line(path, fault.line)));
        // Puppet itself accepts aliases.
        let is_told = |subject: &Subject| *subject != Subject::Alias || format == Format::Hiera3Yaml;
        return Some(syntax_fault.about(fault.subject().filter(is_told).as_ref()));
    }
    let severity =
        if strict || !matches!(format, Format::Yaml | Format::Yaml34) { Severity::Error } else { Severity::Warning };
    let no_hash_fault = || Fault::new(severity, "data-no-hash", "the file contains no hash of keys and values");
    file.is_no_hash().then(|| no_hash_fault().at(Some(Place::line(path, 1))))
}

/// The number of data files in each folder of a datadir, and those among them that no node reads.
#[derive(Default)]
struct Folders(BTreeMap<String, Folder>);

#[derive(Default)]
struct Folder {
    /// A pattern that matches the files that are counted here.
    pattern: String,
    files: usize,
    unreached: Vec<String>,
    /// The remedy if nodes may read one of these by facts that their profiles lack.
    fact: Option<String>,
}

/// Returns a pattern for the files directly in a folder.
fn files_of(folder: &str) -> String {
    let prefix = if folder.is_empty() { String::new() } else { format!("{}/", regex::escape(folder)) };
    format!("re:^{prefix}[^/]*$")
}

impl Folders {
    /// Adds a file. `fact` is the remedy if no node reads it, but nodes may do so by facts that their profiles lack.
    fn add(&mut self, path: &str, datadirs: &BTreeSet<String>, is_reached: bool, fact: Option<String>) {
        let below = datadirs.iter().filter(|datadir| is_below(path, datadir)).max_by_key(|datadir| datadir.len());
        let datadir = below.map_or("", |datadir| datadir.as_str());
        let rest = path[datadir.len()..].trim_start_matches('/');
        let below = rest.split_once('/').map(|(name, _)| child(datadir, name));
        let pattern = below.as_ref().map_or_else(|| files_of(datadir), |folder| child(folder, "*"));
        let folder = self.0.entry(below.unwrap_or_else(|| datadir.to_owned())).or_default();
        folder.pattern = pattern;
        folder.files += 1;
        folder.unreached.extend((!is_reached).then(|| path.to_owned()));
        folder.fact = folder.fact.take().or(fact);
    }

    /// Returns a fault for each folder with files that no node reads.
    fn faults(self) -> Vec<Fault> {
        self.0.into_iter().filter_map(|(name, folder)| folder.fault(&name)).collect()
    }
}

impl Folder {
    fn fault(self, name: &str) -> Option<Fault> {
        let shown = if name.is_empty() { "the root".to_owned() } else { format!("{name}/") };
        let (text, pattern) = match (&*self.unreached, self.files) {
            ([], _) => return None,
            ([file], _) => (format!("no known node's hierarchy leads to {file}"), file.clone()),
            (files, all) if files.len() == all => {
                (format!("no known node's hierarchy leads to any of the {all} files in {shown}"), self.pattern)
            }
            (files, all) => {
                let count = files.len();
                (format!("no known node's hierarchy leads to {count} of the {all} files in {shown}"), self.pattern)
            }
        };
        let they_are = if self.unreached.len() == 1 { "it is" } else { "they are" };
        let line = accept::line(UNREACHED, [&*pattern]);
        let other = || format!("add profiles of the nodes that {they_are} for, or add to hierad.yaml: {line}");
        let fix = self.fact.unwrap_or_else(other);
        let fault = Fault::new(Severity::Warning, UNREACHED, text).with_fix(fix);
        let places = self.unreached.iter().map(|file| Some(Place::line(file.as_str(), 1)));
        Some(places.fold(fault, Fault::at))
    }
}
