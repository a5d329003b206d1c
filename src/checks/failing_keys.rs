//! Turns keys that fail into faults, one for each cause.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Fault;
use crate::blind_spots::keys::failing::{Causes, Failing};
use crate::diagnostic::Severity;
use crate::disclosure::Disclosure;
use crate::hiera::LookupError;

/// Adds to a file's fault the keys and nodes that fail because of the file.
pub(super) fn with_failing_keys(mut fault: Fault, path: &str, causes: &Causes) -> Fault {
    let of_file = |error: &LookupError| error.place.as_ref().is_some_and(|place| *place.path == *path);
    for (_, failing) in causes.0.iter().filter(|(error, _)| of_file(error)) {
        fault.nodes.union_with(&failing.nodes);
        fault.keys.extend(failing.keys.iter().cloned());
    }
    fault
}

/// Returns a fault for each cause, except for those in `files`, which have their own faults.
pub(super) fn faults(causes: &Causes, files: &[Fault], disclosure: &Disclosure) -> Vec<Fault> {
    let paths: BTreeSet<&Arc<str>> = files.iter().flat_map(|fault| &fault.places).map(|place| &place.path).collect();
    let is_told = |error: &LookupError| error.place.as_ref().is_some_and(|place| paths.contains(&place.path));
    let fault = |(error, failing): (&LookupError, &Failing)| {
        let error = disclosure.error(error);
        let text = error.text.visible().replace(['\n', '\r'], " ");
        let fault = Fault::new(Severity::Error, code(&error), text).at(error.place.clone());
        Fault { nodes: failing.nodes.clone(), keys: failing.keys.clone(), ..fault }.about(error.subject.as_deref())
    };
    causes.0.iter().filter(|(error, _)| !is_told(error)).map(fault).collect()
}

/// Returns the code of a failure.
fn code(error: &LookupError) -> &'static str {
    if error.missing_function().is_some() {
        return "unknown-function";
    }
    if error.kind.is_unknown() { "unknown-value" } else { "lookup-error" }
}
