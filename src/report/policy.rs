//! The hits of policies: rules of the settings that a change breaks, or that somebody has waived.
//!
//! The rules themselves are in [`policy`](crate::policy), which finds the hits. A report only shows them.

use std::sync::Arc;

use super::words::visible::in_headline;
use super::words::wording::share;
use super::{Between, Count, Report};
use crate::diagnostic::{Place, Severity};
use crate::node::NodeSet;

/// The weight of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyLevel {
    /// Good to know.
    Note,
    /// Somebody should look at it.
    Warning,
    /// The change is refused.
    Failure,
}

impl PolicyLevel {
    /// All levels, the least first.
    pub const ALL: [PolicyLevel; 3] = [PolicyLevel::Note, PolicyLevel::Warning, PolicyLevel::Failure];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyLevel::Note => "note",
            PolicyLevel::Warning => "warning",
            PolicyLevel::Failure => "failure",
        }
    }

    /// Returns the severity of its annotations.
    pub fn severity(self) -> Severity {
        match self {
            PolicyLevel::Note => Severity::Note,
            PolicyLevel::Warning => Severity::Warning,
            PolicyLevel::Failure => Severity::Error,
        }
    }
}

/// A rule that a change hits, or the part of the hit that one waiver covers.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyHit {
    /// The name of the rule.
    pub name: Arc<str>,
    /// The level of the rule, or [`PolicyLevel::Failure`] if a waiver has expired.
    pub level: PolicyLevel,
    /// The message of the rule.
    pub message: Arc<str>,
    /// The people who must look at it.
    pub reviewers: Arc<[String]>,
    /// The evidence in a few words, such as `3 keys on 28 of 161 nodes`.
    pub found: String,
    /// The keys that are concerned, in order.
    pub keys: Vec<Arc<str>>,
    /// The nodes that are concerned.
    pub nodes: NodeSet,
    /// The first lines of the later revision that are concerned.
    pub places: Vec<Place>,
    /// The waiver that covers it, or that did until it expired.
    pub waiver: Option<UsedWaiver>,
}

/// A waiver that applies to a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedWaiver {
    /// The reason that somebody gave.
    pub reason: Arc<str>,
    /// Its last day, `2027-01-31`.
    pub expires: String,
    /// True if that day is over, so that it waives nothing.
    pub has_expired: bool,
}

/// The state of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyState {
    /// The rule is hit.
    Hit,
    /// A waiver covers it.
    Waived,
    /// A waiver covered it, and has expired.
    Expired,
}

impl PolicyState {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyState::Hit => "hit",
            PolicyState::Waived => "waived",
            PolicyState::Expired => "expired",
        }
    }
}

impl PolicyHit {
    /// Returns a hit for policies that cannot be judged because of `reason`: a fault must not let everything pass.
    pub fn unreadable(message: &str, reason: String) -> PolicyHit {
        PolicyHit {
            name: "unreadable-policies".into(),
            level: PolicyLevel::Failure,
            message: message.into(),
            reviewers: Arc::default(),
            found: reason,
            keys: Vec::new(),
            nodes: NodeSet::new(),
            places: Vec::new(),
            waiver: None,
        }
    }

    /// Returns its state.
    pub fn state(&self) -> PolicyState {
        match &self.waiver {
            None => PolicyState::Hit,
            Some(waiver) if waiver.has_expired => PolicyState::Expired,
            Some(_) => PolicyState::Waived,
        }
    }

    /// Returns the level that applies, or `None` if the hit is waived.
    pub fn counts_as(&self) -> Option<PolicyLevel> {
        (self.state() != PolicyState::Waived).then_some(self.level)
    }

    /// Returns the word for it: its level, or `waived`.
    pub fn label(&self) -> &'static str {
        self.counts_as().map_or("waived", PolicyLevel::as_str)
    }

    /// Returns the first keys and lines, and the numbers of the others.
    pub(super) fn examples(&self, most: usize) -> String {
        let keys = self.keys.iter().map(ToString::to_string);
        let places = self.places.iter().map(ToString::to_string);
        let lists = [first_names(keys, most), first_names(places, most)];
        lists.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Returns the message with the evidence and further sentences.
    pub(super) fn words(&self) -> String {
        let notes = self.notes().iter().fold(String::new(), |text, note| text + "; " + note);
        format!("{} ({}){notes}", self.message, self.found)
    }

    /// Returns further sentences: about the waiver and the people who must look at it.
    pub fn notes(&self) -> Vec<String> {
        let waiver = self.waiver.as_ref().map(|waiver| {
            let UsedWaiver { reason, expires, has_expired } = waiver;
            if *has_expired {
                format!("the waiver of {} expired on {expires}: {reason}", self.name)
            } else {
                format!("waived until {expires}: {reason}")
            }
        });
        let needs_review = self.counts_as().is_some() && !self.reviewers.is_empty();
        let reviewers = needs_review.then(|| format!("needs a review by {}", self.reviewers.join(", ")));
        waiver.into_iter().chain(reviewers).collect()
    }
}

impl Report {
    /// Returns the worst level of all hits that are not waived.
    pub fn policy_level(&self) -> Option<PolicyLevel> {
        self.policies.iter().filter_map(PolicyHit::counts_as).max()
    }

    /// Returns a share of the nodes, such as `12 of 143 nodes`; if two nodes are compared, the second one.
    pub(crate) fn share_of(&self, nodes: usize) -> String {
        if let Between::Nodes(compared) = &self.between {
            return compared.after.to_string();
        }
        share(Count { total: self.nodes.total, changed: nodes })
    }

    /// Returns the names of the rules that apply at this level, each once.
    fn policies_at(&self, level: PolicyLevel) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for hit in self.policies.iter().filter(|hit| hit.counts_as() == Some(level)) {
            if !names.contains(&&*hit.name) {
                names.push(&hit.name);
            }
        }
        names
    }

    /// Returns the end of the headline, such as `; policy sudo-spread fails`, or nothing.
    pub(super) fn policies_summary(&self) -> String {
        let worded = |level, one: &str, many: &str| match &self.policies_at(level)[..] {
            [] => None,
            [name] => Some(format!("; policy {} {one}", in_headline(name))),
            names => {
                let listed = first_names(names.iter().map(ToString::to_string), MAX_NAMES);
                Some(format!("; {} policies {many}: {}", names.len(), in_headline(&listed)))
            }
        };
        let fails = worded(PolicyLevel::Failure, "fails", "fail");
        fails.or_else(|| worded(PolicyLevel::Warning, "warns", "warn")).unwrap_or_default()
    }

    /// Returns the heading of the policies, such as `policies: 1 fails, 2 warn, 1 waived`.
    pub(super) fn policies_heading(&self) -> String {
        let count_at = |level| self.policies_at(level).len();
        let waived = self.policies.iter().filter(|hit| hit.counts_as().is_none()).count();
        let parts = [
            (count_at(PolicyLevel::Failure), "fails", "fail"),
            (count_at(PolicyLevel::Warning), "warns", "warn"),
            (count_at(PolicyLevel::Note), "to note", "to note"),
            (waived, "waived", "waived"),
        ];
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts = parts.map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }));
        format!("policies: {}", parts.collect::<Vec<_>>().join(", "))
    }
}

/// The maximum number of names in a line.
const MAX_NAMES: usize = 3;

/// Returns some names, and the number of the others.
fn first_names(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let shown = names.take(most).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
