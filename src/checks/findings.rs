//! Turns the findings on a revision into faults, one for each cause.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use crate::blind_spots::accept::Accepted;
use crate::blind_spots::keys::callers::patterns_of_callers;
use crate::blind_spots::levels::keys_not_allowed;
use crate::blind_spots::levels::outside::{self, OutsideLevels};
use crate::blind_spots::levels::variables::{self, UNDEFINED};
use crate::diagnostic::{Diagnostic, Severity, Subject};
use crate::fleet::{Finding, Fleet, Revision};
use crate::hiera::backend::eyaml::NoKey;

const OUTSIDE: &str = "outside-repository";
const ABSENT_MODULE: &str = "absent-module";

/// Returns the faults found while reading a revision: levels outside are grouped by their datadirs, undefined
/// variables by their names.
pub(super) fn faults(revision: &Revision, accepted: &Accepted) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut variables: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in revision.all_findings() {
        match (finding.diagnostic.code, &finding.diagnostic.subject) {
            (OUTSIDE, _) => {}
            (UNDEFINED, Some(Subject::Variable(name))) => {
                let name = variables::plain(name).to_owned();
                if !variables::is_of_caller(&name, &revision.environment) {
                    variables.entry(name).or_default().push(finding);
                }
            }
            (ABSENT_MODULE, Some(Subject::Module(name))) if accepted.has(ABSENT_MODULE, name) => {}
            _ => faults.push(Fault::of(finding.diagnostic).on(finding.nodes)),
        }
    }
    let is_fine = |name: &str| accepted.has(UNDEFINED, name);
    let missing = variables.into_iter().filter(|(name, _)| !is_fine(name));
    faults.extend(missing.map(|(name, all)| undefined_variable(&name, all, &revision.fleet)));
    faults.extend(
        outside::outside([revision], accepted).into_iter().map(|(place, outside)| outside_fault(&place, outside)),
    );
    faults.extend(keyless_faults(revision));
    faults.extend(caller_faults(revision).filter(|(name, _)| !is_fine(name)).map(|(_, fault)| fault));
    faults
}

/// Returns faults for levels that depend on the caller, by variable.
fn caller_faults(revision: &Revision) -> impl Iterator<Item = (String, Fault)> {
    let mut faults: BTreeMap<String, Fault> = BTreeMap::new();
    for pattern in patterns_of_callers(&revision.environment) {
        for variable in pattern.variables().iter().filter(|name| variables::is_of_caller(name, &revision.environment)) {
            let name = variables::plain(variable);
            let text = format!(
                "the variable '{name}' depends on the caller: '{}' is resolved for the top scope, not for classes",
                pattern.declared.text
            );
            let fault =
                || Fault::new(Severity::Warning, UNDEFINED, text).with_fix(variables::fix(name, true).to_string());
            let known = faults.remove(name).unwrap_or_else(fault);
            faults.insert(name.to_owned(), known.at(Some(pattern.declared.place.clone())));
        }
    }
    faults.into_iter()
}

/// Makes the fault of all levels at one place outside of the repository.
fn outside_fault(place: &str, outside: OutsideLevels) -> Fault {
    let fault = Fault::new(Severity::Warning, OUTSIDE, outside.text(place));
    let fix = outside.fix.map_or(fault.fix, |fix| fix.to_string());
    Fault { places: outside.places, nodes: outside.nodes, fix, ..fault }
}

/// Makes the fault of a variable that paths need and profiles lack. Nothing proposes to accept it if some node has it.
fn undefined_variable(name: &str, findings: Vec<Finding>, fleet: &Fleet) -> Fault {
    let written = findings.iter().find_map(|finding| match &finding.diagnostic.subject {
        Some(Subject::Variable(written)) => Some(written),
        _ => None,
    });
    let is_absent = written.is_some_and(|written| fleet.nodes_without(written).len() == fleet.len());
    let first = findings.first().map(|finding| finding.diagnostic.text.clone()).unwrap_or_default();
    let texts: BTreeSet<&String> = findings.iter().map(|finding| &finding.diagnostic.text).collect();
    let text = match texts.len() {
        1 => first,
        count => format!(
            "the variable '{name}' is undefined: {count} paths are resolved with an empty text in its \
                          place"
        ),
    };
    let fault = Fault::new(Severity::Warning, UNDEFINED, text).with_fix(variables::fix(name, is_absent).to_string());
    findings.into_iter().fold(fault, |mut fault, Finding { diagnostic: Diagnostic { place, .. }, nodes }| {
        fault.nodes.union_with(&nodes);
        fault.at(place)
    })
}

/// Returns faults for levels of encrypted data without a key.
fn keyless_faults(revision: &Revision) -> impl Iterator<Item = Fault> {
    revision.keyless_levels().into_iter().map(|((place, name, why), nodes)| {
        let fault = match why {
            NoKey::NotAllowed(keys) => {
                let fix = keys_not_allowed::fix(&keys.into_iter().collect());
                Fault::new(Severity::Note, keys_not_allowed::NOT_ALLOWED, keys_not_allowed::text())
                    .with_fix(fix.to_string())
            }
            NoKey::NotWanted | NoKey::NotReadable => {
                let text = format!(
                    "there is no key for this level, '{name}': its encrypted values are compared by \
                             ciphertext"
                );
                Fault::new(Severity::Note, "eyaml-no-key", text)
            }
        };
        fault.at(Some(place)).on(nodes)
    })
}
