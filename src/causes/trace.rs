//! One explained lookup of a key on a node: its outcome, the places that it read, and the values that it found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::allowance::Allowance;
use crate::fleet::NodeRevision;
use crate::hiera::explain::provenance::{Contribution, contributions, origin};
use crate::hiera::explain::{Branch, Recorder, Step};
use crate::hiera::{LookupKey, Outcome};
use crate::report::{How, Origin};
use crate::value::{Value, ValuePath};

/// An explained lookup.
pub(super) struct Trace {
    pub(super) outcome: Outcome,
    pub(super) steps: Step,
    pub(super) contributions: Vec<Contribution>,
    /// The places that were searched: paths of levels, and root keys.
    pub(super) searched: BTreeSet<(Arc<str>, Arc<str>)>,
    /// The root keys that were searched, with the paths into their values.
    pub(super) roots: BTreeMap<Arc<str>, BTreeSet<Vec<String>>>,
}

impl Trace {
    /// Looks `key` up on a node. Returns `None` if that takes too much work.
    pub(super) fn of(revision: &NodeRevision<'_>, key: &str, allowance: &Allowance) -> Option<Trace> {
        let recorder = Recorder::default();
        let outcome = allowance.look_up(|limit| revision.explain(key, &recorder, limit))?;
        let steps = recorder.finish();
        let mut trace = Trace {
            outcome,
            contributions: contributions(&steps, key),
            searched: BTreeSet::new(),
            roots: BTreeMap::new(),
            steps: Step::default(),
        };
        trace.walk(&steps, None, None);
        trace.steps = steps;
        Some(trace)
    }

    fn walk(&mut self, step: &Step, root: Option<&Arc<str>>, path: Option<&Arc<str>>) {
        let key = match &step.branch {
            Some(Branch::Key(key)) => LookupKey::parse(key).ok(),
            _ => None,
        };
        if let Some(key) = &key {
            let segments = key.segments.iter().map(Value::to_s).collect();
            self.roots.entry(key.root.clone()).or_default().insert(segments);
        }
        let root = key.as_ref().map(|key| &key.root).or(root);
        let path = match &step.branch {
            Some(Branch::Path(path, _)) => Some(path),
            _ => path,
        };
        if let (Some(Branch::Path(path, _)), Some(root)) = (&step.branch, root) {
            self.searched.insert((path.clone(), root.clone()));
        }
        step.steps.iter().for_each(|step| self.walk(step, root, path));
    }

    /// Returns the origin of the part at `path`.
    pub(super) fn origin(&self, path: &ValuePath) -> Option<Origin> {
        let Outcome::Found(value) = &self.outcome else { return None };
        let found = origin(&self.contributions, value, path)?;
        Some(Origin { place: found.place, level: found.level, how: How::Value })
    }
}
