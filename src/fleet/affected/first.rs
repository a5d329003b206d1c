//! Who finds the same text first, before and after: a level that comes or goes changes nothing for those who have a key from another
//! one, or who find in the next one what it said.
//!
//! That is looked at only where the text reads variables, so that each node may have an answer of its own: to evaluate any other key
//! takes no longer than this. And only where it cannot fail: an error names the place of the text, which may be another one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::affected::references::References;
use crate::fleet::affected::{module, options_of};
use crate::fleet::parallel;
use crate::fleet::resolve::NodesByKey;
use crate::fleet::revision::Revision;
use crate::hiera::config::Config;
use crate::hiera::interpolation::Template;
use crate::hiera::layer::LayerId;
use crate::node::NodeSet;
use crate::value::{Text, Value};
use crate::workers::Workers;

/// The longest text of which it is sure that it, with all that it reads, is not more than an answer may cost.
const SHORT: usize = 1 << 12;

/// How long it takes to compare the texts of a key, about, in microseconds.
const A_KEY: usize = 60;

/// Two revisions with the same `lookup_options`, which refer to no key.
pub(super) struct First<'a> {
    pub(super) before: &'a Revision,
    pub(super) after: &'a Revision,
    pub(super) fleet: &'a Fleet,
}

impl<'a> First<'a> {
    /// Takes the nodes from `keys` that find the same text first.
    pub(super) fn narrow(&self, keys: &mut NodesByKey, references: &References, workers: &Workers) {
        if !is_simple(self.before) || !is_simple(self.after) {
            return;
        }
        let readers: BTreeSet<&Arc<str>> = references.readers().filter(|key| keys.contains_key(*key)).collect();
        let readers = Vec::from_iter(readers);
        if readers.is_empty() {
            return;
        }
        let workers = workers.worth(readers.len() * A_KEY);
        let changed = parallel::map(&readers, &workers, "comparing texts", |key| self.changed(key, &keys[*key]));
        for (key, nodes) in readers.into_iter().zip(changed) {
            if nodes.is_empty() {
                keys.remove(key);
            } else {
                keys.insert(key.clone(), nodes);
            }
        }
    }

    /// Those of `nodes` that do not surely find the same text first.
    fn changed(&self, key: &str, nodes: &NodeSet) -> NodeSet {
        let mut changed = nodes.clone();
        if self.takes_first(key) {
            let (before, after) = (self.texts(self.before, key, nodes), self.texts(self.after, key, nodes));
            for (text, old) in before {
                if let Some(new) = after.get(text) {
                    changed = changed.difference(&old.intersection(new));
                }
            }
        }
        changed
    }

    /// Whether the value of a key is what is found first, as it is.
    fn takes_first(&self, key: &str) -> bool {
        let settings = &self.before.environment.options.lookup_options;
        let options = || self.before.options(&options_of(self.before, module(key).map(Arc::from).as_ref()));
        matches!(settings.find(key), Ok(None)) && options().are_none_for(key)
    }

    /// The texts that `nodes` find first, where they cannot fail.
    fn texts(&self, revision: &'a Revision, key: &str, nodes: &NodeSet) -> HashMap<&'a Text, NodeSet, RandomState> {
        let mut texts: HashMap<&Text, NodeSet, RandomState> = HashMap::default();
        let mut rest = vec![nodes.clone()];
        for lane in revision.parts(&LayerId::Environment).iter().flat_map(|placed| &placed.lanes) {
            let parts = lane.parts_with(key);
            let split = rest.iter().flat_map(|nodes| lane.partition.split_off(nodes, &parts)).collect::<Vec<_>>();
            rest.clear();
            for nodes in split {
                let part = nodes.first().map(|node| lane.partition.class_of(node));
                match part.filter(|part| parts.binary_search(part).is_ok()) {
                    Some(part) => {
                        if let Some(text) = lane.first(part, key).and_then(|value| self.sure(value)) {
                            texts.entry(text).or_default().union_with(&nodes);
                        }
                    }
                    None => rest.push(nodes),
                }
            }
        }
        texts
    }

    /// The text that a value is, if it reads variables and cannot fail on any node.
    fn sure<'v>(&self, value: &'v Value) -> Option<&'v Text> {
        let Value::String(text) = value else { return None };
        if text.secrecy().is_some() || text.len() > SHORT || text.contains("ENC[") {
            return None;
        }
        let template = Template::parse(text).filter(Template::is_of_variables)?;
        template.variables().all(|name| self.fleet.has_short_text(name, SHORT)).then_some(text)
    }
}

/// Whether nothing but the levels of the environment decides what is found first.
fn is_simple(revision: &Revision) -> bool {
    let environment = &revision.environment;
    let is_sound = |config: &Config| config.version == 5 && config.sound().is_ok();
    environment.fault.is_none()
        && environment.modules_fault.is_none()
        && revision.config(&LayerId::Global).is_none()
        && revision.config(&LayerId::Environment).is_some_and(|config| config.is_ok_and(is_sound))
}
