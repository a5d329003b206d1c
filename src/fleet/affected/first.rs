//! Finds nodes that find the same text first, before and after. Adding or removing a level changes nothing for nodes
//! that have a key from another level, or that find the same text in the next one.
//!
//! This pays off only for texts that read variables, for which each node may have its own answer: any other key is
//! evaluated just as fast. The texts must not fail, because an error names the place of the text.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::NodesByKey;
use crate::fleet::affected::options::{module, options_of};
use crate::fleet::affected::references::References;
use crate::fleet::parallel;
use crate::fleet::revision::Revision;
use crate::hiera::config::Config;
use crate::hiera::encrypted::may_be_encrypted;
use crate::hiera::interpolation::Template;
use crate::hiera::layer::LayerId;
use crate::node::NodeSet;
use crate::value::{Text, Value};
use crate::workers::Workers;

/// The longest text that, with the values of its variables, surely does not exceed the limits of an answer.
const MAX_TEXT_LENGTH: usize = 1 << 12;

/// Two revisions with equal `lookup_options`, which refer to no key.
pub(super) struct FirstTexts<'a> {
    pub(super) before: &'a Revision,
    pub(super) after: &'a Revision,
    pub(super) fleet: &'a Fleet,
}

impl<'a> FirstTexts<'a> {
    /// Removes the nodes from `keys` that find the same text first.
    pub(super) fn narrow(&self, keys: &mut NodesByKey, references: &References, workers: &Workers) {
        if !is_simple(self.before) || !is_simple(self.after) {
            return;
        }
        let readers: BTreeSet<&Arc<str>> = references.readers().filter(|key| keys.contains_key(*key)).collect();
        let readers = Vec::from_iter(readers);
        if readers.is_empty() {
            return;
        }
        let changed = parallel::map(&readers, workers, "comparing texts", |key| self.changed(key, &keys[*key]));
        for (key, nodes) in readers.into_iter().zip(changed) {
            if nodes.is_empty() {
                keys.remove(key);
            } else {
                keys.insert(key.clone(), nodes);
            }
        }
    }

    /// Returns the `nodes` that may find a different text first.
    fn changed(&self, key: &str, nodes: &NodeSet) -> NodeSet {
        let mut changed = nodes.clone();
        if self.uses_first_found(key) {
            let (before, after) = (self.texts(self.before, key, nodes), self.texts(self.after, key, nodes));
            for (text, old) in before {
                if let Some(new) = after.get(text) {
                    changed = changed.difference(&old.intersection(new));
                }
            }
        }
        changed
    }

    /// Returns true if the value of a key is the first one found, neither merged nor converted.
    fn uses_first_found(&self, key: &str) -> bool {
        let settings = &self.before.environment.options.lookup_options;
        let options = || self.before.options(&options_of(self.before, module(key).map(Arc::from).as_ref()));
        let is_asked = [self.before, self.after]
            .iter()
            .any(|revision| revision.environment.lookups.agreed_on(key, settings).is_some());
        !is_asked && matches!(settings.find(key), Ok(None)) && options().are_none_for(key)
    }

    /// Returns the texts that `nodes` find first and that cannot fail, with the nodes of each.
    fn texts(&self, revision: &'a Revision, key: &str, nodes: &NodeSet) -> HashMap<&'a Text, NodeSet, RandomState> {
        let mut texts: HashMap<&Text, NodeSet, RandomState> = HashMap::default();
        let mut rest = vec![nodes.clone()];
        for locations in revision.levels_of(&LayerId::Environment(None)).iter().flat_map(|levels| &levels.key_locations)
        {
            let classes = locations.classes_with(key);
            let split =
                rest.iter().flat_map(|nodes| locations.partition.split_off(nodes, &classes)).collect::<Vec<_>>();
            rest.clear();
            for nodes in split {
                let class = nodes.first().map(|node| locations.partition.class_of(node));
                match class.filter(|class| classes.binary_search(class).is_ok()) {
                    Some(class) => {
                        if let Some(text) =
                            locations.first_value(class, key).and_then(|value| self.infallible_text(value))
                        {
                            texts.entry(text).or_default().union_with(&nodes);
                        }
                    }
                    None => rest.push(nodes),
                }
            }
        }
        texts
    }

    /// Returns the text of a value that reads variables and cannot fail on any node, or `None` for other values.
    fn infallible_text<'v>(&self, value: &'v Value) -> Option<&'v Text> {
        let Value::String(text) = value else { return None };
        if text.secrecy().is_some() || text.len() > MAX_TEXT_LENGTH || may_be_encrypted(text) {
            return None;
        }
        let template = Template::parse(text).filter(Template::is_of_variables)?;
        template.variables().all(|name| self.fleet.has_short_text(name, MAX_TEXT_LENGTH)).then_some(text)
    }
}

/// Returns true if only the levels of a single environment decide which value is found first.
fn is_simple(revision: &Revision) -> bool {
    let environment = &revision.environment;
    let is_sound = |config: &Config| config.version == 5 && config.sound().is_ok();
    environment.fault.is_none()
        && environment.modules_fault.is_none()
        && revision.config(&LayerId::Global).is_none()
        && revision.config(&LayerId::Environment(None)).is_some_and(|config| config.is_ok_and(is_sound))
}
