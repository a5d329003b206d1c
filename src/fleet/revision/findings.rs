//! Collects the findings of all hierarchies, each with all of its nodes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::fleet::Finding;
use crate::fleet::levels::ResolvedLevels;
use crate::fleet::repository_keys::absent_modules;
use crate::fleet::revision::Revision;
use crate::node::NodeSet;

impl Revision {
    /// Returns the findings of the hierarchies, sorted, and those about missing modules. If a layer fails on a node,
    /// its failure is reported with each key; other findings of the layer would only repeat it.
    pub(super) fn find(&self) -> Vec<Finding> {
        let mut findings: HashMap<&Diagnostic, NodeSet> = HashMap::new();
        for range in self.layers.values() {
            let of_layer = &self.levels[range.clone()];
            let failing: Vec<NodeSet> = of_layer.iter().flat_map(failing_classes).collect();
            for (nodes, diagnostic) in of_layer.iter().flat_map(|levels| &levels.findings) {
                let nodes = failing.iter().fold(nodes.clone(), |nodes, failing| nodes.difference(failing));
                if !nodes.is_empty() {
                    findings.entry(diagnostic).or_default().union_with(&nodes);
                }
            }
        }
        let found = findings.into_iter().map(|(diagnostic, nodes)| Finding { diagnostic: diagnostic.clone(), nodes });
        let mut findings: Vec<Finding> = found.collect();
        findings.sort_by(|a, b| a.diagnostic.cmp(&b.diagnostic));
        findings.extend(absent_modules(&self.environment, &self.keys));
        findings
    }
}

fn failing_classes(levels: &Arc<ResolvedLevels>) -> Vec<NodeSet> {
    let classes = levels.classes.iter().zip(levels.partition.classes());
    classes.filter(|(class, _)| class.part.levels.is_err()).map(|(_, nodes)| nodes.clone()).collect()
}
