//! Where node profiles come from, as often as something new is wanted of them.

use serde::{Deserialize, Serialize};

use super::{NodeProfile, ProfileError, Wanted};

/// The place of a profile in its source, however the files of that are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilePlace {
    /// The number of the file.
    pub file: u32,
    /// The line that the profile begins on, counted from 1.
    pub line: u32,
}

/// Some profiles.
pub struct Batch {
    /// The place of the batch among all.
    pub number: usize,
    /// The profiles, with at least what is wanted of them; in order.
    pub profiles: Vec<(ProfilePlace, NodeProfile)>,
}

impl Batch {
    /// The profiles of one file, one a line.
    pub fn of_file(number: usize, file: u32, profiles: impl IntoIterator<Item = NodeProfile>) -> Batch {
        let places = (1..).map(|line| ProfilePlace { file, line });
        Batch { number, profiles: places.zip(profiles).collect() }
    }
}

/// Node profiles that can be read again and again.
pub trait ProfileSource: Send + Sync {
    /// Reads all profiles, at least what is `wanted` of them, and hands them out batch by batch, in any order and perhaps several at
    /// a time. What cannot be read comes back, in order.
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError>;

    /// Returns the path of a file as people know it.
    fn path(&self, file: u32) -> String {
        file.to_string()
    }

    /// Returns the number of the declaration, such as a folder, that a file belongs to. A node may be declared once in each; the last
    /// one counts.
    fn declaration(&self, file: u32) -> usize {
        file as usize
    }

    /// Whether the profiles are still what they were when they were first read.
    fn is_current(&self) -> bool {
        true
    }
}

/// Profiles in memory: each is declared by itself.
impl ProfileSource for Vec<NodeProfile> {
    fn read(&self, _: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let places = (0..).map(|file| ProfilePlace { file, line: 1 });
        each(Batch { number: 0, profiles: places.zip(self.iter().cloned()).collect() });
        Vec::new()
    }
}
