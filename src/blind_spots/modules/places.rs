//! Finds modules outside of the repository that a commit adds or removes: by links, by the modulepath, or by the
//! order in it.

use crate::blind_spots::levels::outside;
use crate::blind_spots::{DiffContext, accept, wording};
use crate::report::BlindSpot;

impl DiffContext<'_> {
    /// Returns a blind spot for folders and modules outside of the repository that are added, removed or lead
    /// elsewhere.
    pub(crate) fn modules_outside(&self) -> Option<BlindSpot> {
        const CODE: &str = outside::OUTSIDE;
        let both = self.both_environments();
        let moved = both.iter().flat_map(|[before, after]| before.module_path.outside_moved(&after.module_path));
        let mut moved: Vec<&str> = moved.collect();
        moved.sort_unstable();
        moved.dedup();
        moved.retain(|name| !self.accepted.has(CODE, name));
        let (first, others) = moved.split_first()?;
        let short = if others.is_empty() { format!("'{first}'") } else { wording::count(moved.len(), "path") };
        let names = wording::some(moved.iter().copied());
        let advice = "say with datadirs or basemodulepath where they are or, if they have no data, add to hierad.yaml";
        Some(BlindSpot {
            code: CODE,
            headline: format!("the commit finds other modules outside of this repository, by {short}"),
            message: format!("modules outside of this repository are not read, and the commit finds others by {names}"),
            fix: Some(accept::remedy(advice, CODE, moved.iter().copied())),
            files: moved.iter().map(|name| (*name).to_owned()).collect(),
            ..BlindSpot::default()
        })
    }
}
