//! What the nodes of a class see of a part of a hierarchy: the same files at the same places.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::fleet::revision::lanes::Keyed;
use crate::hiera::LookupError;
use crate::hiera::backend::{Backend, DataFile, Declared};
use crate::hiera::hierarchy::{Content, Level, Location, Part};
use crate::tree::BlobId;
use crate::value::Value;

/// What the nodes of a class see. Two are equal if their answers are.
pub(in crate::fleet) struct Class {
    /// What they see.
    pub(in crate::fleet) part: Part,
    /// What has root keys in it.
    pub(in crate::fleet) keyed: Arc<[Keyed]>,
    /// Whether it may answer, or fail, for any key.
    pub(in crate::fleet) is_for_any_key: bool,
    /// Whether nobody can see what its answers refer to.
    pub(in crate::fleet) is_opaque: bool,
    signature: Signature,
}

impl PartialEq for Class {
    fn eq(&self, other: &Class) -> bool {
        self.signature.hash == other.signature.hash && self.signature.levels == other.signature.levels
    }
}

impl Eq for Class {}

impl Hash for Class {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.signature.hash);
    }
}

impl From<Part> for Class {
    fn from(part: Part) -> Class {
        let levels = || part.levels.iter().flatten();
        let is_opaque =
            |level: &Arc<Level>| matches!(level.backend, Backend::Declared(Declared::Values(_) | Declared::Command(_)));
        Class {
            keyed: levels().flat_map(|level| keyed(level)).collect(),
            is_for_any_key: is_for_any_key(&part),
            is_opaque: levels().any(is_opaque),
            signature: Signature::of(&part),
            part,
        }
    }
}

impl Class {
    /// The data files that it leads to.
    pub(in crate::fleet) fn files(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
        let locations = self.part.levels.iter().flatten().flat_map(|level| &level.locations);
        locations.filter_map(file)
    }
}

/// What decides the answers of a part; compared by its hash first.
struct Signature {
    levels: Result<Vec<(Value, Vec<LocationSignature>)>, LookupError>,
    hash: u64,
}

#[derive(PartialEq, Eq, Hash)]
enum LocationSignature {
    Whole,
    Absent,
    Other(Arc<str>),
    File(Arc<str>, BlobId),
    Unreadable(LookupError),
}

impl Signature {
    fn of(part: &Part) -> Signature {
        let location = |location: &Location| match location {
            Location::Whole => LocationSignature::Whole,
            Location::Uri { uri, .. } => LocationSignature::Other(uri.clone()),
            Location::Path { path, content, .. } => match content {
                Content::Absent => LocationSignature::Absent,
                Content::Other => LocationSignature::Other(path.clone()),
                Content::File(id, _) => LocationSignature::File(path.clone(), *id),
                Content::Unreadable(error) => LocationSignature::Unreadable(error.clone()),
            },
        };
        let level = |level: &Arc<Level>| (level.options.clone(), level.locations.iter().map(location).collect());
        let levels = part.levels.as_ref().map(|levels| levels.iter().map(level).collect()).map_err(Clone::clone);
        let hash = FixedState::default().hash_one(&levels);
        Signature { levels, hash }
    }
}

/// The data file at a location, with its path.
pub(in crate::fleet) fn file(location: &Location) -> Option<(&Arc<str>, &Arc<DataFile>)> {
    match location {
        Location::Path { path, content: Content::File(_, file), .. } => Some((path, file)),
        _ => None,
    }
}

fn keyed(level: &Level) -> Vec<Keyed> {
    match &level.backend {
        Backend::Declared(Declared::Values(values)) => vec![Keyed::Values(values.clone())],
        _ => level.locations.iter().filter_map(file).map(|(_, file)| Keyed::File(file.clone())).collect(),
    }
}

fn is_for_any_key(part: &Part) -> bool {
    let Ok(levels) = &part.levels else { return true };
    let is_odd = |level: &Arc<Level>| match &level.backend {
        Backend::Declared(_) | Backend::Fails(_) => true,
        Backend::Absent => false,
        Backend::Files(_) | Backend::Eyaml(_) => level.locations.iter().any(|location| match location {
            Location::Whole | Location::Uri { .. } => true,
            Location::Path { content, .. } => match content {
                Content::Absent => false,
                Content::Other | Content::Unreadable(_) => true,
                Content::File(_, file) => file.concerns_all_keys(),
            },
        }),
    };
    levels.iter().any(is_odd)
}
