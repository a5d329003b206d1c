//! Profiles that were read before.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::fleet::parallel;
use crate::node::{Batch, NodeProfile, ProfileError, Wanted, pack, unpack};
use crate::pipeline::cache::Cache;
use crate::workers::Workers;

/// A batch: its number, its file, and its profiles.
#[derive(Serialize, Deserialize)]
struct Kept<'a>(usize, &'a str, &'a [u8]);

/// Hands out what was kept under `name`; nothing if there is nothing.
pub(super) fn read(
    cache: &Cache,
    name: &str,
    workers: &Workers,
    each: &(dyn Fn(Batch) + Sync),
) -> Option<Vec<ProfileError>> {
    let kept: Vec<Kept<'_>> = postcard::from_bytes(cache.profiles(name)?).ok()?;
    let unpacked = parallel::map(&kept, workers, "reading node profiles", |Kept(.., bytes)| unpack(bytes));
    let unpacked: Vec<Vec<NodeProfile>> = unpacked.into_iter().collect::<Option<_>>()?;
    for (Kept(number, path, _), profiles) in kept.into_iter().zip(unpacked) {
        each(Batch { number, path: path.into(), profiles });
    }
    Some(Vec::new())
}

/// Collects what is to be kept.
#[derive(Default)]
pub(super) struct Keeper(Mutex<Vec<Packed>>);

/// The number and the file of a batch, and its profiles, if they can be packed.
type Packed = (usize, String, Option<Vec<u8>>);

impl Keeper {
    pub(super) fn add(&self, batch: &Batch, wanted: &Wanted) {
        let packed = (batch.number, batch.path.to_string(), pack(&batch.profiles, wanted));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packed);
    }

    pub(super) fn keep(self, cache: &Cache, name: &str) {
        let batches = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = batches.iter().map(|(number, path, bytes)| Some(Kept(*number, path, bytes.as_deref()?)));
        let bytes = kept.collect::<Option<Vec<Kept<'_>>>>().and_then(|kept| postcard::to_allocvec(&kept).ok());
        if let Some(bytes) = bytes {
            cache.keep_profiles(name, bytes);
        }
    }
}
