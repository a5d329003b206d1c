//! Everything wrong with one revision: `hierad check`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Pipeline, PipelineError, Point};
use crate::diagnostic::{Diagnostic, Place};
use crate::fleet::{Effective, Finding, Revision, data_files};
use crate::hiera::backend::Format;
use crate::hiera::{ErrorKind, LookupError, Outcome};
use crate::node::NodeSet;

impl Pipeline {
    /// Everything wrong at `point`: configuration, data files, variables, functions, and keys that fail on some node.
    pub fn check(&self, point: Point) -> Result<Vec<Finding>, PipelineError> {
        let revision = self.revision(point)?;
        let effective = self.effective(&revision, &revision.keys);
        let mut findings = Pipeline::findings(&revision);
        findings.extend(self.files(&revision)?);
        let failures = self.failures(&effective, &findings);
        findings.extend(failures);
        findings.extend(self.emptiness(&revision));
        findings.sort_by(|a, b| a.diagnostic.cmp(&b.diagnostic));
        findings.dedup_by(|a, b| a.diagnostic == b.diagnostic);
        Ok(findings)
    }

    /// Data files that cannot be read, and those that no node's hierarchy leads to.
    fn files(&self, revision: &Revision) -> Result<Vec<Finding>, PipelineError> {
        let environment = &revision.environment;
        let reached = revision.reached_files();
        let datadirs = datadirs(revision);
        let mut findings = Vec::new();
        for (path, id) in data_files(&*environment.tree)? {
            let place = |line| Some(Place { path: path.as_str().into(), line });
            let is_reached = reached.contains(&*path);
            let in_datadir = datadirs.iter().any(|folder| is_below(&path, folder));
            if !is_reached && !in_datadir {
                continue;
            }
            let file = environment.store.files.get(&*environment.tree, id, Format::of_path(&path))?;
            if let Some(fault) = file.fault() {
                let text = format!("the file cannot be read: {}", fault.text);
                findings.push(Diagnostic::error("data-syntax", place(Some(fault.line)), text));
            } else if file.is_no_hash() {
                findings.push(Diagnostic::warning(
                    "data-no-hash",
                    place(Some(1)),
                    "the file holds no hash of keys and values",
                ));
            }
            if !is_reached && !self.fleet.is_empty() {
                let text = "no profile's hierarchy leads to this file";
                findings.push(Diagnostic::warning("unreached-file", place(Some(1)), text));
            }
        }
        Ok(findings.into_iter().map(whole).collect())
    }

    /// Keys that fail, one finding for each cause.
    fn failures(&self, effective: &Effective, known: &[Finding]) -> Vec<Finding> {
        let mut causes: BTreeMap<LookupError, (NodeSet, BTreeSet<Arc<str>>)> = BTreeMap::new();
        for (key, answers) in &effective.keys {
            for answer in answers {
                if let Outcome::Failed(error) = &*answer.outcome {
                    let (nodes, keys) = causes.entry(error.clone()).or_default();
                    nodes.extend(&answer.nodes);
                    keys.insert(key.clone());
                }
            }
        }
        let told = |error: &LookupError| {
            error.place.is_some()
                && known
                    .iter()
                    .any(|finding| finding.diagnostic.place == error.place && finding.diagnostic.code == "data-syntax")
        };
        let finding = |(error, (nodes, keys)): (LookupError, (NodeSet, BTreeSet<Arc<str>>))| {
            let code = if error.kind == ErrorKind::Unknown { "unknown-value" } else { "lookup-error" };
            let keys = match (keys.len(), keys.first()) {
                (1, Some(key)) => format!("'{key}'"),
                (count, Some(key)) => format!("{count} keys, '{key}' the first of them,"),
                _ => return None,
            };
            let verb = if keys.starts_with('\'') { "fails" } else { "fail" };
            let text = format!("{keys} {verb}: {}", error.text);
            Some(Finding { diagnostic: Diagnostic::error(code, error.place, text), nodes })
        };
        causes.into_iter().filter(|(error, _)| !told(error)).filter_map(finding).collect()
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
        if revision.environment.layer.is_none() {
            let place = Some(Place::file(revision.environment.options.hiera_config.as_str()));
            let text = "there is no hiera.yaml of version 5 here: the environment has no data";
            findings.push(whole(Diagnostic::warning("no-hiera-yaml", place, text)));
        }
        findings
    }
}

fn whole(diagnostic: Diagnostic) -> Finding {
    Finding { diagnostic, nodes: NodeSet::new() }
}

/// The folders that levels look for data in, as far as they do not depend on variables.
fn datadirs(revision: &Revision) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for layer in revision.environment.layers() {
        let Ok(config) = &layer.config else { continue };
        for level in &config.levels {
            let datadir = crate::hiera::hierarchy::join(&layer.root, &level.datadir);
            let fixed = match datadir.split_once("%{") {
                Some((fixed, _)) => fixed.rsplit_once('/').map_or("", |(folder, _)| folder),
                None => &datadir,
            };
            folders.insert(fixed.to_owned());
        }
    }
    folders
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
