//! Profiles that were read before.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::fleet::parallel;
use crate::node::{Batch, NodeProfile, ProfileError, Wanted, pack, unpack};
use crate::pipeline::cache::Cache;
use crate::workers::Workers;

/// How much is unpacked in a microsecond, about.
const BYTES_A_MICROSECOND: usize = 100;

/// A batch: its number, and its profiles by the files that they are in.
#[derive(Serialize, Deserialize)]
struct Kept<'a>(usize, #[serde(borrow)] Vec<(&'a str, &'a [u8])>);

/// Hands out what was kept under `name`; nothing if there is nothing.
pub(super) fn read(
    cache: &Cache,
    name: &str,
    workers: &Workers,
    each: &(dyn Fn(Batch) + Sync),
) -> Option<Vec<ProfileError>> {
    let kept: Vec<Kept<'_>> = postcard::from_bytes(cache.profiles(name)?).ok()?;
    let bytes: usize = kept.iter().map(Kept::len).sum();
    let workers = workers.worth(bytes / BYTES_A_MICROSECOND);
    let unpacked = parallel::map(&kept, &workers, "reading node profiles", Kept::profiles);
    let unpacked: Vec<_> = unpacked.into_iter().collect::<Option<_>>()?;
    for (Kept(number, _), profiles) in kept.into_iter().zip(unpacked) {
        each(Batch { number, profiles });
    }
    Some(Vec::new())
}

impl Kept<'_> {
    fn len(&self) -> usize {
        self.1.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    fn profiles(&self) -> Option<Vec<(Arc<str>, NodeProfile)>> {
        let mut profiles = Vec::new();
        for (path, bytes) in &self.1 {
            let path: Arc<str> = (*path).into();
            profiles.extend(unpack(bytes)?.into_iter().map(|profile| (path.clone(), profile)));
        }
        Some(profiles)
    }
}

/// Collects what is to be kept.
#[derive(Default)]
pub(super) struct Keeper(Mutex<Vec<(usize, Option<Packed>)>>);

/// The profiles of a batch by the files that they are in.
type Packed = Vec<(Arc<str>, Vec<u8>)>;

impl Keeper {
    pub(super) fn add(&self, batch: &Batch, wanted: &Wanted) {
        let files = batch.profiles.chunk_by(|(one, _), (other, _)| Arc::ptr_eq(one, other));
        let packed =
            files.map(|file| Some((file[0].0.clone(), pack(file.iter().map(|(_, profile)| profile), wanted)?)));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((batch.number, packed.collect()));
    }

    pub(super) fn keep(self, cache: &Cache, name: &str) {
        let batches = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = batches.iter().map(|(number, packed)| {
            let files = packed.as_ref()?.iter().map(|(path, bytes)| (&**path, bytes.as_slice()));
            Some(Kept(*number, files.collect()))
        });
        let bytes = kept.collect::<Option<Vec<Kept<'_>>>>().and_then(|kept| postcard::to_allocvec(&kept).ok());
        if let Some(bytes) = bytes {
            cache.keep_profiles(name, bytes);
        }
    }
}
