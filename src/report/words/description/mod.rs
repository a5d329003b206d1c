//! Descriptions of sets of nodes by the values of their variables: `site=berlin and role=web`.
//!
//! A description is true of all nodes of the set and of no other node of the fleet.

mod classes;
mod search;

use std::fmt;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;

use super::visible::{quote, visible};
use crate::fleet::{Distinction, Fleet};
use crate::node::NodeSet;

pub(in crate::report) use classes::Describer;

use search::Search;

/// Returns words for each of some sets of nodes of a fleet, such as `role=web`, where some are found.
pub fn described<'s>(
    fleet: &Fleet,
    distinctions: &[Distinction],
    sets: impl IntoIterator<Item = &'s NodeSet>,
) -> Vec<Option<String>> {
    let mut describer = Describer::new(fleet.len(), distinctions);
    sets.into_iter().map(|set| Some(describer.describe(set)?.to_string())).collect()
}

impl Describer {
    /// Returns the shortest description found of a set of nodes, or `None` if there is none.
    pub(in crate::report) fn describe(&mut self, nodes: &NodeSet) -> Option<Description> {
        let classes = self.classes_of(nodes)?;
        Search::new(self).describe(&classes)
    }
}

/// A description of a set of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// True if the set is all nodes except those that it describes.
    pub is_all_but: bool,
    /// The parts of the set. Each node is in at least one of them: all terms of that part are true of the node.
    pub parts: Vec<Vec<Term>>,
}

/// A condition on a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The variable.
    pub variable: Arc<str>,
    /// True if it has none of the values, false if it has one of them.
    pub is_not: bool,
    /// The values; a single `None` if it is about a variable that is not set.
    pub values: Vec<Option<Arc<str>>>,
}

impl Description {
    /// Returns the pieces of the text: each term as `term` writes it, and these words between terms and between parts.
    pub(in crate::report) fn written<P: From<&'static str>>(
        &self,
        term: impl Fn(&Term) -> P,
        and: &'static str,
    ) -> Vec<P> {
        let or = if self.parts.iter().any(|part| part.len() > 1) { ", or " } else { " or " };
        let mut pieces = Vec::from_iter(self.is_all_but.then(|| P::from("all but ")));
        for (at, part) in self.parts.iter().enumerate() {
            pieces.extend((at > 0).then(|| P::from(or)));
            for (at, one) in part.iter().enumerate() {
                pieces.extend((at > 0).then(|| P::from(and)));
                pieces.push(term(one));
            }
        }
        pieces
    }

    /// Returns the number of its terms.
    fn terms(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// Returns the maximum width, in columns, at which a list of `nodes` names is easier to read.
    pub(super) fn most_columns_of_names(&self, nodes: usize) -> usize {
        if nodes > FEW_NODES && self.terms() <= FEW_TERMS { 0 } else { self.to_string().width().saturating_sub(1) }
    }
}

/// Up to this many nodes are named if that is shorter; more nodes are named only if their description has more terms
/// than this.
const FEW_NODES: usize = 3;
const FEW_TERMS: usize = 2;

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Term::to_string, " and ").concat())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variable = visible(&self.variable);
        if let [None] = self.values[..] {
            return write!(f, "{variable} {}", if self.is_not { "set" } else { "unset" });
        }
        let values: Vec<String> = self.values.iter().map(|text| value(text.as_deref())).collect();
        write!(f, "{variable}{}{}", if self.is_not { "!=" } else { "=" }, values.join("|"))
    }
}

/// Returns a value as it is written after the name of its variable, in quotes if it could be misread.
fn value(text: Option<&str>) -> String {
    let Some(text) = text else { return "(unset)".to_owned() };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '+' | '~');
    if !text.is_empty() && text.chars().all(is_plain) {
        return visible(text).into_owned();
    }
    let mut quoted = String::new();
    quote(text.chars(), &mut quoted);
    quoted
}
