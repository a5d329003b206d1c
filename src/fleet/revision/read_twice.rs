//! Finds files that two levels of a layer read with different functions.
//!
//! Such a file is parsed by its first reader, so whichever level comes first may decide about any key.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::fleet::levels::ResolvedLevels;
use crate::hiera::backend::Format;
use crate::hiera::layer::{Environment, LayerId};

/// Marks the classes of a layer's levels that are led to a file read with different functions as those that may answer
/// for any key.
pub(super) fn mark_files_read_twice(environment: &Environment, id: &LayerId, of_layer: &mut [Arc<ResolvedLevels>]) {
    if !has_several_functions(environment, id) {
        return;
    }
    let mut readers: HashMap<&str, Format> = HashMap::new();
    let mut read_twice: BTreeSet<Arc<str>> = BTreeSet::new();
    for (path, file) in of_layer.iter().flat_map(|levels| &levels.classes).flat_map(|class| class.files()) {
        if *readers.entry(path).or_insert(file.format()) != file.format() {
            read_twice.insert(path.clone());
        }
    }
    if !read_twice.is_empty() {
        for levels in of_layer {
            *levels = Arc::new(levels.marked(&read_twice));
        }
    }
}

/// Returns true if levels of the layer may read files with different functions.
fn has_several_functions(environment: &Environment, id: &LayerId) -> bool {
    let config = environment.layer_of(id).and_then(|layer| layer.config.as_ref().ok());
    let functions: BTreeSet<&Arc<str>> =
        config.into_iter().flat_map(|config| config.all_levels()).map(|level| &level.function.name).collect();
    functions.len() > 1 || config.is_none_or(|config| config.version == 3 || config.hiera3.is_some())
}
