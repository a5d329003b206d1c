//! Everything wrong with one revision: `hierad check`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Pipeline, PipelineError, Point};
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::disclosure::Disclosure;
use crate::fleet::{Effective, Finding, Revision};
use crate::hiera::backend::Format;
use crate::hiera::hierarchy::{Datadir, join};
use crate::hiera::layer::Environment;
use crate::hiera::{ErrorKind, LookupError, Outcome};
use crate::node::NodeSet;

/// What fails for one cause.
#[derive(Default)]
struct Failing {
    nodes: NodeSet,
    keys: BTreeSet<Arc<str>>,
}

type Causes = BTreeMap<LookupError, Failing>;

impl Pipeline {
    /// Everything wrong at `point`: configuration, data files, variables, functions, and keys that fail on some node.
    pub fn check(&self, point: Point) -> Result<Vec<Finding>, PipelineError> {
        let revision = self.revision(point)?;
        let effective = self.effective(&revision, revision.keys.iter());
        let causes = causes(&effective);
        let mut findings = Pipeline::findings(&revision);
        let faults = self.files(&revision, &causes)?;
        findings.extend(failures(&causes, &faults, &self.disclosure));
        findings.extend(faults);
        findings.extend(self.emptiness(&revision));
        findings.extend(keyless(&revision));
        findings.sort_by(|a, b| a.diagnostic.cmp(&b.diagnostic));
        findings.dedup_by(|again, first| {
            let same = again.diagnostic == first.diagnostic;
            if same {
                first.nodes.extend(&again.nodes);
            }
            same
        });
        Ok(findings)
    }

    /// Data files that cannot be read, and those that no node's hierarchy leads to.
    fn files(&self, revision: &Revision, causes: &Causes) -> Result<Vec<Finding>, PipelineError> {
        let environment = &revision.environment;
        let strict = environment.options.puppet.refuses_data_files_that_are_no_hash();
        let reached = revision.reached_files();
        let datadirs = datadirs(revision);
        let mut findings = Vec::new();
        for (path, id) in &environment.data_files()?.files {
            let is_reached = reached.contains(path.as_str());
            let is_data = datadirs.iter().any(|folder| is_below(path, folder));
            if !is_reached && !is_data {
                continue;
            }
            let place = |line| Some(Place { path: path.as_str().into(), line });
            let mut add = |diagnostic| findings.push(Finding { diagnostic, nodes: failing_on(path, causes) });
            let format = environment.format_of(path);
            let file = environment.store.files.get(&*environment.tree, *id, format)?;
            if let Some(fault) = file.fault() {
                let text = format!("the file cannot be read: {}", fault.text);
                add(Diagnostic::error("data-syntax", place(Some(fault.line)), text));
            } else if file.is_no_hash() {
                let severity = if strict || format != Format::Yaml { Severity::Error } else { Severity::Warning };
                let text = "the file holds no hash of keys and values";
                add(Diagnostic::new(severity, "data-no-hash", place(Some(1)), text));
            }
            if !is_reached && !self.fleet.is_empty() {
                let text = "no profile's hierarchy leads to this file";
                add(Diagnostic::warning("unreached-file", place(Some(1)), text));
            }
        }
        Ok(findings)
    }

    fn emptiness(&self, revision: &Revision) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.fleet.is_empty() {
            findings.push(whole(Diagnostic::warning(
                "no-profiles",
                None,
                "there are no node profiles: nothing is resolved",
            )));
        }
        if revision.keys.is_empty() {
            findings.push(whole(Diagnostic::warning("no-keys", None, "no data file gives a value to any key")));
        }
        findings.extend(absent_hierarchy(&revision.environment).map(whole));
        findings
    }
}

/// That the environment has no hiera.yaml, if so.
pub fn absent_hierarchy(environment: &Environment) -> Option<Diagnostic> {
    let place = Some(Place::file(environment.options.hiera_config.as_str()));
    let text = "there is no hiera.yaml here, or none that Puppet heeds: the environment has no data; if it lies elsewhere, name it with --hiera-config";
    environment.layer.is_none().then(|| Diagnostic::warning("no-hiera-yaml", place, text))
}

/// Levels of encrypted data that there is no key for.
fn keyless(revision: &Revision) -> impl Iterator<Item = Finding> {
    revision.keyless_levels().into_iter().map(|((place, name), nodes)| {
        let text = format!("no key here for this level, '{name}': what is encrypted in it compares by its ciphertext");
        Finding { diagnostic: Diagnostic::note("eyaml-no-key", Some(place), text), nodes }
    })
}

