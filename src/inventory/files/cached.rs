//! Stores parsed profiles in the cache and reads them back.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::fleet::parallel;
use crate::node::{Batch, NodeProfile, ProfileError, ProfilePlace, Wanted, pack, unpack};
use crate::pipeline::cache::Cache;
use crate::workers::Workers;

/// A batch of profiles in the cache.
#[derive(Serialize, Deserialize)]
struct CachedBatch<'a> {
    number: usize,
    /// The places of the profiles. Paths are not stored: the next run may use others for the same files.
    places: Vec<ProfilePlace>,
    /// The profiles, packed.
    #[serde(borrow)]
    profiles: &'a [u8],
}

/// Passes on the batches stored under `name`. Returns `None` if there are none.
pub(super) fn read(
    cache: &Cache,
    name: &str,
    workers: &Workers,
    each: &(dyn Fn(Batch) + Sync),
) -> Option<Vec<ProfileError>> {
    let batches: Vec<CachedBatch<'_>> = postcard::from_bytes(cache.profiles(name)?).ok()?;
    let unpacked = parallel::map(&batches, workers, "reading node profiles", CachedBatch::profiles);
    let unpacked: Vec<_> = unpacked.into_iter().collect::<Option<_>>()?;
    for (CachedBatch { number, .. }, profiles) in batches.into_iter().zip(unpacked) {
        each(Batch { number, profiles });
    }
    Some(Vec::new())
}

impl CachedBatch<'_> {
    fn profiles(&self) -> Option<Vec<(ProfilePlace, NodeProfile)>> {
        let profiles = unpack(self.profiles)?;
        (profiles.len() == self.places.len()).then(|| self.places.iter().copied().zip(profiles).collect())
    }
}

/// Collects batches for the cache.
#[derive(Default)]
pub(super) struct CacheWriter(Mutex<Vec<Packed>>);

/// A batch: its number, the places of its profiles and the packed profiles, or `None` if they cannot be packed.
type Packed = (usize, Vec<ProfilePlace>, Option<Vec<u8>>);

impl CacheWriter {
    pub(super) fn add(&self, batch: &Batch, wanted: &Wanted) {
        let places = batch.profiles.iter().map(|(place, _)| *place).collect();
        let packed = (batch.number, places, pack(batch.profiles.iter().map(|(_, profile)| profile), wanted));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packed);
    }

    pub(super) fn keep(self, cache: &Cache, name: &str) {
        let mut batches = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Threads finish in any order, but the file must not depend on that.
        batches.sort_unstable_by_key(|(number, ..)| *number);
        let packed = batches.into_iter().map(|(number, places, profiles)| Some((number, places, profiles?)));
        let Some(packed) = packed.collect::<Option<Vec<_>>>() else { return };
        let packed = packed.iter().map(|(number, places, profiles)| CachedBatch {
            number: *number,
            places: places.clone(),
            profiles,
        });
        if let Ok(bytes) = postcard::to_allocvec(&packed.collect::<Vec<_>>()) {
            cache.keep_profiles(name, bytes);
        }
    }
}
