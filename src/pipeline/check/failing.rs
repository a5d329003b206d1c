//! Keys that fail, by what they fail for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Fault;
use crate::diagnostic::Severity;
use crate::disclosure::Disclosure;
use crate::fleet::Effective;
use crate::hiera::{ErrorKind, LookupError, Outcome};
use crate::node::NodeSet;
use crate::pipeline::advice::missing_function;

/// What fails for one cause.
#[derive(Default)]
pub(super) struct Failing {
    nodes: NodeSet,
    keys: BTreeSet<Arc<str>>,
}

/// The keys that fail, by their errors.
pub(super) type Causes = BTreeMap<LookupError, Failing>;

pub(super) fn causes(effective: &Effective) -> Causes {
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

/// Adds to a fault in a file what fails for the file.
pub(super) fn with_what_fails(mut fault: Fault, path: &str, causes: &Causes) -> Fault {
    let of_file = |error: &LookupError| error.place.as_ref().is_some_and(|place| *place.path == *path);
    for (_, failing) in causes.iter().filter(|(error, _)| of_file(error)) {
        fault.nodes.extend(&failing.nodes);
        fault.keys.extend(failing.keys.iter().cloned());
    }
    fault
}

/// One fault for each cause; what fails for one of `files`, which are faulty as a whole, is told with these.
pub(super) fn faults(causes: &Causes, files: &[Fault], disclosure: &Disclosure) -> Vec<Fault> {
    let paths: BTreeSet<&Arc<str>> = files.iter().flat_map(|fault| &fault.places).map(|place| &place.path).collect();
    let is_told = |error: &LookupError| error.place.as_ref().is_some_and(|place| paths.contains(&place.path));
    let fault = |(error, failing): (&LookupError, &Failing)| {
        let error = disclosure.error(error);
        let text = error.text.visible().replace(['\n', '\r'], " ");
        let fault = Fault::new(Severity::Error, code(&error), text).at(error.place.clone());
        Fault { nodes: failing.nodes.clone(), keys: failing.keys.clone(), ..fault }
    };
    causes.iter().filter(|(error, _)| !is_told(error)).map(fault).collect()
}

/// The name of the kind of failure.
fn code(error: &LookupError) -> &'static str {
    if missing_function(&error.text).is_some() {
        return "unknown-function";
    }
    if error.kind == ErrorKind::Unknown { "unknown-value" } else { "lookup-error" }
}
