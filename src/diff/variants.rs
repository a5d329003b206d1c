//! Changes whose values differ from node to node only by variables in their texts.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{Change, Diff, LeafChange};
use crate::fleet::{Answer, Template, Variable, coincidences};
use crate::hiera::Outcome;
use crate::node::{NodeId, NodeSet};
use crate::value::{Value, ValuePath};

/// Up to this many variants, each is a separate change.
const MAX_SEPARATE_VARIANTS: usize = 64;

/// The values of a change that differ from node to node. Its outcomes and leaves are those of the first node.
#[derive(Debug, Clone, PartialEq)]
pub struct Variants {
    template: Diff<Option<Arc<Template>>>,
}

impl Variants {
    /// Returns the variants of two answers, or `None` if both are the same on all nodes.
    pub(super) fn of(answer: Diff<Option<&Answer>>) -> Option<Variants> {
        let template = answer.map(|answer| answer?.template.clone());
        (template.before.is_some() || template.after.is_some()).then_some(Variants { template })
    }

    /// Returns true for each side whose values differ from node to node.
    pub fn sides(&self) -> Diff<bool> {
        self.template.as_ref().map(Option::is_some)
    }

    /// Returns true if the value at a place differs from node to node.
    pub fn vary_in(&self, leaf: &LeafChange) -> bool {
        let varies = |template: &Option<Arc<Template>>, path: Option<&ValuePath>| {
            template.as_ref().zip(path).is_some_and(|(template, path)| template.varies_at(path))
        };
        let path = leaf.part.as_ref().map(|part| part.as_ref().map(|part| &part.path));
        varies(&self.template.before, path.before) || varies(&self.template.after, path.after)
    }

