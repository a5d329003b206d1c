//! Finds levels and data that depend on the caller: parameters of classes are looked up with the variables of their
//! own scope.

use std::collections::{BTreeMap, BTreeSet};

use crate::blind_spots::files::changed::{ChangedFiles, data_file};
use crate::blind_spots::levels::variables::{UNDEFINED, fix, is_of_caller, plain};
use crate::blind_spots::{DiffContext, wording};
use crate::fleet::Revision;
use crate::hiera::key::asks_for;
use crate::hiera::layer::Environment;
use crate::hiera::layer::path_patterns::{PathPattern, patterns, patterns_of_hiera3};
use crate::report::BlindSpot;
use crate::tree::TreeError;

/// The files that a commit may change for some callers, by variable.
type FilesByVariable = BTreeMap<String, BTreeSet<String>>;

impl DiffContext<'_> {
    /// Returns blind spots for variables that depend on the caller, if levels with them may read a changed file, or a
    /// file with affected keys, or if data that the commit may change contains them.
    pub(crate) fn callers(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, TreeError> {
        let mut found = FilesByVariable::new();
        for revision in self.both_revisions() {
            self.add_levels(revision, files, &mut found)?;
            self.add_data(revision, files, &mut found)?;
        }
        found.retain(|name, _| !self.accepted.has(UNDEFINED, name));
        let spot = |(name, files): (String, BTreeSet<String>)| {
            let headline = format!("the variable '{name}' depends on the caller");
            let names = wording::some(files.iter().map(String::as_str));
            let message = format!(
                "{headline}: the value shown is that of the top scope, and classes may get another one by {names}"
            );
            let (fix, files) = (Some(fix(&name, true)), files.into_iter().collect());
            BlindSpot { code: UNDEFINED, headline, message, fix, files, ..BlindSpot::default() }
        };
        Ok(found.into_iter().map(spot).collect())
    }

    fn add_levels(
        &self,
        revision: &Revision,
        files: &ChangedFiles,
        found: &mut FilesByVariable,
    ) -> Result<(), TreeError> {
        for pattern in patterns_of_callers(&revision.environment) {
            let led: BTreeSet<String> =
                self.led_to(&pattern, files, &revision.environment, true)?.into_iter().collect();
            for name in
                pattern.variables().iter().filter(|name| is_of_caller(name, &revision.environment) && !led.is_empty())
            {
                found.entry(plain(name).to_owned()).or_default().extend(led.iter().cloned());
            }
        }
        Ok(())
    }

    fn add_data(
        &self,
        revision: &Revision,
        files: &ChangedFiles,
        found: &mut FilesByVariable,
    ) -> Result<(), TreeError> {
        for path in files.all() {
            let Some(file) = data_file(&revision.environment, path)? else { continue };
            let is_affected = |root| asks_for(root).is_some_and(|key| self.affected.keys.contains_key(&key));
            for (_, mentions) in file.mentions().iter().filter(|(root, _)| is_affected(root)) {
                for name in mentions.variables.iter().filter(|name| is_of_caller(name, &revision.environment)) {
                    found.entry(plain(name).to_owned()).or_default().insert(path.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns the patterns of paths that depend on the caller.
pub(crate) fn patterns_of_callers(environment: &Environment) -> Vec<PathPattern<'_>> {
    let mut found = patterns(environment);
    found.extend(patterns_of_hiera3(environment));
    found.retain(|pattern| pattern.variables().iter().any(|name| is_of_caller(name, environment)));
    found
}
