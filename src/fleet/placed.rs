//! Where the data of a revision lies for whom: for each part of each layer's hierarchy, the classes of nodes that it leads to
//! the same files.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::Fleet;
use super::classes::classes_by_variables;
use super::partition::Partition;
use super::reads::RecordingScope;
use crate::hiera::LookupError;
use crate::hiera::backend::{Backend, DataFile};
use crate::hiera::config::Config;
use crate::hiera::hierarchy::{Content, Level, Location, Part};
use crate::hiera::layer::{Environment, Layer};
use crate::hiera::lookup::resolve_part;
use crate::node::NodeSet;
use crate::tree::BlobId;
use crate::value::Value;

/// A part of a hierarchy, as all nodes see it.
pub(super) struct Placed {
    /// The nodes, divided by what they see.
    pub(super) partition: Partition,
    /// What the nodes of each class see.
    pub(super) classes: Vec<Part>,
    /// The classes that may answer, or fail, for any key.
    pub(super) for_any_key: Vec<usize>,
    /// What is odd, and for whom.
    pub(super) findings: Vec<(NodeSet, crate::diagnostic::Diagnostic)>,
}

/// What decides the answers of a part.
type Signature = Result<Vec<(Value, Vec<LocationSignature>)>, LookupError>;

#[derive(PartialEq, Eq, Hash)]
enum LocationSignature {
    Whole,
    Absent,
    Other(Arc<str>),
    File(Arc<str>, BlobId),
    Unreadable(LookupError),
}

impl Placed {
    /// Resolves the part `number` of the hierarchy of `layer` for all nodes.
    pub(super) fn new(
        environment: &Environment,
        layer: &Layer,
        config: &Config,
        number: usize,
        fleet: &Fleet,
    ) -> Placed {
        let found = classes_by_variables(fleet, |node, reads| {
            let scope = RecordingScope { scope: fleet.scope(node), reads };
            resolve_part(environment, layer, config, number, &scope)
        });
        let mut findings = Vec::new();
        let mut by_signature: HashMap<Signature, usize, RandomState> = HashMap::default();
        let mut sets: Vec<NodeSet> = Vec::new();
        let mut classes: Vec<Part> = Vec::new();
        for (nodes, part) in found {
            findings.extend(part.diagnostics.iter().map(|diagnostic| (nodes.clone(), diagnostic.clone())));
            let at = *by_signature.entry(signature(&part)).or_insert(classes.len());
            if let Some(set) = sets.get_mut(at) {
                set.extend(&nodes);
            } else {
                sets.push(nodes);
                classes.push(part);
            }
        }
        let for_any_key = (0..).zip(&classes).filter(|(_, part)| is_for_any_key(part)).map(|(at, _)| at).collect();
        Placed { partition: Partition::of_sets(fleet.len(), sets), classes, for_any_key, findings }
    }

    /// For each class the one of `other` that sees the same.
    pub(super) fn matched(&self, other: &Placed) -> Vec<Option<usize>> {
        let others: HashMap<Signature, usize, RandomState> = other.classes.iter().map(signature).zip(0..).collect();
        self.classes.iter().map(|part| others.get(&signature(part)).copied()).collect()
    }

    /// Counts the classes that are led to one of `paths` among those that may answer for any key.
    pub(super) fn add_for_any_key(&mut self, paths: &BTreeSet<Arc<str>>) {
        let is_led = |at: &usize| self.files(*at).any(|(path, _)| paths.contains(path));
        let more: Vec<usize> = (0..self.classes.len()).filter(is_led).collect();
        self.for_any_key.extend(more);
        self.for_any_key.sort_unstable();
        self.for_any_key.dedup();
    }

    /// The data files that the class `class` is led to.
    pub(super) fn files(&self, class: usize) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
        files(&self.classes[class])
    }
}

/// The data files of a part.
fn files(part: &Part) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
    let locations = part.levels.iter().flatten().flat_map(|level| &level.locations);
    locations.filter_map(|location| match location {
        Location::Path { path, content: Content::File(_, file), .. } => Some((path, file)),
        _ => None,
    })
}

fn is_for_any_key(part: &Part) -> bool {
    let Ok(levels) = &part.levels else { return true };
    let is_odd = |level: &Arc<Level>| match &level.backend {
        Backend::Declared(_) | Backend::Fails(_) => true,
        Backend::Files(_) | Backend::Eyaml(_) => level.locations.iter().any(|location| match location {
            Location::Whole | Location::Uri { .. } => true,
            Location::Path { content, .. } => match content {
                Content::Absent => false,
                Content::Other | Content::Unreadable(_) => true,
                Content::File(_, file) => file.concerns_all_keys(),
            },
        }),
    };
    levels.iter().any(is_odd)
}

fn signature(part: &Part) -> Signature {
    let location = |location: &Location| match location {
        Location::Whole => LocationSignature::Whole,
        Location::Uri { uri, .. } => LocationSignature::Other(uri.clone()),
        Location::Path { path, content, .. } => match content {
            Content::Absent => LocationSignature::Absent,
            Content::Other => LocationSignature::Other(path.clone()),
            Content::File(id, _) => LocationSignature::File(path.clone(), *id),
            Content::Unreadable(error) => LocationSignature::Unreadable(error.clone()),
        },
    };
    let level = |level: &Arc<Level>| (level.options.clone(), level.locations.iter().map(location).collect());
    part.levels.as_ref().map(|levels| levels.iter().map(level).collect()).map_err(Clone::clone)
}
