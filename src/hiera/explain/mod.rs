//! The record of a lookup, step by step: `lookup --explain`.
//!
//! The lookup reports to a [`Recorder`]. The recorded tree is Puppet's, with the line of each value added. It can be
//! written as text or as data, as `puppet lookup --explain` does. Source: `pops/lookup/explainer.rb`.

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
    /// A reserved key, which is not looked up.
    InvalidKey(Arc<str>),
    /// A layer.
    Layer(LayerStep),
    /// A module that does not exist.
    NoModule(Arc<str>),
    /// A module without data.
    NoModuleData(Arc<str>),
    /// The key under which merge options were found.
    MergeSource(&'static str),
    /// The place in a manifest of the lookup that names the merge strategy.
    MergeInManifest(Place),
    /// A merge of several values by a strategy, with its options.
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
    /// One of the steps of a dotted key.
    Segment,
    /// Something described by a sentence: the search for a variable, a default hierarchy.
    Scope(String),
}

/// A layer, with what a step shows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerStep {
    /// `Global`, `Environment` or `Module`.
    pub place: &'static str,
    /// The module, if this is a module's layer.
    pub module: Option<Arc<str>>,
    /// The version of its hiera.yaml.
    pub version: u8,
    /// Its hiera.yaml, or `None` if Puppet's default is used.
    pub config: Option<Arc<str>>,
}

impl LayerStep {
    /// The global layer where none is configured.
    pub const NO_GLOBAL: LayerStep = LayerStep { place: "Global", module: None, version: 5, config: None };

    fn name(&self) -> String {
        let module = self.module.as_ref().map(|module| format!("\"{module}\" ")).unwrap_or_default();
        format!("{} {module}Data Provider (hiera configuration version {})", self.place, self.version)
    }
}

/// The outcome of a step. If there are several, the last one wins.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A value was found: the key, the value, and its place.
    Found(Arc<str>, Value, Option<FoundAt>),
    /// The key was not found.
    NotFound(Arc<str>),
    /// The file does not exist.
    LocationNotFound,
    /// The result of a merge.
    Result(Value),
}

/// The place of a value in a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundAt {
    /// The file, and the line of the key.
    pub place: Place,
    /// The line numbers of the value's parts.
    pub marks: Marks,
}

/// A step with its outcome and the steps inside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Its subject, or `None` for the root.
    pub branch: Option<Branch>,
    /// The steps inside, in order.
    pub steps: Vec<Step>,
    /// Its outcome, if there is one.
    pub event: Option<Event>,
    /// Additional texts about it.
    pub texts: Vec<Text>,
}

impl Step {
    /// Returns true if the step or one inside it has a value or a text that is a secret.
    pub fn has_secrets(&self) -> bool {
        let has_secret_value = match &self.event {
            Some(Event::Found(_, value, _) | Event::Result(value)) => value.secrecy().is_some(),
            _ => false,
        };
        let has_secret_branch = matches!(&self.branch, Some(Branch::Interpolation(text)) if text.secrecy().is_some());
        let has_secret_text = self.texts.iter().any(|text| text.secrecy().is_some());
        has_secret_value || has_secret_branch || has_secret_text || self.steps.iter().any(Step::has_secrets)
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

    /// Returns the current step as it is, for [`back_to`](Recorder::back_to).
    pub fn mark(&self) -> Step {
        self.open.borrow().last().cloned().unwrap_or_default()
    }

    /// Discards everything recorded in the current step since it was `before`.
    pub fn back_to(&self, before: &Step) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.clone_from(before);
        }
    }

    /// Runs `work` without recording its steps in the current one.
    fn unrecorded<R>(&self, work: impl FnOnce() -> R) -> R {
        let count = |open: &[Step]| open.last().map_or(0, |step| step.steps.len());
        let before = count(&self.open.borrow());
        let result = work();
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.steps.truncate(before);
        }
        result
    }

    /// Records the outcome of the current step.
    pub fn event(&self, event: Event) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.event = Some(event);
        }
    }

    /// Adds a text to the current step.
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

/// Runs `work` as a step, if there is a recorder.
pub fn step<R>(recorder: Option<&Recorder>, branch: impl FnOnce() -> Branch, work: impl FnOnce() -> R) -> R {
    match recorder {
        Some(recorder) => recorder.step(branch(), work),
        None => work(),
    }
}

/// Runs `work` without recording its steps. It is used for texts that contain a secret, whose steps would reveal it,
/// and for work that Puppet does not repeat.
pub fn unrecorded<R>(recorder: Option<&Recorder>, work: impl FnOnce() -> R) -> R {
    match recorder {
        Some(recorder) => recorder.unrecorded(work),
        None => work(),
    }
}

/// Records the outcome of the current step, if there is a recorder.
pub fn event(recorder: Option<&Recorder>, event: impl FnOnce() -> Event) {
    if let Some(recorder) = recorder {
        recorder.event(event());
    }
}

/// Adds a text to the current step, if there is a recorder.
pub fn text(recorder: Option<&Recorder>, text: impl FnOnce() -> Text) {
    if let Some(recorder) = recorder {
        recorder.text(text());
    }
}
