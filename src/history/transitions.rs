//! Finds the commits after which a condition on a value holds, or no longer does.

use std::sync::Arc;

use super::History;
use super::blame::BlameError;
use super::commits::{Commits, Step};
use crate::disclosure::Disclosure;
use crate::hiera::Outcome;
use crate::node::{NodeId, NodeSet};
use crate::pipeline::{DiffFilter, RevisionId};
use crate::puppet::types::check_type;
use crate::value::{Type, Value};

/// A condition on the answer for a key.
#[derive(Debug, Clone)]
pub enum Condition {
    /// It is this value, or a sensitive one with this content.
    Is(Value),
    /// It is a value.
    IsValue,
    /// The lookup fails, as it does in Puppet.
    Error,
    /// It is a value of this type.
    Type(Type),
}

impl Condition {
    /// Returns true if it holds, and `None` if that is unknown: nobody learns whether a secret that `disclosure` hides
    /// is some value, and Puppet may have a function that the repository lacks.
    pub fn holds(&self, outcome: &Outcome, disclosure: &Disclosure) -> Option<bool> {
        match (self, outcome) {
            (_, Outcome::Failed(error)) if error.kind.is_unknown() || error.missing_function().is_some() => None,
            (Condition::Error, outcome) => Some(matches!(outcome, Outcome::Failed(_))),
            (_, Outcome::NotFound | Outcome::Failed(_)) => Some(false),
            (Condition::IsValue, Outcome::Found(_)) => Some(true),
            (Condition::Is(_), Outcome::Found(value)) if disclosure.hides(value) => None,
            (Condition::Is(wanted), Outcome::Found(value)) => Some(disclosure.value(value).content() == wanted),
            (Condition::Type(kind), Outcome::Found(value)) => Some(check_type("", value, kind).is_ok()),
        }
    }
}

/// A commit that changes the answer for a key on a node.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The commit.
    pub step: Step,
    /// The answer before, and whether the condition held.
    pub before: (Arc<Outcome>, Option<bool>),
    /// The answer after, and whether the condition holds.
    pub after: (Arc<Outcome>, Option<bool>),
}

/// The commits that decide whether a condition holds.
#[derive(Debug)]
pub struct Transitions {
    /// Those after which it holds and did not before, or the other way round, or after which that is unknown; newest
    /// first.
    pub all: Vec<Transition>,
    /// The last answer, and whether the condition holds.
    pub last: (Arc<Outcome>, Option<bool>),
    /// The number of commits that were looked at.
    pub commits: usize,
    /// The number of those that change the answer at all.
    pub changes: usize,
}

impl History<'_> {
    /// Finds the transitions of a key on a node. `commits` end with `tip`.
    pub fn transitions(
        &self,
        tip: RevisionId,
        commits: &mut Commits<'_>,
        (key, node): (&str, NodeId),
        condition: &Condition,
    ) -> Result<Transitions, BlameError> {
        let disclosure = self.pipeline.disclosure.clone();
        let judged = |outcome: Option<Arc<Outcome>>| {
            let outcome = outcome.unwrap_or_else(|| Arc::new(Outcome::NotFound));
            let holds = condition.holds(&outcome, &disclosure);
            (outcome, holds)
        };
        let name = self.pipeline.fleet.name(node).clone();
        let filter = DiffFilter { key: &|other| other == key, node: &|other| *other == *name, paths: &[] };
        let mut walk = self.pipeline.value_walk(Some(key.into()));
        let revision = self.pipeline.cached_revision(tip).map_err(BlameError::from)?;
        let key: Arc<str> = key.into();
        let nodes = NodeSet::from_iter([node]);
        let last = self.pipeline.effective_among(&nodes, &revision, [&key]).keys.remove(&key);
        let last = last.unwrap_or_default().iter().find(|answer| answer.nodes.contains(node)).map(|a| a.on(node));
        let mut found = Transitions { all: Vec::new(), last: judged(last), commits: 0, changes: 0 };
        for step in commits {
            let step = step?;
            found.commits += 1;
            for change in walk.changes(step.ids(), &filter)?.changes {
                found.changes += 1;
                let outcome = change.on(nodes.clone()).outcome;
                let (before, after) = (judged(outcome.before), judged(outcome.after));
                if before.1 != after.1 {
                    found.all.push(Transition { step: step.clone(), before, after });
                }
            }
        }
        Ok(found)
    }
}
