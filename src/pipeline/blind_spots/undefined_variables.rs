//! Finds levels whose paths need a variable that a profile lacks.

use std::collections::BTreeMap;

use super::changed_files::{ChangedFiles, data_file};
use super::path_patterns::{PathPattern, patterns};
use super::{DiffContext, accept, wording};
use crate::hiera::backend::DataFile;
use crate::hiera::layer::Environment;
use crate::node::NodeSet;
use crate::report::BlindSpot;
use crate::tree::TreeError;

const UNDEFINED: &str = "undefined-variable";

impl DiffContext<'_> {
    /// Returns blind spots for variables that some profile lacks, if a path with one of them may lead to a changed
    /// file.
    pub(super) fn undefined_variables(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, TreeError> {
        let mut found: BTreeMap<String, (NodeSet, Vec<String>)> = BTreeMap::new();
        let fleet = &self.revisions.after.fleet;
        for revision in self.both_revisions() {
            for pattern in patterns(&revision.environment) {
                let led = self.led_to(&pattern, files, &revision.environment)?;
                let is_fine = |name: &&String| led.is_empty() || self.accepted.has(UNDEFINED, plain(name));
                for variable in pattern.variables().iter().filter(|name| !is_fine(name)) {
                    let nodes = fleet.nodes_without(variable);
                    if !nodes.is_empty() {
                        let known = found.entry(plain(variable).to_owned()).or_default();
                        known.0.union_with(&nodes);
                        known.1.extend(led.iter().cloned());
                    }
                }
            }
        }
        let all = self.revisions.after.fleet.len();
        let spot = |(name, (nodes, mut files)): (String, (NodeSet, Vec<String>))| {
            files.sort();
            files.dedup();
            let of = wording::nodes_of(&nodes, all);
            BlindSpot {
                code: UNDEFINED,
                headline: format!("the variable '{name}' is not set on {of}"),
                message: format!(
                    "the profiles of {of} do not set the variable '{name}', which may lead to {}",
                    wording::some(files.iter().map(String::as_str))
                ),
                fix: Some(fix(&name)),
                nodes,
                files,
                ..BlindSpot::default()
            }
        };
        Ok(found.into_iter().map(spot).collect())
    }

    /// Returns the changed files that a level may read. If its hiera.yaml changes, these are all files that it may
    /// read; if `lookup_options` change, also those with affected keys.
    fn led_to(
        &self,
        pattern: &PathPattern<'_>,
        files: &ChangedFiles,
        environment: &Environment,
    ) -> Result<Vec<String>, TreeError> {
        let is_led_to = |file: &&String| pattern.matches(file);
        let mut led: Vec<String> = files.all().filter(is_led_to).cloned().collect();
        let is_all = files.may_change_levels_of(pattern.config);
        if !is_all && !files.changes_options {
            return Ok(led);
        }
        for path in environment.data_files()?.files.iter().map(|(path, _)| path).filter(is_led_to) {
            let has_affected = |file: &DataFile| file.keys().iter().any(|key| self.affected.keys.contains_key(key));
            if is_all || data_file(environment, path)?.is_some_and(|file| has_affected(&file)) {
                led.push(path.clone());
            }
        }
        Ok(led)
    }
}

/// Returns a variable's name without leading colons. Ask the fleet for the name as written: any other makes it read all
/// profiles again.
pub(in crate::pipeline) fn plain(variable: &str) -> &str {
    variable.trim_start_matches("::")
}

/// Returns the remedy for a variable, given by its plain name, that profiles lack.
pub(in crate::pipeline) fn fix(name: &str) -> String {
    let line = accept::line(UNDEFINED, [name]);
    format!("set it in the profiles, or, if these nodes have none, put into hierad.yaml: {line}")
}