    /// Returns true if everything that differs at a place is one of the names that `names` gives for each node.
    pub fn have_only<'n>(&self, leaf: &LeafChange, nodes: &NodeSet, names: &dyn Fn(NodeId) -> [&'n str; 2]) -> bool {
        let path = leaf.part.as_ref().map(|part| part.as_ref().map(|part| &part.path));
        let has_only = |template: &Option<Arc<Template>>, path: Option<&ValuePath>| match (template, path) {
            (Some(template), Some(path)) => template.has_only(path, nodes, names),
            _ => true,
        };
        has_only(&self.template.before, path.before) && has_only(&self.template.after, path.after)
    }

    /// Sets outcomes and differences to those of a node.
    pub fn fill<'l>(
        &self,
        node: NodeId,
        outcome: &mut Diff<Option<Arc<Outcome>>>,
        leaves: impl Iterator<Item = &'l mut Arc<LeafChange>>,
    ) {
        set_values(self.template.as_ref().map(|template| Some(template.as_ref()?.on(node))), outcome, leaves);
    }

    /// Sets outcomes and differences to those with `mark` in place of each variable, given its position in
    /// [`Variants::variables`].
    pub fn mark<'l>(
        &self,
        mark: &dyn Fn(usize) -> String,
        outcome: &mut Diff<Option<Arc<Outcome>>>,
        leaves: impl Iterator<Item = &'l mut Arc<LeafChange>>,
    ) {
        let before = self.template.before.as_ref();
        let count = before.map_or(0, |template| template.variables().len());
        let after = self.template.after.as_ref().map(|template| template.marked(&|place| mark(count + place)));
        set_values(Diff::new(before.map(|template| template.marked(mark)), after), outcome, leaves);
    }

    /// Returns the variables that are inserted into values before, then those after.
    pub fn variables(&self) -> Vec<&Variable> {
        self.templates().flat_map(|template| template.variables()).collect()
    }

    /// Returns the number of variants on `nodes`.
    pub fn count(&self, nodes: &NodeSet) -> usize {
        if self.are_all_distinct(nodes) { nodes.len() } else { self.classes(nodes, usize::MAX).len() }
    }

    /// Returns the nodes of each variant, in the order of their first nodes: at most the first `most`. Where several
    /// combinations of variables have the same value, only the first `most` combinations are looked at, so the nodes
    /// of a variant may not be all that have it.
    pub fn classes(&self, nodes: &NodeSet, most: usize) -> Vec<NodeSet> {
        if self.are_all_distinct(nodes) {
            return nodes.iter().take(most).map(|node| NodeSet::from_iter([node])).collect();
        }
        if self.templates().all(|template| template.shows_all_variables()) {
            let mut classes = self.split(nodes);
            classes.truncate(most);
            return classes;
        }
        let mut numbers: HashMap<Diff<Option<Value>>, usize, RandomState> = HashMap::default();
        let mut classes: Vec<NodeSet> = Vec::new();
        for nodes in self.split(nodes).into_iter().take(most) {
            let Some(node) = nodes.first() else { continue };
            let value = self.template.as_ref().map(|template| template.as_ref().map(|template| template.on(node)));
            let number = *numbers.entry(value).or_insert(classes.len());
            match classes.get_mut(number) {
                Some(class) => class.union_with(&nodes),
                None => classes.push(nodes),
            }
        }
        classes
    }

    fn templates(&self) -> impl Iterator<Item = &Arc<Template>> {
        self.template.before.iter().chain(&self.template.after)
    }

    fn are_all_distinct(&self, nodes: &NodeSet) -> bool {
        self.templates().any(|template| template.differs_between_all(nodes))
    }

    /// Divides `nodes` by the values of the variables, in the order of the first nodes.
    fn split(&self, nodes: &NodeSet) -> Vec<NodeSet> {
        let mut classes = vec![nodes.clone()];
        for template in self.templates() {
            classes = classes.iter().flat_map(|nodes| template.split(nodes)).collect();
        }
        classes.sort_by_cached_key(NodeSet::first);
        classes
    }

    /// Divides `nodes` into those whose changes differ only in the inserted values, and classes with equal values.
    pub(super) fn divided(&self, answer: Diff<Option<&Answer>>, nodes: &NodeSet) -> (NodeSet, Vec<NodeSet>) {
        if !self.templates().any(|template| template.has_more_classes(MAX_SEPARATE_VARIANTS, nodes)) {
            return (NodeSet::new(), self.split(nodes));
        }
        match self.incomparable(answer, nodes) {
            None => (NodeSet::new(), self.split(nodes)),
            Some(apart) if apart.is_empty() => (nodes.clone(), Vec::new()),
            Some(apart) => (nodes.difference(&apart), self.split(&apart)),
        }
    }

    /// Returns the nodes on which a comparison of the templates could give a wrong result, or `None` for all.
    fn incomparable(&self, answer: Diff<Option<&Answer>>, nodes: &NodeSet) -> Option<NodeSet> {
        let templates: Vec<&Template> = self.templates().map(|template| &**template).collect();
        let mut values: Vec<&Value> = Vec::new();
        for answer in [answer.before, answer.after].into_iter().flatten().filter(|answer| answer.template.is_none()) {
            match &*answer.outcome {
                Outcome::Found(value) if value.secrecy().is_some() => return None,
                Outcome::Found(value) => values.push(value),
                Outcome::Failed(error) if error.text.secrecy().is_some() => return None,
                Outcome::Failed(_) | Outcome::NotFound => {}
            }
        }
        if templates.len() + values.len() < 2 {
            return Some(NodeSet::new()); // there is nothing to compare
        }
        coincidences(&templates, &values, nodes)
    }
}

/// Puts values into outcomes and differences.
fn set_values<'l>(
    value: Diff<Option<Value>>,
    outcome: &mut Diff<Option<Arc<Outcome>>>,
    leaves: impl Iterator<Item = &'l mut Arc<LeafChange>>,
) {
    for leaf in leaves.map(Arc::make_mut) {
        for (part, value) in [(&mut leaf.part.before, &value.before), (&mut leaf.part.after, &value.after)] {
            if let (Some(part), Some(value)) = (part, value) {
                part.value = part.path.value_in(value).cloned().unwrap_or_default();
            }
        }
    }
    for (outcome, value) in [(&mut outcome.before, value.before), (&mut outcome.after, value.after)] {
        if let Some(value) = value {
            *outcome = Some(Arc::new(Outcome::Found(value)));
        }
    }
}

impl Change {
    /// Returns the change restricted to `nodes`, which must be some of its own.
    #[must_use]
    pub fn on(&self, nodes: NodeSet) -> Change {
        let mut change = Change { nodes, ..self.clone() };
        if let (Some(variants), Some(first)) = (&self.variants, change.nodes.first()) {
            variants.fill(first, &mut change.outcome, change.leaves.iter_mut());
        }
        change
    }
}
