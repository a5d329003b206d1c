//! Finds the edits that a key needs without looking at all of them: a commit may have a million.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{Edit, Group};

/// The path of a level and a root key, which is `None` for a whole file.
type Place = (Arc<str>, Option<Arc<str>>);

/// Groups by place, root key and name.
#[derive(Default)]
pub(in crate::causes) struct GroupIndex {
    /// Groups by path of a level and root key; whole files have no root key.
    by_place: HashMap<Place, Vec<usize>, RandomState>,
    /// Groups by root key, of all kinds.
    by_root: HashMap<Option<Arc<str>>, Vec<usize>, RandomState>,
    /// Groups by the name of the key that needs them: in `lookup_options`, or at the root of a file.
    by_name: HashMap<Arc<str>, Vec<usize>, RandomState>,
    /// Groups that any key may need.
    of_any_key: Vec<usize>,
}

impl GroupIndex {
    pub(in crate::causes) fn of(edits: &[Edit], groups: &[Group]) -> GroupIndex {
        let mut index = GroupIndex::default();
        for (at, group) in groups.iter().enumerate() {
            index.by_root.entry(group.root.clone()).or_default().push(at);
            match group.option.as_ref().or(group.root.as_ref()) {
                Some(name) if group.option.is_none() || !name.starts_with('^') => {
                    index.by_name.entry(name.clone()).or_default().push(at);
                }
                _ => index.of_any_key.push(at),
            }
            if group.option.is_none() && group.config.is_none() {
                for path in &edits[group.edit].paths {
                    index.by_place.entry((path.clone(), group.root.clone())).or_default().push(at);
                }
            }
        }
        index
    }

    /// Returns the groups at a place that a lookup has visited: the path of a level and a root key.
    pub(in crate::causes) fn at(&self, path: &Arc<str>, root: &Arc<str>) -> impl Iterator<Item = usize> {
        let groups_at =
            |root: Option<Arc<str>>| self.by_place.get(&(path.clone(), root)).into_iter().flatten().copied();
        groups_at(Some(root.clone())).chain(groups_at(None))
    }

    /// Returns the groups with a root key, or the groups of whole files.
    pub(in crate::causes) fn with_root(&self, root: Option<&Arc<str>>) -> impl Iterator<Item = usize> {
        self.by_root.get(&root.cloned()).into_iter().flatten().copied()
    }

    /// Returns the groups that the key `name` needs, without those that any key may need.
    pub(in crate::causes) fn needed_by(&self, name: &str) -> impl Iterator<Item = usize> {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// Returns the groups that any key may need.
    pub(in crate::causes) fn of_any_key(&self) -> impl Iterator<Item = usize> {
        self.of_any_key.iter().copied()
    }
}
