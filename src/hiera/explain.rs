//! What a lookup did, step by step: `lookup --explain`.
//!
//! The lookup reports to a [`Recorder`]; the recorded tree is written in the terms of `puppet lookup --explain`, and with the
//! line that each value stands on. Source: `pops/lookup/explainer.rb`.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::Arc;

use crate::diagnostic::Place;
use crate::value::yaml::Marks;
use crate::value::{Value, ruby};

/// What a step is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Branch {
    /// The search for a key.
    Key(Arc<str>),
    /// A reserved key, for which nothing is searched.
    InvalidKey(Arc<str>),
    /// A layer: its name and its hiera.yaml.
    Layer(String, Arc<str>),
    /// A part of the search, in words.
    Scope(String),
    /// A module without data.
    NoModuleData(Arc<str>),
    /// A fold of several variants by a strategy.
    Merge(&'static str),
    /// A level of the hierarchy.
    Level(Arc<str>),
    /// A path or URI: as resolved, and as written.
    Location(Arc<str>, Arc<str>),
    /// A text with `%{...}`.
    Interpolation(Arc<str>),
    /// The steps of a dotted key into a value.
    SubKey(String),
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A value was found: for which key, which value, and where.
    Found(Arc<str>, Value, Option<FoundAt>),
    /// The key is not there.
    NotFound(Arc<str>),
    /// The file is not there.
    LocationNotFound,
    /// What a fold came to.
    Result(Value),
    /// The step failed.
    Failed(String),
    /// Something else to know.
    Note(String),
}

/// Where a value stands in a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundAt {
    /// The file, and the line of the key.
    pub place: Place,
    /// The lines of the value's parts.
    pub marks: Marks,
}

/// A step with its outcome and the steps inside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it is about; nothing for the root.
    pub branch: Option<Branch>,
    /// Steps and events, in order.
    pub children: Vec<Child>,
}

/// A part of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Child {
    /// A step inside.
    Step(Step),
    /// An event.
    Event(Event),
}

impl Step {
    /// The steps inside this one.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.children.iter().filter_map(|child| match child {
            Child::Step(step) => Some(step),
            Child::Event(_) => None,
        })
    }

    /// The events of this step itself.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.children.iter().filter_map(|child| match child {
            Child::Event(event) => Some(event),
            Child::Step(_) => None,
        })
    }
}

/// Records the steps of lookups.
#[derive(Debug)]
pub struct Recorder {
    open: RefCell<Vec<Step>>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { open: RefCell::new(vec![Step { branch: None, children: Vec::new() }]) }
    }
}

impl Recorder {
    /// Runs `work` as a step.
    pub fn step<R>(&self, branch: Branch, work: impl FnOnce() -> R) -> R {
        self.open.borrow_mut().push(Step { branch: Some(branch), children: Vec::new() });
        let result = work();
        let mut open = self.open.borrow_mut();
        if let Some(step) = open.pop()
            && let Some(parent) = open.last_mut()
        {
            parent.children.push(Child::Step(step));
        }
        drop(open);
        result
    }

    /// Runs `work` without a trace of it in the step at work.
    fn unseen<R>(&self, work: impl FnOnce() -> R) -> R {
        let count = |open: &[Step]| open.last().map_or(0, |step| step.children.len());
        let before = count(&self.open.borrow());
        let result = work();
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.children.truncate(before);
        }
        result
    }

    /// Adds an event to the step at work.
    pub fn event(&self, event: Event) {
        if let Some(step) = self.open.borrow_mut().last_mut() {
            step.children.push(Child::Event(event));
        }
    }

    /// The recorded steps.
    pub fn finish(self) -> Step {
        self.open.into_inner().into_iter().next().unwrap_or(Step { branch: None, children: Vec::new() })
    }
}

/// Runs `work` without a trace of it, for what a secret leads to: its steps would name what it says.
pub fn unseen<R>(recorder: Option<&Recorder>, work: impl FnOnce() -> R) -> R {
    match recorder {
        Some(recorder) => recorder.unseen(work),
        None => work(),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_step(self, "", f)
    }
}

fn write_step(step: &Step, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // A fold of one variant is no fold worth telling.
    if matches!(step.branch, Some(Branch::Merge(_))) && step.steps().count() <= 1 {
        return step.steps().try_for_each(|inner| write_step(inner, indent, f));
    }
    let inner = if step.branch.is_some() { format!("{indent}  ") } else { indent.to_owned() };
    match &step.branch {
        None => {}
        Some(Branch::Key(key)) => writeln!(f, "{indent}Searching for \"{key}\"")?,
        Some(Branch::InvalidKey(key)) => writeln!(f, "{indent}Invalid key \"{key}\"")?,
        Some(Branch::Layer(name, path)) => {
            writeln!(f, "{indent}{name} Data Provider (hiera configuration version 5)")?;
            writeln!(f, "{inner}Using configuration \"{path}\"")?;
        }
        Some(Branch::Scope(text)) => writeln!(f, "{indent}{text}")?,
        Some(Branch::NoModuleData(module)) => {
            writeln!(f, "{indent}Module data provider for module \"{module}\" not found")?;
        }
        Some(Branch::Merge(strategy)) => writeln!(f, "{indent}Merge strategy {strategy}")?,
        Some(Branch::Level(name)) => writeln!(f, "{indent}Hierarchy entry \"{name}\"")?,
        Some(Branch::Location(path, original)) => {
            let kind = if path.contains("://") { "URI" } else { "Path" };
            writeln!(f, "{indent}{kind} \"{path}\"")?;
            writeln!(f, "{inner}Original {}: \"{original}\"", kind.to_lowercase())?;
        }
        Some(Branch::Interpolation(text)) => writeln!(f, "{indent}Interpolation on \"{text}\"")?,
        Some(Branch::SubKey(path)) => writeln!(f, "{indent}Sub key: \"{path}\"")?,
    }
    for child in &step.children {
        match child {
            Child::Step(step) => write_step(step, &inner, f)?,
            Child::Event(event) => write_event(event, &inner, f)?,
        }
    }
    Ok(())
}

fn write_event(event: &Event, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match event {
        Event::Found(key, value, at) => {
            write!(f, "{indent}Found key: \"{key}\" value: {}", dump(value, indent))?;
            match at {
                Some(at) => writeln!(f, " ({})", at.place),
                None => writeln!(f),
            }
        }
        Event::NotFound(key) => writeln!(f, "{indent}No such key: \"{key}\""),
        Event::LocationNotFound => writeln!(f, "{indent}Path not found"),
        Event::Result(value) => writeln!(f, "{indent}Merged result: {}", dump(value, indent)),
        Event::Failed(text) => writeln!(f, "{indent}Failed: {text}"),
        Event::Note(text) => writeln!(f, "{indent}{text}"),
    }
}

/// A value over several lines, as Puppet's explainer lays it out.
fn dump(value: &Value, indent: &str) -> String {
    let inner = format!("{indent}  ");
    let block = |open: char, close: char, lines: Vec<String>| {
        let mut out = String::from(open);
        for (i, line) in lines.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            _ = write!(out, "{comma}\n{inner}{line}");
        }
        if !lines.is_empty() {
            _ = write!(out, "\n{indent}");
        }
        out.push(close);
        out
    };
    match value {
        Value::Hash(hash) => {
            let line = |(k, v)| format!("{} => {}", dump(k, &inner), dump(v, &inner));
            block('{', '}', hash.iter().map(line).collect())
        }
        Value::Array(items) => block('[', ']', items.iter().map(|item| dump(item, &inner)).collect()),
        scalar => ruby::inspect(scalar),
    }
}
