//! Compares the answers of functions in Ruby in two revisions where files that they read differ: the affected keys
//! are those with different answers.

use std::sync::Arc;

use crate::fleet::affected::Comparison;
use crate::fleet::revision::Revision;
use crate::hiera::bridged_answers;
use crate::hiera::hierarchy::{Data, Level};
use crate::hiera::layer::LayerId;
use crate::node::NodeId;
use crate::workers::Stage;

/// The number of keys that a function is asked for at a time.
const KEYS_PER_CALL: usize = 256;

/// The functions of one layer in two revisions.
pub(super) struct Functions<'a> {
    comparison: &'a Comparison<'a>,
    layer: &'a LayerId,
}

impl<'a> Functions<'a> {
    pub(super) fn new(comparison: &'a Comparison<'a>, layer: &'a LayerId) -> Functions<'a> {
        Functions { comparison, layer }
    }

    /// Reports that the functions of `count` pairs of classes are compared.
    pub(super) fn begin(&self, count: usize) -> Option<Arc<Stage>> {
        (count > 0).then(|| self.comparison.workers.begin("comparing answers of functions", Some(count)))
    }

    /// Returns the root keys for which the function of a level may answer differently, and all remaining keys if the
    /// work is to stop. `None` if they cannot be determined.
    pub(super) fn differing(&self, before: &Level, after: &Level) -> Option<Vec<Arc<str>>> {
        let is_promised = |level: &Level| level.data_read().is_some_and(Data::is_promised);
        if !is_promised(before) || !is_promised(after) {
            return None;
        }
        let roots = &self.comparison.asked_roots()?.roots;
        let mut differing = Vec::new();
        for roots in roots.chunks(KEYS_PER_CALL) {
            if self.comparison.workers.stop.reason().is_some() {
                differing.extend(roots.iter().cloned());
                continue;
            }
            let answers = |revision: &Revision, level| {
                let layer = revision.environment.layer_of(self.layer)?;
                let scope = self.comparison.fleet.scope(NodeId(0));
                let calls: Vec<(&Level, &str)> = roots.iter().map(|root| (level, &**root)).collect();
                Some(bridged_answers(&calls, (&revision.environment, layer, &scope)))
            };
            let (old, new) = (answers(self.comparison.before, before)?, answers(self.comparison.after, after)?);
            // Answers that may depend on more than the level count as different.
            let differs = |(old, new): (&Option<_>, &Option<_>)| old.is_none() || old != new;
            let pairs = roots.iter().zip(old.iter().zip(&new));
            differing.extend(pairs.filter(|(_, pair)| differs(*pair)).map(|(root, _)| root.clone()));
        }
        Some(differing)
    }
}
