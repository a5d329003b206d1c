//! A revision as one node sees it: the data sources of a lookup.

use std::sync::Arc;

use crate::fleet::dependencies::{Dependencies, Dependency, RecordingScope};
use crate::fleet::revision::Revision;
use crate::fleet::revision::shared_answers::SharedAnswers;
use crate::hiera::budget::Cost;
use crate::hiera::explain::Recorder;
use crate::hiera::hierarchy::Level;
use crate::hiera::layer::{Environment, LayerId};
use crate::hiera::lookup::Lookup;
use crate::hiera::sources::{FoundOptions, OptionsOf, Resolved, SharedAnswer, Sources};
use crate::hiera::{LookupError, Outcome};
use crate::node::NodeId;
use crate::value::Value;

/// A revision as one node sees it; everything that differs between nodes is recorded when it is read.
pub(in crate::fleet) struct NodeView<'a> {
    pub(in crate::fleet) revision: &'a Revision,
    pub(in crate::fleet) node: NodeId,
    pub(in crate::fleet) dependencies: &'a Dependencies,
    /// The answers for keys that others refer to, if they are kept.
    pub(in crate::fleet) answers: Option<&'a SharedAnswers>,
}

impl NodeView<'_> {
    /// Looks `key` up at no more than this cost. Returns the cost, too.
    pub(in crate::fleet) fn get(&self, key: &str, limit: Cost) -> (Outcome, Cost) {
        let scope = self.scope();
        let lookup = Lookup::new(self.environment(&scope), self, &scope).within(limit);
        (lookup.get(key, None), lookup.cost())
    }

    /// Looks `key` up at no more than this cost, and reports each step to `recorder`. Returns the cost, too.
    pub(in crate::fleet) fn explain(&self, key: &str, recorder: &Recorder, limit: Cost) -> (Outcome, Cost) {
        let scope = self.scope();
        let lookup = Lookup::new(self.environment(&scope), self, &scope).within(limit).explained_by(recorder);
        (lookup.get(key, None), lookup.cost())
    }

    /// Interpolates a text as in data.
    pub(super) fn interpolate(&self, text: &str) -> Result<Value, LookupError> {
        let scope = self.scope();
        Lookup::new(self.environment(&scope), self, &scope).interpolate(text)
    }

    /// Finds the options in effect.
    pub(super) fn find_options(&self, owner: &OptionsOf) -> FoundOptions {
        let scope = self.scope();
        Lookup::new(self.environment(&scope), self, &scope).find_options(owner)
    }

    /// Returns the node's environment. If there are several environments, every part of an evaluation depends on it.
    pub(super) fn environment(&self, scope: &RecordingScope<'_>) -> &Environment {
        self.revision.environment.for_scope(scope)
    }

    pub(super) fn scope(&self) -> RecordingScope<'_> {
        RecordingScope { scope: self.revision.fleet.scope(self.node), dependencies: self.dependencies }
    }
}

impl Sources for NodeView<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        self.environment(&self.scope());
        self.revision.hierarchy(layer, self.node)
    }

    fn options(&self, owner: &OptionsOf) -> Option<FoundOptions> {
        self.dependencies.record(|| Dependency::Options(owner.clone()));
        Some(self.revision.options(owner).for_node(self.node))
    }

    fn shared(
        &self,
        key: &str,
        fits: &dyn Fn(&SharedAnswer) -> bool,
        find: &mut dyn FnMut() -> Option<SharedAnswer>,
    ) -> Option<Arc<SharedAnswer>> {
        let Some(answers) = self.answers else {
            find();
            return None;
        };
        answers.get(key, (self.revision, self.node, self.dependencies), fits, find)
    }

    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        let last = levels.and_then(<[Arc<Level>]>::last);
        let count = || self.revision.levels_up_to(layer, self.node, last);
        self.dependencies.record_levels(|| (Dependency::Key(root.into(), layer.clone()), count()));
    }
}
