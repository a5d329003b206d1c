//! Finds manifests that look up keys with a merge strategy other than the data's, so that nodes get other values than
//! reports show.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Fault, Pipeline, PipelineError, RevisionId};
use crate::diagnostic::Severity;
use crate::diff::{self, Diff};
use crate::fleet::{Effective, Revision};
use crate::hiera::key::root_of;
use crate::hiera::layer::Environment;
use crate::hiera::manifests::{ManifestMerge, name};
use crate::node::NodeSet;
use crate::puppet::json;
use crate::value::{Hash, Value};

impl Pipeline {
    /// Returns faults for keys that a manifest merges differently, on the nodes where that changes the value.
    pub(super) fn manifest_faults(
        &self,
        id: RevisionId,
        revision: &Revision,
        effective: &Effective,
    ) -> Result<Vec<Fault>, PipelineError> {
        let asked_merges = |key: &Arc<str>| {
            let mut merges: Vec<ManifestMerge> = Vec::new();
            for Environment { lookups, options, .. } in revision.environment.roots() {
                for one in lookups.strategies(&root_of(key), &options.lookup_options) {
                    match merges.iter_mut().find(|known| known.merge == one.merge) {
                        Some(known) => known.places.extend(one.places),
                        None => merges.push(one),
                    }
                }
            }
            merges.retain(|asked| asked.names_key);
            Some((key.clone(), merges)).filter(|(_, merges)| !merges.is_empty())
        };
        let mut calls: BTreeMap<Arc<str>, Vec<ManifestMerge>> = revision.keys.iter().filter_map(asked_merges).collect();
        let mut faults = Vec::new();
        // Each round resolves one more strategy of each key.
        while !calls.is_empty() {
            let round: BTreeMap<Arc<str>, ManifestMerge> =
                calls.iter_mut().filter_map(|(key, asked)| Some((key.clone(), asked.pop()?))).collect();
            calls.retain(|_, strategies| !strategies.is_empty());
            let changed = self.changed_by(id, effective, &round)?;
            faults.extend(changed.into_iter().filter_map(|(key, nodes)| {
                let ManifestMerge { merge, places, .. } = round.get(&key)?;
                Some(Fault { places: places.clone(), ..fault(&root_of(&key), merge) }.on(nodes))
            }));
        }
        Ok(faults)
    }

    /// Returns the keys whose values differ with these strategies, and the nodes on which they do.
    fn changed_by(
        &self,
        id: RevisionId,
        effective: &Effective,
        round: &BTreeMap<Arc<str>, ManifestMerge>,
    ) -> Result<BTreeMap<Arc<str>, NodeSet>, PipelineError> {
        let mut revisions = self.revisions.clone();
        let options = round.iter().map(|(key, asked)| (Value::from(&*root_of(key)), asked.merge.clone()));
        revisions.options.lookup_options = Arc::new(revisions.options.lookup_options.with_merges(options));
        let environment = revisions.environment(id)?;
        let merged = Revision::new(environment, self.fleet.clone(), &self.workers)?;
        let merged = self.effective(&merged, round.keys());
        let answers = |key: &Arc<str>| Some((key.clone(), effective.keys.get(key)?.clone()));
        let of_data = Effective { keys: round.keys().filter_map(answers).collect() };
        let mut changed: BTreeMap<Arc<str>, NodeSet> = BTreeMap::new();
        for change in diff::changes(Diff::new(&of_data, &merged), &self.workers).changes {
            changed.entry(change.key).or_default().union_with(&change.nodes);
        }
        Ok(changed)
    }
}

fn fault(key: &str, merge: &Value) -> Fault {
    let text = format!(
        "manifests look up '{key}' with the merge strategy {}, the data names another: the value shown is not what nodes get",
        name(merge)
    );
    let options = Hash::from_iter([("merge", merge.clone())]);
    let options = Hash::from_iter([(key, Value::Hash(options.into()))]);
    let fix = format!("add to hierad.yaml: lookup_options: {}", json::compact(&Value::Hash(options.into())));
    Fault::new(Severity::Warning, "merge-in-manifest", text).with_fix(fix)
}
