//! Collections of which Psych reads only some nodes: of each item of an `!!omap` sequence the first and the last one,
//! whatever is between them, and of a hash with instance variables `elements` and `ivars`.

use super::{Becomes, Body, Composer, Entries};
use crate::puppet::yaml::Refusal;
use crate::puppet::yaml::event::{Data, Event, Onward, Props};

/// The maximum nesting of such collections, since each level is read twice.
const MAX_OMAPS: usize = 10;

/// The kinds of such collections.
#[derive(Clone, Copy)]
pub(super) enum Recorded {
    Omap,
    HashWithVariables,
}

/// The events of a collection, of which only some are composed.
pub(super) struct Recorder<'a> {
    pub(super) line: u32,
    pub(super) props: Props<'a>,
    pub(super) kind: Recorded,
    pub(super) depth: usize,
    pub(super) events: Vec<Event<'a>>,
}

impl<'a> Composer<'a> {
    /// Keeps an event for later, until the collection ends.
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

    /// Composes the nodes that Psych reads of a collection.
    fn replay(&mut self, recorder: Recorder<'a>) {
        let Recorder { line, props, kind, events, .. } = recorder;
        if self.omaps >= MAX_OMAPS {
            return self.give_up(line, "omaps nested too deep".into());
        }
        self.omaps += 1;
        let becomes = if matches!(kind, Recorded::Omap) { Becomes::Omap } else { Becomes::Hash };
        self.open(props, line, Body::Map { entries: Entries::default(), key: None, becomes });
        match kind {
            Recorded::Omap => self.replay_pairs(&events),
            Recorded::HashWithVariables => self.replay_parts(&events),
        }
        self.close();
        self.omaps -= 1;
    }

    /// Composes the first and the last node of each item of an `!!omap` sequence.
    fn replay_pairs(&mut self, events: &[Event<'a>]) {
        for item in nodes(events) {
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
            self.feed_all(first.iter().chain(*last));
        }
    }

    /// Composes the entries below `elements`, and the instance variables below `ivars`.
    fn replay_parts(&mut self, events: &[Event<'a>]) {
        let refuse = |composer: &mut Self, line, what: &str| {
            composer.refuse(line, Refusal::Error(format!("undefined method `{what}")));
        };
        let nodes = nodes(events);
        for part in nodes.chunks_exact(2) {
            let (name, node) = (&part[0][0], part[1]);
            let Data::Scalar { value: name, .. } = &name.data else {
                refuse(self, name.line, "value' for #<Psych::Nodes>");
                continue;
            };
            if !matches!(&**name, "elements" | "ivars") {
                continue;
            }
            let line = node[0].line;
            let entries = node.get(1..node.len() - 1).unwrap_or_default();
            if !matches!(node[0].data, Data::Sequence(_) | Data::Mapping(_)) {
                refuse(self, line, "each_slice' for nil:NilClass");
            } else if self::nodes(entries).len() % 2 == 1 {
                refuse(self, line, "visit_NilClass' for #<Psych::Visitors::ToRuby>");
            } else if &**name == "elements" {
                self.feed_all(entries.iter());
            } else {
                let held = self.frames.last_mut().map(|frame| std::mem::replace(&mut frame.body, variables()));
                self.feed_all(entries.iter());
                if let (Some(held), Some(frame)) = (held, self.frames.last_mut())
                    && let Body::Map { entries, becomes, .. } = std::mem::replace(&mut frame.body, held)
                {
                    self.closed_mapping(entries, becomes, line);
                }
            }
        }
    }

    fn feed_all<'e>(&mut self, events: impl Iterator<Item = &'e Event<'a>>)
    where
        'a: 'e,
    {
        for event in events {
            if let Onward::Stop = self.feed(event.clone()) {
                return;
            }
        }
    }
}

fn variables() -> Body {
    Body::Map { entries: Entries::default(), key: None, becomes: Becomes::Variables }
}

/// Splits events into those of each node.
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
