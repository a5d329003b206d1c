//! `--node` and `--key`, which must match something.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;

use crate::app::NodePair;
use crate::cli::Result;
use crate::fleet::Fleet;
use crate::hiera::key::any_matches;
use crate::pattern::{Pattern, any, unmatched};
use crate::pipeline::judge::Sides;
use crate::pipeline::{Comparison, DiffFilter, Pipeline, RevisionId};
use crate::report::Between;

/// The nodes and keys of a comparison.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct Chosen {
    /// Only these nodes: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::cli) node: Vec<Pattern>,
    /// Only these keys: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::cli) key: Vec<Pattern>,
}

impl Chosen {
    /// Compares two revisions, and narrows the report to what `paths` cause, if there are any. Fails if there is no
    /// such node or key.
    pub(in crate::cli) fn compare(&self, pipeline: &Pipeline, sides: &Sides, paths: &[Pattern]) -> Result<Comparison> {
        matches_a_node(&self.node, &pipeline.fleet)?;
        let filter = DiffFilter { key: &|key| any_matches(&self.key, key), node: &|name| any(&self.node, name), paths };
        let compared = pipeline.diff_between(sides, &filter)?;
        if compared.report.keys.total == 0 && !self.key.is_empty() {
            let keys = pipeline.keys(&[sides.before, sides.after])?;
            matches_a_key(&self.key, &keys)?;
        }
        Ok(compared)
    }
}

impl Chosen {
    /// Compares the nodes of a pair at a revision. Fails if there is no such node or key.
    pub(in crate::cli) fn compare_nodes(
        &self,
        NodePair { pipeline, before, .. }: &NodePair,
        at: RevisionId,
        between: Between,
    ) -> Result<Comparison> {
        matches_a_node(&self.node, &pipeline.fleet)?;
        let paths = &[];
        let filter = DiffFilter { key: &|key| any_matches(&self.key, key), node: &|name| any(&self.node, name), paths };
        let compared = pipeline.diff_nodes(before, at, &filter, between)?;
        if compared.report.keys.total == 0 && !self.key.is_empty() {
            matches_a_key(&self.key, &pipeline.keys(&[at])?)?;
        }
        Ok(compared)
    }
}

/// Fails if the patterns of `--node` match no name, and suggests similar ones.
pub(in crate::cli) fn matches_a_node(patterns: &[Pattern], fleet: &Fleet) -> Result<()> {
    let unmatched = unmatched(patterns, any, || fleet.iter().map(|(_, name)| &**name));
    unmatched.map_or(Ok(()), |text| Err(format!("no node matches --node {text}").into()))
}

/// Fails if the patterns of `--key` match none of `keys`, and suggests similar ones.
pub(in crate::cli) fn matches_a_key(patterns: &[Pattern], keys: &BTreeSet<Arc<str>>) -> Result<()> {
    let unmatched = unmatched(patterns, any_matches, || keys.iter().map(|key| &**key));
    unmatched.map_or(Ok(()), |text| Err(format!("no key matches --key {text}").into()))
}
