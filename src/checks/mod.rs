//! Finds everything wrong with one revision, for `hierad check`.
//!
//! A [`Fault`] is one cause, with all its places, nodes and keys, and with a remedy. Each source of faults has its
//! own file.

mod absent_keys;
mod data_files;
mod failing_keys;
mod findings;
mod fixes;
mod manifests;
mod new_faults;
mod read_otherwise;
mod unaskable_keys;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::blind_spots::accept::{self, Accepted};
use crate::blind_spots::files::read_otherwise::READ_OTHERWISE;
use crate::blind_spots::keys::failing::Causes;
use crate::blind_spots::keys::referred::referred;
use crate::blind_spots::suggestions::fix_for;
use crate::blind_spots::unreadable::without_nodes;
use crate::diagnostic::{Diagnostic, Place, Severity, Subject};
use crate::fleet::{Fleet, Revision};
use crate::hiera::layer::{Environment, HIERA_YAML};
use crate::node::NodeSet;
use crate::pipeline::{Pipeline, PipelineError, RevisionId};
use crate::report::BlindSpot;

pub use new_faults::new_faults;

/// The codes of faults.
pub const CODES: [&str; 32] = [
    "absent-backend",
    "absent-key",
    "absent-module",
    "data-no-hash",
    "data-syntax",
    "environment-conf",
    "every-key-fails",
    "eyaml-key-not-allowed",
    "eyaml-no-key",
    "hiera-3",
    "hiera-version-3",
    "invalid-hiera-yaml",
    "lookup-error",
    "merge-in-manifest",
    "missing-datadir",
    "module-metadata",
    "module-repository",
    "modulepath",
    "modules-outside",
    "no-global-hiera-yaml",
    "no-hiera-yaml",
    "no-keys",
    "no-level-read",
    "no-profiles",
    "outside-repository",
    "profile",
    READ_OTHERWISE,
    "unaskable-key",
    "undefined-variable",
    "unknown-function",
    "unknown-value",
    "unreached-file",
];

/// Returns the codes that settings may accept, those of blind spots and of faults, each with the kind of things that
/// are accepted by name.
pub fn acceptable() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_blind = |code: &&str| accept::CODES.iter().any(|(known, _)| known == code);
    accept::CODES.into_iter().chain(CODES.into_iter().filter(move |code| !is_blind(code)).map(|code| (code, "files")))
}

/// One cause of trouble, with everything that it affects.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The severity.
    pub severity: Severity,
    /// The kind of fault: one of [`CODES`].
    pub code: &'static str,
    /// The description, in one sentence.
    pub text: String,
    /// The remedy.
    pub fix: String,
    /// The places; empty if it has none.
    pub places: BTreeSet<Place>,
    /// The nodes that it concerns; empty if it is about the repository itself.
    pub nodes: NodeSet,
    /// The keys that fail because of it.
    pub keys: BTreeSet<Arc<str>>,
}

impl Fault {
    fn new(severity: Severity, code: &'static str, text: impl Into<String>) -> Fault {
        let (text, fix) = (text.into(), fixes::fix_of(code).to_owned());
        let (places, nodes, keys) = (BTreeSet::new(), NodeSet::new(), BTreeSet::new());
        Fault { severity, code, text, fix, places, nodes, keys }
    }

    /// Returns in words which keys and nodes it concerns, such as `'motd' fails` and `on all 3 nodes`.
    pub fn concerned(&self, fleet: &Fleet) -> Vec<String> {
        let keys = self.keys.first().map(|key| match self.keys.len() {
            1 => format!("'{key}' fails"),
            count => format!("{count} keys fail, such as '{key}',"),
        });
        let nodes = fleet.names(&self.nodes).next().map(|first| match self.nodes.len() {
            count if count == fleet.len() && count > 1 => format!("on all {count} nodes"),
            1 => format!("on {first}"),
            count => format!("on {count} of {} nodes, such as {first}", fleet.len()),
        });
        keys.into_iter().chain(nodes).collect()
    }

    fn of(diagnostic: Diagnostic) -> Fault {
        let fault = Fault::new(diagnostic.severity, diagnostic.code, diagnostic.text);
        Fault { places: diagnostic.place.into_iter().collect(), ..fault }.about(diagnostic.subject.as_ref())
    }

    fn of_spot(severity: Severity, spot: BlindSpot) -> Fault {
        let fault = Fault::new(severity, spot.code, without_nodes(&spot)).on(spot.nodes);
        match spot.fix {
            Some(fix) => fault.with_fix(fix.to_string()),
            None => fault,
        }
    }

    /// Uses the remedy for `subject`, if there is one.
    fn about(self, subject: Option<&Subject>) -> Fault {
        match subject.and_then(fix_for) {
            Some(fix) => self.with_fix(fix.to_string()),
            None => self,
        }
    }

    fn with_fix(self, fix: impl Into<String>) -> Fault {
        Fault { fix: fix.into(), ..self }
    }

    fn at(mut self, place: Option<Place>) -> Fault {
        self.places.extend(place);
        self
    }

    fn on(self, nodes: NodeSet) -> Fault {
        Fault { nodes, ..self }
    }

