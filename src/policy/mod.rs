//! Policies: rules about how a change may affect effective values, and waivers of them.
//!
//! [`Policies::judge`] looks at a finished [`Report`] and returns the [hits](PolicyHit), which the report then shows.
//! It depends on nothing but the rules, the report and the given day: the clock, settings files and forges are
//! handled elsewhere.
//!
//! `selection` finds the places of a report that a rule is about, `value_test` looks at values there, `evidence` counts
//! them, and `waivers` removes those that somebody has waived. `absent` finds patterns that match nothing.

mod absent;
mod evidence;
mod names;
mod rule;
mod selection;
mod value_test;
mod waivers;

use std::cmp::Reverse;

use crate::report::{PolicyHit, Report};

pub use absent::AbsentPattern;
pub use rule::{Amount, ChangeRule, FileRule, Kind, LineKind, Rule, Subject, Thresholds, Waiver};
pub use value_test::ValueTest;

/// A day of the calendar.
pub type Day = jiff::civil::Date;

/// Rules, and waivers of them.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// The rules, in the order of the settings.
    pub rules: Vec<Rule>,
    /// The waivers.
    pub waivers: Vec<Waiver>,
}

impl Policies {
    /// Returns the hits of a report on a day: the weightiest first, waived ones last.
    pub fn judge(&self, report: &Report, today: Day) -> Vec<PolicyHit> {
        let mut hits: Vec<PolicyHit> = self
            .rules
            .iter()
            .flat_map(|rule| {
                let waivers: Vec<&Waiver> = self.waivers.iter().filter(|waiver| waiver.policy == rule.name).collect();
                waivers::hits(rule, &waivers, selection::select(rule, report), today)
            })
            .collect();
        hits.sort_by_key(|hit| Reverse(hit.counts_as()));
        hits
    }
}
