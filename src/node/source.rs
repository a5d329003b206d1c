//! Where node profiles come from, as often as something new is wanted of them.

use std::sync::Arc;

use super::{NodeProfile, ProfileError, Wanted};

/// Some profiles.
pub struct Batch {
    /// The place of the batch among all.
    pub number: usize,
    /// The profiles, with at least what is wanted of them, and the files that they are in; in order.
    pub profiles: Vec<(Arc<str>, NodeProfile)>,
}

impl Batch {
    /// The profiles of one file.
    pub fn of_file(number: usize, path: &str, profiles: impl IntoIterator<Item = NodeProfile>) -> Batch {
        let path: Arc<str> = path.into();
        Batch { number, profiles: profiles.into_iter().map(|profile| (path.clone(), profile)).collect() }
    }
}

/// Node profiles that can be read again and again.
pub trait ProfileSource: Send + Sync {
    /// Reads all profiles, at least what is `wanted` of them, and hands them out batch by batch, in any order and perhaps several at
    /// a time. What cannot be read comes back, in order.
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError>;

    /// Whether the profiles are still what they were when they were first read.
    fn is_current(&self) -> bool {
        true
    }
}

/// Profiles in memory.
impl ProfileSource for Vec<NodeProfile> {
    fn read(&self, _: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        each(Batch::of_file(0, "", self.iter().cloned()));
        Vec::new()
    }
}
