//! The references that functions in Ruby make, taken from the answers of functions whose files contain any.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::affected::Comparison;
use crate::fleet::levels::class_levels::ClassLevels;
use crate::fleet::levels::key_references::KeyReferences;
use crate::fleet::revision::Revision;
use crate::hiera::backend::{Folder, Mentions};
use crate::hiera::bridged_references;
use crate::hiera::hierarchy::Data;
use crate::hiera::layer::LayerId;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeId;

/// The maximum number of node classes for which functions are asked for all keys, to see their references.
const MAX_CLASSES: usize = 64;

/// The root keys that functions in Ruby are asked for, and the references in the files that they read.
pub(super) struct AskedRoots {
    /// The keys that matter, and those that others refer to.
    pub(super) roots: Vec<Arc<str>>,
    mentions_by_folder: HashMap<Folder, Mentions, RandomState>,
}

/// The references that functions make.
#[derive(Default)]
pub(super) struct FunctionReferences {
    /// The keys that refer to a key, by that key.
    pub(super) referrers: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// The keys that may refer to any key.
    pub(super) to_anything: BTreeSet<Arc<str>>,
}

impl FunctionReferences {
    /// Returns true if `key` refers to another key.
    pub(super) fn has_referrer(&self, key: &str) -> bool {
        self.to_anything.contains(key) || self.referrers.values().any(|keys| keys.contains(key))
    }
}

impl Comparison<'_> {
    /// Returns the root keys for which functions are asked; `None` if they cannot be determined.
    pub(super) fn asked_roots(&self) -> Option<&AskedRoots> {
        self.asked_roots
            .get_or_init(|| {
                let of_levels = self.of_levels()?;
                let mut mentions_by_folder = HashMap::default();
                for revision in [self.before, self.after] {
                    for folder in revision
                        .levels
                        .iter()
                        .flat_map(|levels| &levels.classes)
                        .flat_map(|class| promised_folders(class))
                    {
                        if !mentions_by_folder.contains_key(folder) {
                            let mentions = Mentions::of_folder(&*revision.environment.tree, folder).ok()?;
                            mentions_by_folder.insert(folder.clone(), mentions);
                        }
                    }
                }
                if mentions_by_folder.is_empty() {
                    return Some(AskedRoots { roots: Vec::new(), mentions_by_folder }); // nothing is asked
                }
                let referenced = mentions_by_folder.values().flat_map(|mentions: &Mentions| &mentions.keys);
                let referenced =
                    referenced.chain(of_levels.iter().flat_map(|references| references.targets())).cloned();
                let roots: BTreeSet<Arc<str>> =
                    self.wanted_roots().chain(referenced).chain([LOOKUP_OPTIONS.into()]).collect();
                Some(AskedRoots { roots: roots.into_iter().collect(), mentions_by_folder })
            })
            .as_ref()
    }

    /// Returns the references of each resolved level, without duplicates. `None` if some cannot be seen in the data.
    pub(super) fn of_levels(&self) -> Option<Vec<Arc<KeyReferences>>> {
        let mut of_levels: Vec<Arc<KeyReferences>> = Vec::new();
        let levels = [self.before, self.after].into_iter().flat_map(|revision| &revision.levels);
        for references in levels.map(|levels| levels.references()) {
            if references.is_opaque() {
                return None;
            }
            if !of_levels.iter().any(|known| Arc::ptr_eq(known, references)) {
                of_levels.push(references.clone());
            }
        }
        Some(of_levels)
    }

    /// Returns the references that functions make. Functions whose files contain any are asked for all keys. `None`
    /// if these are too many, or if their references cannot be seen.
    pub(super) fn function_references(&self) -> Option<FunctionReferences> {
        let asked_roots = self.asked_roots()?;
        let mut references = FunctionReferences::default();
        if asked_roots.mentions_by_folder.is_empty() {
            return Some(references);
        }
        let mut count = 0;
        for revision in [self.before, self.after] {
            for layer in revision.environment.layer_ids() {
                for class in revision.levels_of(&layer).iter().flat_map(|levels| &levels.classes) {
                    if promised_folders(class)
                        .any(|folder| self.shows_references(&asked_roots.mentions_by_folder[folder]))
                    {
                        count += 1;
                        if count > 2 * MAX_CLASSES {
                            return None;
                        }
                        self.add_references(revision, (&layer, class), &asked_roots.roots, &mut references)?;
                    }
                }
            }
        }
        Some(references)
    }

    fn shows_references(&self, mentions: &Mentions) -> bool {
        mentions.anything || !mentions.keys.is_empty() || self.are_interpolated(mentions)
    }

    fn are_interpolated(&self, mentions: &Mentions) -> bool {
        mentions.variables.iter().any(|name| self.fleet.interpolates(name))
    }

    fn add_references(
        &self,
        revision: &Revision,
        (layer, class): (&LayerId, &ClassLevels),
        roots: &[Arc<str>],
        references: &mut FunctionReferences,
    ) -> Option<()> {
        let (level, layer) = (class.function()?, revision.environment.layer_of(layer)?);
        let scope = self.fleet.scope(NodeId(0));
        let names: Vec<&str> = roots.iter().map(|root| &**root).collect();
        let mentions = bridged_references(level, &names, (&revision.environment, layer, &scope))?;
        for (root, mentions) in roots.iter().zip(mentions) {
            if mentions.anything || self.are_interpolated(&mentions) {
                references.to_anything.insert(root.clone());
            }
            for key in mentions.keys {
                references.referrers.entry(key).or_default().insert(root.clone());
            }
        }
        Some(())
    }
}

/// Returns the folders whose files the functions of a class are promised to read.
fn promised_folders(class: &ClassLevels) -> impl Iterator<Item = &Folder> {
    let data = class.levels().filter_map(|level| level.data_read());
    data.filter(|data| data.is_promised()).flat_map(Data::folders)
}
