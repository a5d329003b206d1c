//! The data sources of one node of a fleet, as a lookup asks for them.

use std::sync::Arc;

use crate::fleet::resolve::reads::{Read, Reads, RecordingScope};
use crate::fleet::revision::Revision;
use crate::hiera::Outcome;
use crate::hiera::explain::Recorder;
use crate::hiera::hierarchy::Level;
use crate::hiera::layer::LayerId;
use crate::hiera::lookup::{FoundOptions, Lookup, OptionsOf, Resolved, Sources};
use crate::node::NodeId;

/// The sources of one node; what is asked for is noted.
pub(in crate::fleet) struct NodeView<'a> {
    pub(in crate::fleet) revision: &'a Revision,
    pub(in crate::fleet) node: NodeId,
    pub(in crate::fleet) reads: &'a Reads,
}

impl NodeView<'_> {
    /// Looks `key` up.
    pub(in crate::fleet) fn get(&self, key: &str) -> Outcome {
        let scope = RecordingScope { scope: self.revision.fleet.scope(self.node), reads: self.reads };
        Lookup::new(&self.revision.environment, self, &scope).get(key, None)
    }

    /// Looks `key` up and tells `recorder` what happens.
    pub(in crate::fleet) fn explain(&self, key: &str, recorder: &Recorder) -> Outcome {
        let scope = RecordingScope { scope: self.revision.fleet.scope(self.node), reads: self.reads };
        Lookup::new(&self.revision.environment, self, &scope).explained_by(recorder).get(key, None)
    }

    /// Finds options.
    pub(in crate::fleet) fn find_options(&self, of: &OptionsOf) -> FoundOptions {
        let scope = RecordingScope { scope: self.revision.fleet.scope(self.node), reads: self.reads };
        Lookup::new(&self.revision.environment, self, &scope).find_options(of)
    }
}

impl Sources for NodeView<'_> {
    fn hierarchy(&self, layer: &LayerId) -> Option<Resolved> {
        self.revision.hierarchy(layer, self.node)
    }

    fn options(&self, of: &OptionsOf) -> Option<FoundOptions> {
        self.reads.note(|| Read::Options(of.clone()));
        Some(self.revision.options(of).of(self.node))
    }

    fn searched(&self, root: &str, layer: &LayerId, levels: Option<&[Arc<Level>]>) {
        let last = levels.and_then(<[Arc<Level>]>::last);
        let parts = || self.revision.parts_to(layer, self.node, last);
        self.reads.note_parts(|| (Read::Key(root.into(), layer.clone()), parts()));
    }
}
