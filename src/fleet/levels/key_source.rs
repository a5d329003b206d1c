//! A source of root keys: a data file, or values that the settings declare.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::hiera::backend::DataFile;
use crate::value::Hash;

/// Something that defines root keys.
#[derive(Clone)]
pub(in crate::fleet) enum KeySource {
    /// A data file.
    File(Arc<DataFile>),
    /// The values that the settings declare for a backend.
    Values(Arc<Hash>),
}

impl KeySource {
    /// Returns the root keys.
    pub(in crate::fleet) fn keys(&self) -> Vec<Arc<str>> {
        match self {
            KeySource::File(file) => file.keys().to_vec(),
            KeySource::Values(values) => values.keys().map(|key| key.to_s().into()).collect(),
        }
    }

    /// Returns true if it defines the key `root`.
    pub(super) fn has(&self, root: &str) -> bool {
        match self {
            KeySource::File(file) => file.has(root),
            KeySource::Values(values) => values.keys().any(|key| key.to_s() == root),
        }
    }

    /// Returns the data file, or `None` for declared values.
    pub(in crate::fleet) fn file(&self) -> Option<&Arc<DataFile>> {
        match self {
            KeySource::File(file) => Some(file),
            KeySource::Values(_) => None,
        }
    }

    /// Returns the identity of the source, which its clones share.
    fn address(&self) -> usize {
        match self {
            KeySource::File(file) => Arc::as_ptr(file).addr(),
            KeySource::Values(values) => Arc::as_ptr(values).addr(),
        }
    }
}

/// Returns the sources that are only in `before`, and those that are only in `after`.
pub(in crate::fleet) fn removed_and_added<'k>(
    before: impl Iterator<Item = &'k KeySource>,
    after: impl Iterator<Item = &'k KeySource>,
) -> (Vec<&'k KeySource>, Vec<&'k KeySource>) {
    type ByAddress<'k> = HashMap<usize, &'k KeySource, RandomState>;
    let before: ByAddress<'k> = before.map(|source| (source.address(), source)).collect();
    let after: ByAddress<'k> = after.map(|source| (source.address(), source)).collect();
    let difference = |one: &ByAddress<'k>, other: &ByAddress<'k>| {
        one.iter().filter(|(address, _)| !other.contains_key(address)).map(|(_, source)| *source).collect()
    };
    (difference(&before, &after), difference(&after, &before))
}
