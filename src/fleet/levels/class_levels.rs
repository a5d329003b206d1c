//! The resolved levels of one node class: equal files at equal places.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::diagnostic::Place;
use crate::fleet::levels::key_source::KeySource;
use crate::hiera::LookupError;
use crate::hiera::backend::{Backend, DataFile, DeclaredFunction, Runner};
use crate::hiera::hierarchy::{Content, Found, HierarchyPart, Level, Location};
use crate::tree::BlobId;
use crate::value::Value;

/// The resolved levels of a node class. Two are equal if they give the same answers.
pub(in crate::fleet) struct ClassLevels {
    /// The levels.
    pub(in crate::fleet) part: HierarchyPart,
    /// The sources of root keys in them.
    pub(in crate::fleet) sources: Arc<[KeySource]>,
    /// True if they may answer, or fail, for any key.
    pub(in crate::fleet) concerns_any_key: bool,
    /// True if the references in their answers cannot be seen.
    pub(in crate::fleet) is_opaque: bool,
    signature: Signature,
}

impl PartialEq for ClassLevels {
    fn eq(&self, other: &ClassLevels) -> bool {
        self.signature.hash == other.signature.hash && self.signature.levels == other.signature.levels
    }
}

impl Eq for ClassLevels {}

impl Hash for ClassLevels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.signature.hash);
    }
}

impl From<HierarchyPart> for ClassLevels {
    fn from(part: HierarchyPart) -> ClassLevels {
        let levels = || part.levels.iter().flatten();
        let is_opaque = |level: &Arc<Level>| match &level.backend {
            Backend::Declared(DeclaredFunction::Values(_)) => true,
            Backend::Declared(DeclaredFunction::Command(command)) => match (&command.runner, &level.reads) {
                // The function is not called.
                (Runner::Bridge(_), None) => false,
                (Runner::Bridge(_), Some(Ok(reads))) => !reads.data.is_promised(),
                _ => true,
            },
            _ => false,
        };
        ClassLevels {
            sources: levels().flat_map(|level| sources(level)).collect(),
            concerns_any_key: concerns_any_key(&part),
            is_opaque: levels().any(is_opaque),
            signature: Signature::of(&part),
            part,
        }
    }
}

impl ClassLevels {
    /// Returns the levels. There are none if there is an error in their place.
    pub(in crate::fleet) fn levels(&self) -> impl Iterator<Item = &Arc<Level>> {
        self.part.levels.iter().flatten()
    }

    /// Returns the locations of all levels.
    pub(in crate::fleet) fn locations(&self) -> impl Iterator<Item = &Location> {
        self.levels().flat_map(|level| &level.locations)
    }

    /// Returns the data files at all locations, with their paths.
    pub(in crate::fleet) fn files(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
        self.locations().filter_map(Location::file)
    }
}

/// Everything that determines the answers of some levels. Hashes are compared first.
struct Signature {
    levels: Result<Vec<LevelSignature>, LookupError>,
    hash: u64,
}

/// The options and locations of a level, and the files that a bridged function reads.
type LevelSignature = (Value, Vec<LocationSignature>, Option<Found>);

#[derive(PartialEq, Eq, Hash)]
enum LocationSignature {
    Whole,
    Absent,
    Other(Arc<str>),
    File(Arc<str>, BlobId),
    Unreadable(LookupError),
}

impl Signature {
    fn of(part: &HierarchyPart) -> Signature {
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
        let level = |level: &Arc<Level>| {
            (level.options.clone(), level.locations.iter().map(location).collect(), level.reads.clone())
        };
        let levels = part.levels.as_ref().map(|levels| levels.iter().map(level).collect()).map_err(Clone::clone);
        let hash = FixedState::default().hash_one(&levels);
        Signature { levels, hash }
    }
}

/// Returns the sources of root keys in a level.
fn sources(level: &Level) -> Vec<KeySource> {
    match &level.backend {
        Backend::Declared(DeclaredFunction::Values(values)) => vec![KeySource::Values(values.clone())],
        _ => level.locations.iter().filter_map(Location::file).map(|(_, file)| KeySource::File(file.clone())).collect(),
    }
}

/// The part that a location plays in the answers to keys.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Role<'a> {
    /// Answers no key.
    Silent,
    /// Answers the keys of a data file, or fails on them: the path and the file, with the options of its level.
    File(&'a Arc<str>, *const DataFile, &'a Value),
    /// Fails on any key in the same way: the place and the function of its level.
    Fails(&'a Place, &'a str),
    /// May answer, or fail, for any key.
    AnyKey,
}

impl<'a> Role<'a> {
    /// Returns the role of one of the locations of `level`.
    pub(super) fn of(level: &'a Level, location: &'a Location) -> Role<'a> {
        match location {
            Location::Path { content: Content::Absent, .. } => return Role::Silent,
            Location::Path { content: Content::Unreadable(_), .. } if !matches!(level.backend, Backend::Absent) => {
                return Role::AnyKey;
            }
            _ => {}
        }
        match (&level.backend, location.file()) {
            (Backend::Absent | Backend::Declared(DeclaredFunction::NotFound), _) => Role::Silent,
            (Backend::Files(_) | Backend::Eyaml(_), Some((path, file))) => {
                Role::File(path, Arc::as_ptr(file), &level.options)
            }
            (Backend::Fails(_), _) => Role::Fails(&level.place, &level.function),
            (Backend::Files(_) | Backend::Eyaml(_) | Backend::Declared(_), _) => Role::AnyKey,
        }
    }

    /// Returns true if a location with this role may answer, or fail, for any key.
    pub(super) fn concerns_any_key(&self, location: &Location) -> bool {
        match self {
            Role::Silent => false,
            Role::File(..) => location.file().is_some_and(|(_, file)| file.concerns_all_keys()),
            Role::Fails(..) | Role::AnyKey => true,
        }
    }
}

/// Returns true if some location may answer, or fail, for any key.
fn concerns_any_key(part: &HierarchyPart) -> bool {
    let Ok(levels) = &part.levels else { return true };
    let is_odd = |level, location| Role::of(level, location).concerns_any_key(location);
    levels.iter().any(|level| level.locations.iter().any(|location| is_odd(level, location)))
}
