//! Resolves the levels of one part of a hierarchy on some nodes, once for each node class.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::fleet::dependencies::{Dependencies, RecordingScope};
use crate::fleet::levels::PartRef;
use crate::fleet::levels::class_levels::ClassLevels;
use crate::fleet::levels::per_node_paths::PerNodePaths;
use crate::fleet::node_classes::evaluate_per_variable_class;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::hierarchy::HierarchyPart;
use crate::hiera::layer::Environment;
use crate::hiera::lookup::resolve_part;
use crate::node::NodeSet;
use crate::tree::{AccessedPaths, RecordingTree};

/// The levels of one part, resolved on some nodes.
#[derive(Default)]
pub(in crate::fleet) struct PartialResolution {
    /// The distinct levels, with the nodes of each class.
    pub(super) classes: IndexMap<Arc<ClassLevels>, NodeSet, RandomState>,
    pub(super) findings: Vec<(NodeSet, Diagnostic)>,
    /// The paths that were accessed, with the nodes for which they were.
    pub(super) accessed: Vec<(NodeSet, AccessedPaths)>,
}

/// Resolves the levels of a part on `nodes`. `paths` are its paths that contain one variable.
pub(in crate::fleet) fn resolve_levels(
    environment: &Environment,
    part: PartRef<'_>,
    fleet: &Fleet,
    paths: &PerNodePaths,
    nodes: NodeSet,
) -> PartialResolution {
    let tree = RecordingTree::new(&*environment.tree);
    let resolve = |node, dependencies: &Dependencies| {
        let scope = RecordingScope { scope: fleet.scope(node), dependencies };
        let own_environment = environment.for_scope(&scope);
        let is_own = part.root.is_none_or(|root| *root == own_environment.name);
        let resolve = || resolve_part(own_environment, (part.layer, part.config, part.number), &scope, &tree);
        (if is_own { resolve() } else { HierarchyPart::elsewhere() }, tree.take())
    };
    let split = |variable: &VariablePath, nodes: &NodeSet| {
        let split = paths.split(variable, nodes);
        split.unwrap_or_else(|| fleet.variable_classes(variable.by_ref()).partition.split(nodes))
    };
    let classes = evaluate_per_variable_class((nodes.clone(), fleet), resolve, split);
    let mut resolution = PartialResolution::default();
    for (nodes, (part, accessed)) in classes {
        resolution.findings.extend(part.diagnostics.iter().map(|diagnostic| (nodes.clone(), diagnostic.clone())));
        resolution.accessed.push((nodes.clone(), accessed));
        resolution.classes.entry(Arc::new(ClassLevels::from(part))).or_default().union_with(&nodes);
    }
    // Keeps the folders on the way, which are the same for all classes, only once.
    let common = AccessedPaths::common(resolution.accessed.iter_mut().map(|(_, accessed)| accessed));
    resolution.accessed.insert(0, (nodes, common));
    resolution
}
