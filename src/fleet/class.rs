//! Classes of nodes: those whose hierarchies are the same.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Finding, Fleet};
use crate::diagnostic::Diagnostic;
use crate::hiera::LookupError;
use crate::hiera::hierarchy::{Content, Hierarchy, Location};
use crate::hiera::layer::Environment;
use crate::hiera::lookup::Hierarchies;
use crate::node::NodeSet;
use crate::tree::BlobId;
use crate::value::Value;

/// Nodes that share their hierarchies.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) nodes: NodeSet,
    pub(super) hierarchies: Arc<Hierarchies>,
}

/// What decides the answers of a hierarchy besides variables that the data itself reads.
type Signature = Vec<Result<Vec<LevelSignature>, LookupError>>;
type LevelSignature = (Value, Vec<LocationSignature>);

#[derive(PartialEq, Eq, Hash)]
enum LocationSignature {
    Whole,
    Absent,
    Other(Arc<str>),
    File(Arc<str>, BlobId),
    Unreadable(LookupError),
}

/// The classes of the fleet in `environment`, and what was found wrong while resolving their hierarchies.
pub(super) fn classes(environment: &Environment, fleet: &Fleet) -> (Vec<Class>, Vec<Finding>) {
    let mut by_signature: HashMap<Signature, Class> = HashMap::new();
    let mut findings: HashMap<Diagnostic, NodeSet> = HashMap::new();
    for (node, _) in fleet.iter() {
        let hierarchies = Hierarchies::resolve(environment, fleet.scope(node));
        for diagnostic in hierarchies.all().flat_map(|hierarchy| &hierarchy.diagnostics) {
            findings.entry(diagnostic.clone()).or_default().insert(node);
        }
        let class = by_signature
            .entry(signature(&hierarchies))
            .or_insert_with(|| Class { nodes: NodeSet::new(), hierarchies: Arc::new(hierarchies) });
        class.nodes.insert(node);
    }
    let mut classes: Vec<Class> = by_signature.into_values().collect();
    classes.sort_by_key(|class| class.nodes.smallest());
    let mut findings: Vec<Finding> =
        findings.into_iter().map(|(diagnostic, nodes)| Finding { diagnostic, nodes }).collect();
    findings.sort_by(|a, b| a.diagnostic.cmp(&b.diagnostic));
    (classes, findings)
}

fn signature(hierarchies: &Hierarchies) -> Signature {
    hierarchies.layers().map(|layer| layer.as_ref().map(|h| hierarchy_signature(h)).map_err(Clone::clone)).collect()
}

fn hierarchy_signature(hierarchy: &Hierarchy) -> Vec<LevelSignature> {
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
    hierarchy
        .all_levels()
        .map(|level| (level.options.clone(), level.locations.iter().map(location).collect()))
        .collect()
}
