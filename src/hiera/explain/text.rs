//! The steps as text. It differs from Puppet's only in the places of found values, in brackets at the end of lines.

use std::fmt::{self, Write};

use super::{Branch, Event, Step};
use crate::value::{Hash, Value};

/// Decides whether places are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// Written after each found value.
    Shown,
    /// Not written, as in Puppet.
    Hidden,
}

impl Step {
    /// Returns the text of `puppet lookup --explain`.
    pub fn text(&self, places: Places) -> String {
        let mut out = String::new();
        _ = Writer { places, out: &mut out }.step(self, "");
        out
    }
}

struct Writer<'a> {
    places: Places,
    out: &'a mut String,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step, indent: &str) -> fmt::Result {
        let inner = format!("{indent}  ");
        match &step.branch {
            None => self.inside(step, indent),
            Some(Branch::Key(key)) => {
                writeln!(self.out, "{indent}Searching for \"{key}\"")?;
                self.steps(step, &inner)
            }
            Some(Branch::InvalidKey(key)) => writeln!(self.out, "{indent}Invalid key \"{key}\""),
            Some(Branch::NoModule(module)) => writeln!(self.out, "{indent}Module \"{module}\" not found"),
            Some(Branch::NoModuleData(module)) => {
                writeln!(self.out, "{indent}Module data provider for module \"{module}\" not found")
            }
            Some(Branch::MergeSource(key)) => writeln!(self.out, "{indent}Using merge options from \"{key}\" hash"),
            Some(Branch::MergeInManifest(place)) => writeln!(self.out, "{indent}Using the merge strategy of {place}"),
            Some(Branch::Merge(strategy, options)) => self.merge(step, strategy, options, indent),
            Some(Branch::Layer(layer)) => {
                writeln!(self.out, "{indent}{}", layer.name())?;
                if let Some(path) = &layer.config {
                    writeln!(self.out, "{inner}Using configuration \"{path}\"")?;
                }
                self.inside(step, &inner)
            }
            Some(Branch::Level(name)) => {
                writeln!(self.out, "{indent}Hierarchy entry \"{name}\"")?;
                self.inside(step, &inner)
            }
            Some(Branch::Path(path, original)) => self.location(step, ["Path", "path"], [path, original], indent),
            Some(Branch::Uri(uri, original)) => self.location(step, ["URI", "uri"], [uri, original], indent),
            Some(Branch::Interpolation(text)) => {
                writeln!(self.out, "{indent}Interpolation on \"{}\"", text.visible())?;
                self.steps(step, &inner)
            }
            Some(Branch::SubKey(path)) => {
                writeln!(self.out, "{indent}Sub key: \"{path}\"")?;
                self.inside(step, &inner)
            }
            Some(Branch::Segment) => self.outcome(step, indent),
            Some(Branch::Scope(name)) => {
                writeln!(self.out, "{indent}{name}")?;
                self.inside(step, &inner)
            }
        }
    }

    /// Writes a merge. If it has only one variant, writes only that.
    fn merge(&mut self, step: &Step, strategy: &str, options: &Hash, indent: &str) -> fmt::Result {
        match &*step.steps {
            [] => return Ok(()),
            [only] => return self.step(only, indent),
            _ => {}
        }
        let inner = format!("{indent}  ");
        writeln!(self.out, "{indent}Merge strategy {strategy}")?;
        if !options.is_empty() {
            writeln!(self.out, "{inner}Options: {}", dump(&Value::hash(options.clone()), &inner))?;
        }
        self.steps(step, &inner)?;
        if let Some(Event::Result(value)) = &step.event {
            writeln!(self.out, "{inner}Merged result: {}", dump(value, &inner))?;
        }
        Ok(())
    }

    fn location(&mut self, step: &Step, kind: [&str; 2], [resolved, original]: [&str; 2], indent: &str) -> fmt::Result {
        let [kind, small] = kind;
        let inner = format!("{indent}  ");
        writeln!(self.out, "{indent}{kind} \"{resolved}\"\n{inner}Original {small}: \"{original}\"")?;
        self.steps(step, &inner)?;
        if step.event == Some(Event::LocationNotFound) {
            writeln!(self.out, "{inner}{kind} not found")?;
        }
        self.outcome(step, &inner)
    }

    fn inside(&mut self, step: &Step, indent: &str) -> fmt::Result {
        self.steps(step, indent)?;
        self.outcome(step, indent)
    }

    fn steps(&mut self, step: &Step, indent: &str) -> fmt::Result {
        step.steps.iter().try_for_each(|inner| self.step(inner, indent))
    }

    fn outcome(&mut self, step: &Step, indent: &str) -> fmt::Result {
        match &step.event {
            Some(Event::NotFound(key)) => writeln!(self.out, "{indent}No such key: \"{key}\"")?,
            Some(Event::Found(key, value, at)) => {
                write!(self.out, "{indent}Found key: \"{key}\" value: {}", dump(value, indent))?;
                match at.as_ref().filter(|_| self.places == Places::Shown) {
                    Some(at) => writeln!(self.out, " ({})", at.place)?,
                    None => writeln!(self.out)?,
                }
            }
            _ => {}
        }
        step.texts.iter().try_for_each(|text| writeln!(self.out, "{indent}{}", text.visible()))
    }
}

/// Returns a value over several lines, in the layout of Puppet's explainer.
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
        scalar => scalar.inspect(),
    }
}
