//! The global layer, which lies outside of the repository.

use super::Content;
use super::fault;
use super::files::{self, Files};
use super::global3;
use super::hierarchy;
use super::random::Random;

/// Its folder.
pub(crate) const GLOBAL: &str = "/global";

/// Configurations that are not a sound version 5.
const CONFIGS: [&str; 7] = [
    "version: 5\n",
    "version: 5\nhierarchy: []\n",
    "version: 5\ndefault_hierarchy: []\n",
    "version: 4\n",
    "version: 9\n",
    "version: 5\nhierarchy: [{name: a, hiera3_backend: json}]\n",
    "version: 5\nhierarchy: [\n",
];

/// Adds a global layer, or none.
pub(crate) fn add(random: &mut Random, all: &mut Files) {
    match random.weighted(&[55, 32, 13]) {
        0 => {}
        1 => version5(random, all),
        _ => global3::add(random, GLOBAL, all),
    }
}

fn version5(random: &mut Random, all: &mut Files) {
    let mut plan = hierarchy::plan(random);
    let mut files = files::write(random, &plan);
    match random.weighted(&[88, 8, 2, 2]) {
        1 => {
            // Without a configuration it is `data/common.yaml`.
            files.retain(|path, _| path.starts_with("data/"));
        }
        2 => _ = files.insert("hiera.yaml".into(), Content::File(random.pick(&CONFIGS).into())),
        3 => {
            fault::spoil_level(random, &mut plan);
            files.insert("hiera.yaml".into(), Content::File(plan.document(random)));
        }
        _ => _ = files.insert("hiera.yaml".into(), Content::File(plan.document(random))),
    }
    all.extend(files.into_iter().map(|(path, content)| (format!("{GLOBAL}/{path}"), content)));
}
