//! Sources of node profiles, which can be read again whenever something new is wanted.

use serde::{Deserialize, Serialize};

use super::{NodeProfile, ProfileError, Wanted};

/// The place of a profile in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilePlace {
    /// The number of the file.
    pub file: u32,
    /// The line that the profile begins on, counted from 1.
    pub line: u32,
}

/// Some profiles of a source.
pub struct Batch {
    /// The number of the batch, in the order of the source.
    pub number: usize,
    /// At least the wanted parts of the profiles, in order.
    pub profiles: Vec<(ProfilePlace, NodeProfile)>,
}

impl Batch {
    /// Returns a batch of the profiles of one file, one on each line.
    pub fn of_file(number: usize, file: u32, profiles: impl IntoIterator<Item = NodeProfile>) -> Batch {
        let places = (1..).map(|line| ProfilePlace { file, line });
        Batch { number, profiles: places.zip(profiles).collect() }
    }
}

/// Node profiles that can be read again and again.
pub trait ProfileSource: Send + Sync {
    /// Reads at least the `wanted` parts of all profiles, and passes them on batch by batch: in any order, and
    /// possibly on several threads. Returns the errors of those that cannot be read, in order.
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError>;

    /// Returns the path of a file, for messages.
    fn path(&self, file: u32) -> String {
        file.to_string()
    }

    /// Returns the number of the declaration, such as a folder, that a file belongs to. A node may be declared once
    /// in each; the last one wins.
    fn declaration(&self, file: u32) -> usize {
        file as usize
    }

    /// Returns true if the profiles are unchanged since they were first read.
    fn is_current(&self) -> bool {
        true
    }

    /// Returns the time of the oldest answer that profiles come from, in seconds since 1970; `None` if all come from
    /// files.
    fn fetched(&self) -> Option<u64> {
        None
    }

    /// Returns the names of the answers that profiles come from, as text to store; `None` if all come from files.
    fn answers(&self) -> Option<String> {
        None
    }

    /// Returns true if some profiles changed before they could be read again, so that they are unknown.
    fn has_changed(&self) -> bool {
        false
    }
}

/// Profiles in memory, each a separate declaration.
impl ProfileSource for Vec<NodeProfile> {
    fn read(&self, _: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let places = (0..).map(|file| ProfilePlace { file, line: 1 });
        each(Batch { number: 0, profiles: places.zip(self.iter().cloned()).collect() });
        Vec::new()
    }
}