/// The keys that fail, by cause.
fn causes(effective: &Effective) -> Causes {
    let mut causes = Causes::new();
    for (key, answers) in &effective.keys {
        for answer in answers {
            if let Outcome::Failed(error) = &*answer.outcome {
                let failing = causes.entry(error.clone()).or_default();
                failing.nodes.extend(&answer.nodes);
                failing.keys.insert(key.clone());
            }
        }
    }
    causes
}

/// The nodes on which something fails for what is in the file at `path`.
fn failing_on(path: &str, causes: &Causes) -> NodeSet {
    let mut nodes = NodeSet::new();
    let of_file = |error: &LookupError| error.place.as_ref().is_some_and(|place| *place.path == *path);
    causes.iter().filter(|(error, _)| of_file(error)).for_each(|(_, failing)| nodes.extend(&failing.nodes));
    nodes
}

/// Keys that fail, one finding for each cause; those that fail for one of `faults`, a file as a whole, are told already.
fn failures(causes: &Causes, faults: &[Finding], disclosure: &Disclosure) -> Vec<Finding> {
    let files: BTreeSet<&Arc<str>> = faults
        .iter()
        .filter(|fault| matches!(fault.diagnostic.code, "data-syntax" | "data-no-hash"))
        .filter_map(|fault| Some(&fault.diagnostic.place.as_ref()?.path))
        .collect();
    let told = |error: &LookupError| error.place.as_ref().is_some_and(|place| files.contains(&place.path));
    let causes = causes.iter().filter(|(error, _)| !told(error));
    causes
        .map(|(error, failing)| {
            let keys = match (failing.keys.len(), failing.keys.first()) {
                (1, Some(key)) => format!("'{key}' fails"),
                (count, Some(key)) => format!("{count} keys fail, such as '{key}'"),
                (_, None) => String::new(),
            };
            let error = disclosure.error(error);
            let text = format!("{keys}: {}", error.text.visible());
            let diagnostic = Diagnostic::error(code(&error), error.place.clone(), text);
            Finding { diagnostic, nodes: failing.nodes.clone() }
        })
        .collect()
}

/// The name of the kind of failure.
fn code(error: &LookupError) -> &'static str {
    if missing_function(&error.text).is_some() {
        return UNKNOWN_FUNCTION;
    }
    if error.kind == ErrorKind::Unknown { "unknown-value" } else { "lookup-error" }
}

/// The code of keys that fail for want of a function.
pub const UNKNOWN_FUNCTION: &str = "unknown-function";

/// The data provider function that a lookup failed for want of, by the text of the failure.
pub fn missing_function(text: &str) -> Option<&str> {
    let rest = text
        .split_once("Unable to find '")
        .and_then(|(_, rest)| Some(rest.split_once("' function named '")?.1))
        .or_else(|| Some(text.split_once("the function '")?.1).filter(|rest| rest.contains("' is not supported")));
    Some(rest?.split_once('\'')?.0)
}

fn whole(diagnostic: Diagnostic) -> Finding {
    Finding { diagnostic, nodes: NodeSet::new() }
}

/// The folders that levels look for data in, as far as they do not depend on variables.
fn datadirs(revision: &Revision) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for layer in revision.environment.layers() {
        let Ok(config) = &layer.config else { continue };
        for level in config.all_levels() {
            let datadir = mapped(&join(&layer.root, &level.datadir), &revision.environment.options.datadirs);
            let fixed = match datadir.split_once("%{") {
                Some((fixed, _)) => fixed.rsplit_once('/').map_or("", |(folder, _)| folder),
                None => &datadir,
            };
            folders.insert(fixed.to_owned());
        }
    }
    folders
}

/// An absolute datadir as the settings map it into the repository, if they do.
fn mapped(datadir: &str, datadirs: &[(String, Datadir)]) -> String {
    let below = |(from, to): &(String, Datadir)| match (datadir.strip_prefix(from.trim_end_matches('/')), to) {
        (Some(rest), Datadir::Folder(folder)) if rest.is_empty() || rest.starts_with('/') => {
            Some(join(folder, rest.trim_start_matches('/')))
        }
        _ => None,
    };
    datadirs.iter().find_map(below).unwrap_or_else(|| datadir.to_owned())
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
