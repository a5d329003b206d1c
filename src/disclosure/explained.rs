//! Hides the secrets in an explained lookup.

use super::Disclosure;
use crate::hiera::explain::{Branch, Event, Step};
use crate::value::{Hash, Text, Value};

impl Disclosure {
    /// Returns a step, with those inside it, with secrets hidden.
    pub fn step(&self, step: Step) -> Step {
        let text = |text: &Text| Text::from(self.text(text).into_owned());
        let branch = step.branch.map(|branch| match branch {
            Branch::Interpolation(expression) => Branch::Interpolation(text(&expression)),
            Branch::Merge(strategy, options) => Branch::Merge(strategy, self.hash(options)),
            other => other,
        });
        let event = step.event.map(|event| match event {
            Event::Found(key, value, at) => Event::Found(key, self.value(&value).into_owned(), at),
            Event::Result(value) => Event::Result(self.value(&value).into_owned()),
            other => other,
        });
        let texts = step.texts.iter().map(text).collect();
        Step { branch, event, texts, steps: step.steps.into_iter().map(|step| self.step(step)).collect() }
    }

    fn hash(&self, hash: Hash) -> Hash {
        match self.value(&Value::hash(hash)).into_owned() {
            Value::Hash(hash) => hash.as_ref().clone(),
            _ => Hash::new(),
        }
    }
}
