//! Finds levels whose backend does not come with Hiera 3.

use std::collections::BTreeMap;

use super::wording;
use crate::fleet::Revision;
use crate::node::NodeSet;
use crate::pipeline::suggestions;
use crate::report::BlindSpot;

const ABSENT: &str = "absent-backend";

/// Returns a blind spot for each backend of Hiera 3 that is taken to be not installed.
pub(super) fn absent_backends(revisions: &[&Revision]) -> Vec<BlindSpot> {
    let mut found: BTreeMap<&str, (&str, Vec<NodeSet>)> = BTreeMap::new();
    let all = revisions.first().map_or(0, |revision| revision.fleet.len());
    for (side, revision) in revisions.iter().enumerate() {
        for finding in revision.findings.iter().filter(|finding| finding.diagnostic.code == ABSENT) {
            let text = &*finding.diagnostic.text;
            let Some(name) = text.split('\'').nth(1) else { continue };
            let sides = &mut found.entry(name).or_insert_with(|| (text, vec![NodeSet::new(); revisions.len()])).1;
            sides[side].union_with(&finding.nodes);
        }
    }
    let spot = |(name, (text, sides)): (&str, (&str, Vec<NodeSet>))| {
        let is_standing = matches!(&sides[..], [before, after] if before == after);
        let nodes = NodeSet::union_of(all, sides);
        let of = wording::nodes_of(&nodes, all);
        BlindSpot {
            code: ABSENT,
            headline: format!("the backend '{name}' of Hiera 3 is taken for not installed on {of}"),
            message: format!("{text} on {of}"),
            fix: Some(suggestions::fix_for_backend(name)),
            nodes,
            is_standing,
            ..BlindSpot::default()
        }
    };
    found.into_iter().map(spot).collect()
}
