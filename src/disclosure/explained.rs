//! Explanations as they may be seen.

use super::Disclosure;
use crate::hiera::explain::{Child, Event, Step};

impl Disclosure {
    /// `step` as it may be seen, with all that is inside.
    pub fn step(&self, step: Step) -> Step {
        let child = |child| match child {
            Child::Step(step) => Child::Step(self.step(step)),
            Child::Event(event) => Child::Event(self.event(event)),
        };
        Step { branch: step.branch, children: step.children.into_iter().map(child).collect() }
    }

    fn event(&self, event: Event) -> Event {
        match event {
            Event::Found(key, value, at) => Event::Found(key, self.value(&value).into_owned(), at),
            Event::Result(value) => Event::Result(self.value(&value).into_owned()),
            other => other,
        }
    }
}
