//! The reasons why changed lines have no effect, which may differ between nodes.

use std::cmp::Reverse;

use super::line_reason::LineReason;
use crate::diagnostic::Place;
use crate::report::numbers::count;

/// The reason why lines have no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEffect {
    /// The data is the same: the lines differ in comments, white space or spelling.
    Equal,
    /// Another place gives the key its value.
    Shadowed(Place),
    /// Another place gives the same value.
    Same(Place),
    /// The value moved to that place with this commit, or from there.
    Moved(Place),
    /// The lines are merged with others, and the result is the same.
    Merged,
    /// They change no value.
    Unused,
}

impl NoEffect {
    /// Returns the reason without its place.
    pub fn kind(&self) -> LineReason {
        match self {
            NoEffect::Equal => LineReason::Equal,
            NoEffect::Shadowed(_) => LineReason::Shadowed,
            NoEffect::Same(_) => LineReason::Same,
            NoEffect::Moved(_) => LineReason::Moved,
            NoEffect::Merged => LineReason::Merged,
            NoEffect::Unused => LineReason::Unused,
        }
    }

    /// Returns the place that matters instead, if there is one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            NoEffect::Shadowed(place) | NoEffect::Same(place) | NoEffect::Moved(place) => Some(place),
            NoEffect::Equal | NoEffect::Merged | NoEffect::Unused => None,
        }
    }

    /// Returns the words before its place, or all of them, and those after it.
    fn words_around_place(&self) -> [&'static str; 2] {
        match self {
            NoEffect::Equal => ["the data is the same", ""],
            NoEffect::Shadowed(_) => ["shadowed by ", ""],
            NoEffect::Same(_) => ["the same value as ", ""],
            NoEffect::Moved(_) => ["moved: ", " has the same value"],
            NoEffect::Merged => ["merged away", ""],
            NoEffect::Unused => ["no value changes by it", ""],
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
    /// The number of nodes that were not examined.
    pub not_traced: usize,
}

/// A reason why lines have no effect on some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdlePart {
    /// The reason, with the place that matters on most of the nodes.
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
            match reasons.iter_mut().find(|part| part.reason.kind() == reason.kind()) {
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
        let (before, place, behind) = self.parts();
        [before, &place.map(Place::to_string).unwrap_or_default(), &behind].concat()
    }

    /// Returns the words before the place that matters on the most nodes, or the whole first reason if it has no
    /// place; that place; and the words after it.
    pub(in crate::report) fn parts(&self) -> (&'static str, Option<&Place>, String) {
        let (before, place, behind) = self.first.parts();
        if self.is_one() {
            return (before, place, behind);
        }
        let on = |words: &str, nodes: usize| format!("{words} on {}", count(nodes, "node"));
        let others = self.others.iter().map(|part| on(&part.words(), part.nodes));
        let rest = (self.not_traced > 0).then(|| on("not looked into", self.not_traced));
        let all: Vec<String> = [on(&behind, self.first.nodes)].into_iter().chain(others).chain(rest).collect();
        (before, place, all.join(", "))
    }
}

impl IdlePart {
    fn words(&self) -> String {
        let (before, place, behind) = self.parts();
        [before, &place.map(Place::to_string).unwrap_or_default(), &behind].concat()
    }

    /// Returns the words before its place, the place, and the words after it.
    fn parts(&self) -> (&'static str, Option<&Place>, String) {
        let [before, behind] = self.reason.words_around_place();
        let more = match self.more_places {
            0 => String::new(),
            more => format!(" and {}", count(more, "more place")),
        };
        (before, self.reason.place(), more + behind)
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
