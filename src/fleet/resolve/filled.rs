//! Fills in templates, for callers that want each distinct answer with its nodes.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::{Answer, Effective, parallel};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::workers::Workers;

/// Returns the same values without templates.
pub(super) fn filled(effective: Effective, workers: &Workers) -> Effective {
    let mut keys = effective.keys;
    let has_template = |answers: &&mut Vec<Answer>| answers.iter().any(|answer| answer.template.is_some());
    let mut templated: Vec<&mut Vec<Answer>> = keys.values_mut().filter(has_template).collect();
    if !templated.is_empty() {
        let answers: Vec<&Vec<Answer>> = templated.iter().map(|answers| &**answers).collect();
        let filled = parallel::map(&answers, workers, "filling templates", |answers| distinct(answers));
        templated.iter_mut().zip(filled).for_each(|(answers, filled)| **answers = filled);
    }
    Effective { keys }
}

/// Returns the distinct answers, in the order of their first nodes.
fn distinct(answers: &[Answer]) -> Vec<Answer> {
    let mut distinct: HashMap<Arc<Outcome>, NodeSet, RandomState> = HashMap::default();
    for answer in answers {
        match &answer.template {
            Some(template) => {
                for nodes in template.split(&answer.nodes) {
                    if let Some(node) = nodes.first() {
                        distinct.entry(answer.on(node)).or_default().union_with(&nodes);
                    }
                }
            }
            None => distinct.entry(answer.outcome.clone()).or_default().union_with(&answer.nodes),
        }
    }
    let mut answers: Vec<Answer> = distinct.into_iter().map(|(outcome, nodes)| Answer::new(nodes, outcome)).collect();
    answers.sort_by_cached_key(|answer| answer.nodes.first());
    answers
}
