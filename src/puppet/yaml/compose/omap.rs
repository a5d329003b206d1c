//! `!!omap` sequences, of whose items Psych reads the first and the last node, whatever there is between.

use super::{Becomes, Body, Composer, Entries};
use crate::puppet::yaml::Refusal;
use crate::puppet::yaml::event::{Data, Event, Onward, Props};

/// The deepest nesting of `!!omap` sequences: each level is read twice.
const MAX_OMAPS: usize = 10;

/// The events of an `!!omap` sequence, of which only some are composed.
pub(super) struct Recorder<'a> {
    pub(super) line: u32,
    pub(super) props: Props<'a>,
    pub(super) depth: usize,
    pub(super) events: Vec<Event<'a>>,
}

impl<'a> Composer<'a> {
    /// Keeps an event for later, until the sequence ends.
    pub(super) fn record(&mut self, event: Event<'a>) {
        let Some(recorder) = &mut self.recorder else { return };
        match event.data {
            Data::Sequence(_) | Data::Mapping(_) => recorder.depth += 1,
            Data::End => recorder.depth -= 1,
            _ => {}
        }
        if recorder.depth > 0 {
            return recorder.events.push(event);
        }
        if let Some(recorder) = self.recorder.take() {
            self.replay(recorder);
        }
    }

    /// Composes what Psych takes of an `!!omap` sequence: the first and the last node of each item.
    fn replay(&mut self, recorder: Recorder<'a>) {
        let line = recorder.line;
        if self.omaps >= MAX_OMAPS {
            return self.give_up(line, "omaps nested too deep".into());
        }
        self.omaps += 1;
        self.open(recorder.props, line, Body::Map { entries: Entries::default(), key: None, becomes: Becomes::Omap });
        for item in nodes(&recorder.events) {
            let parts = nodes(item.get(1..item.len() - 1).unwrap_or_default());
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
                let method = if item.len() == 1 {
                    "first' for nil:NilClass"
                } else {
                    "visit_NilClass' for #<Psych::Visitors::ToRuby>"
                };
                self.refuse(item[0].line, Refusal::Error(format!("undefined method `{method}")));
                continue;
            };
            for event in first.iter().chain(*last) {
                if let Onward::Stop = self.feed(event.clone()) {
                    return;
                }
            }
        }
        self.close();
        self.omaps -= 1;
    }
}

/// Returns the events of each node of a run of nodes.
fn nodes<'e, 'a>(events: &'e [Event<'a>]) -> Vec<&'e [Event<'a>]> {
    let mut nodes = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, event) in events.iter().enumerate() {
        match event.data {
            Data::Sequence(_) | Data::Mapping(_) => depth += 1,
            Data::End => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            nodes.push(&events[start..=at]);
            start = at + 1;
        }
    }
    nodes
}