    /// Returns true if settings accept it by the files of all of its places, or by all of its keys. A fault without a
    /// place is accepted by `*`.
    fn is_accepted(&self, accepted: &Accepted) -> bool {
        if accept::names_keys(self.code) {
            return !self.keys.is_empty() && self.keys.iter().all(|key| accepted.has_key(self.code, key));
        }
        let mut paths = self.places.iter().map(|place| &*place.path).peekable();
        if paths.peek().is_none() {
            accepted.has(self.code, "")
        } else {
            paths.all(|path| accepted.has(self.code, path))
        }
    }
}

impl Pipeline {
    /// Returns everything wrong with a revision, the worst first: configuration, profiles, data files, variables,
    /// functions, keys that fail on some node, and manifests that merge differently than the data. The settings of
    /// `base` say what is accepted.
    pub fn check(&self, id: RevisionId, base: RevisionId) -> Result<Vec<Fault>, PipelineError> {
        let accepted = self.judge.accepted(base);
        let revision = self.revision(id)?;
        let effective = self.effective(&revision, revision.keys.iter());
        let causes = Causes::of(&effective.keys);
        let (files, unreached) = self.data_faults(&revision, &causes, &accepted)?;
        let mut faults = failing_keys::faults(&causes, &files, &self.disclosure);
        faults.extend(files);
        faults.extend(unreached);
        faults.extend(findings::faults(&revision, &accepted));
        let referred = referred(&[&revision], &accepted)?;
        faults
            .extend(referred.map(|spot| Fault { text: spot.message.clone(), ..Fault::of_spot(Severity::Note, spot) }));
        faults.extend(read_otherwise::faults_of_configs(&revision.environment)?);
        faults.extend(read_otherwise::notes(&revision));
        faults.extend(self.profile_faults());
        faults.extend(self.manifest_faults(id, &revision, &effective)?);
        faults.extend(emptiness(&revision));
        faults.extend(self.blind_fault(&revision, &faults));
        faults.retain(|fault| !fault.is_accepted(&accepted));
        Ok(merged(faults))
    }

    /// Returns faults for profiles that could not be read.
    fn profile_faults(&self) -> impl Iterator<Item = Fault> {
        self.fleet.left_out().iter().map(|error| {
            let place = Place { path: error.path.as_str().into(), line: error.line };
            Fault::new(Severity::Error, "profile", &*error.text).at(Some(place))
        })
    }

    /// Returns a fault if nothing can be read, or `None` if something can be or if errors on all nodes explain it.
    fn blind_fault(&self, revision: &Revision, faults: &[Fault]) -> Option<Fault> {
        let errors = faults.iter().filter(|fault| fault.severity == Severity::Error);
        let nodes_with_errors = NodeSet::union_of(self.fleet.len(), errors.map(|fault| fault.nodes.clone()));
        let spot = self.unreadable(revision).filter(|_| nodes_with_errors.len() < self.fleet.len())?;
        Some(Fault::of_spot(Severity::Error, spot))
    }
}

fn emptiness(revision: &Revision) -> impl Iterator<Item = Fault> {
    let warning = |code, text: &str| Fault::new(Severity::Warning, code, text);
    let no_profiles = revision.fleet.is_empty();
    let no_profiles = no_profiles.then(|| warning("no-profiles", "there are no node profiles: nothing is resolved"));
    let no_keys = revision.keys.is_empty();
    let no_keys = no_keys.then(|| warning("no-keys", "no data file gives a value to any key"));
    no_profiles.into_iter().chain(no_keys).chain(absent_hierarchies(&revision.environment).map(Fault::of))
}

/// Returns a warning for each environment without a hiera.yaml, if nothing else says where its data is; and one if
/// there is no environment.
pub fn absent_hierarchies(environment: &Environment) -> impl Iterator<Item = Diagnostic> {
    let none = environment.roots().next().is_none().then_some(environment);
    environment.roots().chain(none).filter_map(absent_hierarchy)
}

fn absent_hierarchy(environment: &Environment) -> Option<Diagnostic> {
    let place = Some(Place::file(environment.options.hiera_config.as_str()));
    let text = "there is no hiera.yaml here, or none that Puppet uses: the environment has no data; if it is elsewhere, name it with --hiera-config";
    let is_elsewhere = environment.global.is_some() && environment.options.hiera_config == HIERA_YAML;
    let is_absent = environment.layer.is_none() && !is_elsewhere && environment.own_module().is_none();
    is_absent.then(|| Diagnostic::warning("no-hiera-yaml", place, text))
}

/// The codes of faults of a file. Two files are two causes, even with the same fault.
const FILE_FAULT_CODES: [&str; 4] = ["data-no-hash", "data-syntax", "module-metadata", "profile"];

/// Joins faults with the same cause and sorts them, the worst first and then by their first places.
fn merged(faults: Vec<Fault>) -> Vec<Fault> {
    let mut by_cause: BTreeMap<_, Fault> = BTreeMap::new();
    for fault in faults {
        let file = fault.places.first().filter(|_| FILE_FAULT_CODES.contains(&fault.code)).cloned();
        match by_cause.get_mut(&(fault.code, fault.text.clone(), file.clone())) {
            Some(known) => {
                known.severity = known.severity.max(fault.severity);
                known.places.extend(fault.places);
                known.nodes.union_with(&fault.nodes);
                known.keys.extend(fault.keys);
            }
            None => drop(by_cause.insert((fault.code, fault.text.clone(), file), fault)),
        }
    }
    let mut faults: Vec<Fault> = by_cause.into_values().collect();
    faults.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| a.places.first().cmp(&b.places.first())).then(a.code.cmp(b.code))
    });
    faults
}
