//! The reasons why changed lines have no effect, which need not be the same on all nodes.

use std::cmp::Reverse;

use super::numbers::count;
use crate::diagnostic::Place;

/// The reason why lines have no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEffect {
    /// The data is the same: they differ in comments, white space or the way in which it is written.
    Equal,
    /// Another place gives the key its value.
    Shadowed(Place),
    /// Another place gives the same value.
    Same(Place),
    /// The value moved to that place with this commit, or from there.
    Moved(Place),
    /// They are merged with others, and what comes out is the same.
    Merged,
    /// No value changes by them.
    Unused,
}

impl NoEffect {
    /// Returns its name.
    pub fn as_str(&self) -> &'static str {
        match self {
            NoEffect::Equal => "equal",
            NoEffect::Shadowed(_) => "shadowed",
            NoEffect::Same(_) => "same",
            NoEffect::Moved(_) => "moved",
            NoEffect::Merged => "merged_away",
            NoEffect::Unused => "unused",
        }
    }

    /// Returns the place that matters instead, if there is one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            NoEffect::Shadowed(place) | NoEffect::Same(place) | NoEffect::Moved(place) => Some(place),
            NoEffect::Equal | NoEffect::Merged | NoEffect::Unused => None,
        }
    }

    /// Returns words such as `shadowed by nodes/web02.yaml:3`.
    pub fn words(&self) -> String {
        match self {
            NoEffect::Equal => "the data is the same".to_owned(),
            NoEffect::Shadowed(place) => format!("shadowed by {place}"),
            NoEffect::Same(place) => format!("the same value as {place}"),
            NoEffect::Moved(place) => format!("moved: {place} has the same value"),
            NoEffect::Merged => "merged away".to_owned(),
            NoEffect::Unused => "no value changes by it".to_owned(),
        }
    }
}

/// The reasons why lines have no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// The reason on the most nodes.
    pub first: IdlePart,
    /// The reasons on others.
    pub others: Vec<IdlePart>,
    /// The number of nodes of which no reason was looked for.
    pub not_traced: usize,
}

/// A reason why lines have no effect on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdlePart {
    /// The reason, with the place that matters on the most of the nodes.
    pub reason: NoEffect,
    /// The number of the other places that matter on some of them.
    pub more_places: usize,
    /// The number of nodes; 0 if it is the same on all.
    pub nodes: usize,
}

impl From<NoEffect> for Idle {
    fn from(reason: NoEffect) -> Idle {
        Idle { first: IdlePart { reason, more_places: 0, nodes: 0 }, others: Vec::new(), not_traced: 0 }
    }
}

impl Idle {
    /// Joins the reasons on parts of the nodes, each with the number of its nodes. Returns `None` if none is known.
    pub fn of(parts: impl IntoIterator<Item = (usize, Option<NoEffect>)>) -> Option<Idle> {
        let mut found: Vec<(NoEffect, usize)> = Vec::new();
        let mut not_traced = 0;
        for (nodes, reason) in parts {
            let Some(reason) = reason else {
                not_traced += nodes;
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, all)) => *all += nodes,
                None => found.push((reason, nodes)),
            }
        }
        found.sort_by_key(|(_, nodes)| Reverse(*nodes));
        let mut reasons: Vec<IdlePart> = Vec::new();
        for (reason, nodes) in found {
            match reasons.iter_mut().find(|part| part.reason.as_str() == reason.as_str()) {
                Some(part) => {
                    part.more_places += 1;
                    part.nodes += nodes;
                }
                None => reasons.push(IdlePart { reason, more_places: 0, nodes }),
            }
        }
        reasons.sort_by_key(|part| Reverse(part.nodes));
        let mut reasons = reasons.into_iter();
        Some(Idle { first: reasons.next()?, others: reasons.collect(), not_traced })
    }

    /// Returns all reasons, the one on the most nodes first.
    pub fn all(&self) -> impl Iterator<Item = &IdlePart> {
        [&self.first].into_iter().chain(&self.others)
    }

    /// Returns true if this is the reason on all nodes.
    pub fn is(&self, reason: &NoEffect) -> bool {
        self.is_one() && self.first.reason == *reason
    }

    /// Returns true if there is one reason for all nodes.
    pub fn is_one(&self) -> bool {
        self.others.is_empty() && self.not_traced == 0
    }

    /// Returns words such as `shadowed by nodes/web02.yaml:3 on 12 nodes, the data is the same on 3 nodes`.
    pub fn words(&self) -> String {
        if self.is_one() {
            return self.first.words();
        }
        let part = |part: &IdlePart| format!("{} on {}", part.words(), count(part.nodes, "node"));
        let mut all: Vec<String> = self.all().map(part).collect();
        if self.not_traced > 0 {
            all.push(format!("not looked into on {}", count(self.not_traced, "node")));
        }
        all.join(", ")
    }
}

impl IdlePart {
    fn words(&self) -> String {
        match self.more_places {
            0 => self.reason.words(),
            more => {
                let place = self.reason.place().map(Place::to_string).unwrap_or_default();
                self.reason.words().replacen(&place, &format!("{place} and {}", count(more, "more place")), 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(parts: &[(usize, Option<NoEffect>)]) -> Option<String> {
        Idle::of(parts.iter().cloned()).map(|idle| idle.words())
    }

    #[test]
    fn no_reason_is_claimed_for_all_nodes() {
        let by = |path: &str| Some(NoEffect::Shadowed(Place::line(path, 3)));
        assert_eq!(words(&[(2, by("a")), (1, by("a"))]).unwrap(), "shadowed by a:3");
        assert_eq!(words(&[(1, by("a")), (5, by("b"))]).unwrap(), "shadowed by b:3 and 1 more place");
        let mixed = [(2, Some(NoEffect::Equal)), (2, by("a")), (1, by("b")), (1, None)];
        assert_eq!(
            words(&mixed).unwrap(),
            "shadowed by a:3 and 1 more place on 3 nodes, the data is the same on 2 nodes, not looked into on 1 node"
        );
        assert_eq!(words(&[(2, None)]), None);
    }
}
