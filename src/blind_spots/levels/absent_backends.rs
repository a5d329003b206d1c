//! Finds levels whose backend does not come with Hiera 3.

use std::collections::BTreeMap;

use crate::blind_spots::suggestions;
use crate::blind_spots::wording;
use crate::diagnostic::Subject;
use crate::fleet::{Finding, Revision};
use crate::node::NodeSet;
use crate::report::BlindSpot;

const ABSENT: &str = "absent-backend";

/// Returns a blind spot for each backend of Hiera 3 that is presumed not installed.
pub(crate) fn absent_backends(revisions: &[&Revision]) -> Vec<BlindSpot> {
    let mut found: BTreeMap<&str, (&Finding, Vec<NodeSet>)> = BTreeMap::new();
    let all = revisions.first().map_or(0, |revision| revision.fleet.len());
    for (side, revision) in revisions.iter().enumerate() {
        for finding in revision.findings.iter().filter(|finding| finding.diagnostic.code == ABSENT) {
            let Some(Subject::Backend(name)) = &finding.diagnostic.subject else { continue };
            let sides = &mut found.entry(name).or_insert_with(|| (finding, vec![NodeSet::new(); revisions.len()])).1;
            sides[side].union_with(&finding.nodes);
        }
    }
    let spot = |(name, (first, sides)): (&str, (&Finding, Vec<NodeSet>))| {
        let is_standing = matches!(&sides[..], [before, after] if before == after);
        let nodes = NodeSet::union_of(all, sides);
        let node_share = wording::nodes_of(&nodes, all);
        BlindSpot {
            code: ABSENT,
            headline: format!("the backend '{name}' of Hiera 3 counts as not installed on {node_share}"),
            message: format!("{} on {node_share}", first.diagnostic.text),
            fix: first.diagnostic.subject.as_ref().and_then(suggestions::fix_for),
            nodes,
            is_standing,
            ..BlindSpot::default()
        }
    };
    found.into_iter().map(spot).collect()
}
