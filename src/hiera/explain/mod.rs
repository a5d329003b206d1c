//! The record of a lookup, step by step: `lookup --explain`.
//!
//! The lookup reports to a [`Recorder`]; the recorded tree is Puppet's, with the line of each value beside. It is
//! written as text or as data, in the terms of `puppet lookup --explain`. Source: `pops/lookup/explainer.rb`.

mod data;
pub mod provenance;
mod text;

use std::cell::RefCell;
use std::sync::Arc;

pub use text::Places;

use crate::diagnostic::Place;
use crate::puppet::document::Marks;
use crate::value::{Hash, Text, Value};

/// The subject of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Branch {
    /// The search for a key.
    Key(Arc<str>),
    /// A reserved key, for which nothing is searched.
    InvalidKey(Arc<str>),
    /// A layer.
    Layer(LayerStep),
    /// There is no such module.
    NoModule(Arc<str>),
    /// A module without data.
    NoModuleData(Arc<str>),
    /// Merge options were found under this key.
    MergeSource(&'static str),
    /// The lookup in a manifest here names the merge strategy.
    MergeInManifest(Place),
    /// A fold of several variants by a strategy, with its options.
    Merge(&'static str, Hash),
    /// A level of the hierarchy.
    Level(Arc<str>),
    /// A path: as resolved, and as written.
    Path(Arc<str>, Arc<str>),
    /// A URI: as resolved, and as written.
    Uri(Arc<str>, Arc<str>),
    /// A text with `%{...}`.
    Interpolation(Text),
    /// The steps of a dotted key into a value.
    SubKey(String),
    /// One of those steps.
    Segment,
    /// Something named by a sentence: the search for a variable, a default hierarchy.
    Scope(String),
}

/// A layer, as a step names it.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerStep {
    /// `Global`, `Environment` or `Module`.
    pub place: &'static str,
    /// The module, of a module's layer.
    pub module: Option<Arc<str>>,
    /// The version of its hiera.yaml.
    pub version: u8,
    /// Its hiera.yaml, or `None` if Puppet's default is used.
    pub config: Option<Arc<str>>,
}

impl LayerStep {
    /// The global layer of those who have none.
    pub const NO_GLOBAL: LayerStep = LayerStep { place: "Global", module: None, version: 5, config: None };

    fn name(&self) -> String {
        let module = self.module.as_ref().map(|module| format!("\"{module}\" ")).unwrap_or_default();
        format!("{} {module}Data Provider (hiera configuration version {})", self.place, self.version)
    }
}

/// The end of a step; the last one counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A value was found: for which key, which value, and where.
    Found(Arc<str>, Value, Option<FoundAt>),
    /// The key is not there.
    NotFound(Arc<str>),
    /// The file is not there.
    LocationNotFound,
    /// The result of a fold.
    Result(Value),
}

/// The place of a value in a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundAt {
    /// The file, and the line of the key.
    pub place: Place,
    /// The lines of the value's parts.
    pub marks: Marks,
}

/// A step with its outcome and the steps inside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Its subject, or `None` for the root.
    pub branch: Option<Branch>,
    /// The steps inside, in order.
    pub steps: Vec<Step>,
    /// Its end.
    pub event: Option<Event>,
    /// Further texts.
    pub texts: Vec<Text>,
}

impl Step {
    /// Returns true if a value or a text in it is a secret.
    pub fn has_secrets(&self) -> bool {
        let value = match &self.event {
            Some(Event::Found(_, value, _) | Event::Result(value)) => value.secrecy().is_some(),
            _ => false,
        };
        let text = matches!(&self.branch, Some(Branch::Interpolation(text)) if text.secrecy().is_some());
        let said = self.texts.iter().any(|text| text.secrecy().is_some());
        value || text || said || self.steps.iter().any(Step::has_secrets)
    }
}

/// Records the steps of lookups.
#[derive(Debug)]
pub struct Recorder {
    open: RefCell<Vec<Step>>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { open: RefCell::new(vec![Step::default()]) }
    }
}

impl Recorder {
    /// Runs `work` as a step.
    pub fn step<R>(&self, branch: Branch, work: impl FnOnce() -> R) -> R {
        self.open.borrow_mut().push(Step { branch: Some(branch), ..Step::default() });
        let result = work();
        let mut open = self.open.borrow_mut();
        if let Some(step) = open.pop()
            && let Some(parent) = open.last_mut()
        {
            parent.steps.push(step);
        }
        drop(open);
        result
    }

    /// Returns the step at work as it is, for [`back_to`](Recorder::back_to).
    pub fn mark(&self) -> Step {
        self.open.borrow().last().cloned().unwrap_or_default()
    }

    /// Forgets what was recorded in the step at work since it was `before`.
    pub fn back_to(&self, before: &Step) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.clone_from(before);
        }
    }

    /// Runs `work` without a trace of it in the step at work.
    fn unseen<R>(&self, work: impl FnOnce() -> R) -> R {
        let count = |open: &[Step]| open.last().map_or(0, |step| step.steps.len());
        let before = count(&self.open.borrow());
        let result = work();
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.steps.truncate(before);
        }
        result
    }

    /// Records the end of the step at work.
    pub fn event(&self, event: Event) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.event = Some(event);
        }
    }

    /// Something else to say about the step at work.
    pub fn text(&self, text: impl Into<Text>) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.texts.push(text.into());
        }
    }

    /// Returns the recorded steps.
    pub fn finish(self) -> Step {
        self.open.into_inner().into_iter().next().unwrap_or_default()
    }
}

/// Runs `work` as a step, where somebody records.
pub fn step<R>(recorder: Option<&Recorder>, branch: impl FnOnce() -> Branch, work: impl FnOnce() -> R) -> R {
    match recorder {
        Some(recorder) => recorder.step(branch(), work),
        None => work(),
    }
}

/// Runs `work` without a trace of it: for what a secret leads to, whose steps would name what it says, and for what
/// Puppet does not do again.
pub fn unseen<R>(recorder: Option<&Recorder>, work: impl FnOnce() -> R) -> R {
    match recorder {
        Some(recorder) => recorder.unseen(work),
        None => work(),
    }
}

/// Records the end of the step at work, if somebody records.
pub fn event(recorder: Option<&Recorder>, event: impl FnOnce() -> Event) {
    if let Some(recorder) = recorder {
        recorder.event(event());
    }
}

/// Something else to say about the step at work, where somebody records.
pub fn text(recorder: Option<&Recorder>, text: impl FnOnce() -> Text) {
    if let Some(recorder) = recorder {
        recorder.text(text());
    }
}
