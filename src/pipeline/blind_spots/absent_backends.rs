//! Finds levels whose backend does not come with Hiera 3.

use std::collections::BTreeMap;

use super::wording;
use crate::fleet::Revision;
use crate::node::NodeSet;
use crate::pipeline::suggestions;
use crate::report::BlindSpot;

const ABSENT: &str = "absent-backend";

/// Returns a blind spot for each backend of Hiera 3 that is taken to be not installed.
pub(super) fn absent_backends<'r>(revisions: impl IntoIterator<Item = &'r Revision>) -> Vec<BlindSpot> {
    let mut found: BTreeMap<&str, (&str, NodeSet)> = BTreeMap::new();
    let mut all = 0;
    for revision in revisions {
        all = revision.fleet.len();
        for finding in revision.findings.iter().filter(|finding| finding.diagnostic.code == ABSENT) {
            let text = &*finding.diagnostic.text;
            let Some(name) = text.split('\'').nth(1) else { continue };
            found.entry(name).or_insert((text, NodeSet::new())).1.union_with(&finding.nodes);
        }
    }
    let spot = |(name, (text, nodes)): (&str, (&str, NodeSet))| {
        let of = wording::nodes_of(&nodes, all);
        BlindSpot {
            code: ABSENT,
            headline: format!("the backend '{name}' of Hiera 3 is taken for not installed on {of}"),
            message: format!("{text} on {of}"),
            fix: Some(suggestions::fix_for_backend(name)),
            nodes,
            ..BlindSpot::default()
        }
    };
    found.into_iter().map(spot).collect()
}
