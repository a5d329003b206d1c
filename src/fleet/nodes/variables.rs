//! Places inside variables, and their values on the nodes of a fleet.

use std::sync::Arc;

use indexmap::Equivalent;

use crate::fleet::Fleet;
use crate::fleet::nodes::VariableClasses;
use crate::hiera::backend::Mentions;
use crate::hiera::key::split;
use crate::hiera::scope::{Scope, Variable};
use crate::node::{NodeId, Wanted};
use crate::value::{Hash, Text, Value};

/// A place inside a variable, such as `facts.os.family`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)] // hashes like a `PathRef`
pub(in crate::fleet) struct VariablePath {
    /// The variable.
    pub(in crate::fleet) root: Arc<str>,
    /// The steps into it.
    pub(in crate::fleet) segments: Vec<Value>,
}

impl VariablePath {
    /// Parses the name of a variable as written in data, dotted access included. Returns `None` if Puppet refuses it.
    pub(in crate::fleet) fn parse(name: &str) -> Option<VariablePath> {
        let mut segments = split(name)?;
        match segments.remove(0) {
            Value::String(root) => Some(VariablePath { root: root.to_arc(), segments }),
            _ => None,
        }
    }

    pub(in crate::fleet) fn by_ref(&self) -> PathRef<'_> {
        PathRef { root: &self.root, segments: &self.segments }
    }
}

/// Returns the parts of profiles that the values at `paths` require.
pub(in crate::fleet) fn wanted<'p>(paths: impl IntoIterator<Item = &'p VariablePath>) -> Wanted {
    let mut wanted = Wanted::default();
    paths.into_iter().for_each(|path| wanted.add(&path.root, &path.segments));
    wanted
}

/// A borrowed [`VariablePath`], to look one up.
#[derive(Clone, Copy, Hash)]
pub(in crate::fleet) struct PathRef<'a> {
    pub(in crate::fleet) root: &'a str,
    pub(in crate::fleet) segments: &'a [Value],
}

impl PathRef<'_> {
    pub(in crate::fleet) fn to_path(self) -> VariablePath {
        VariablePath { root: self.root.into(), segments: self.segments.to_vec() }
    }
}

impl Equivalent<VariablePath> for PathRef<'_> {
    fn equivalent(&self, path: &VariablePath) -> bool {
        *self.root == *path.root && self.segments == path.segments
    }
}

/// The variables of a node of a fleet.
#[derive(Clone, Copy)]
pub struct FleetScope<'a> {
    pub(in crate::fleet) fleet: &'a Fleet,
    pub(in crate::fleet) node: NodeId,
}

impl FleetScope<'_> {
    fn classes(&self, path: PathRef<'_>) -> Arc<VariableClasses> {
        self.fleet.known_classes(path).unwrap_or_else(|| self.fleet.unread(path.root))
    }
}

impl Scope for FleetScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        self.variable_at(name, &[])
    }

    fn may_be_refused(&self) -> bool {
        self.fleet.has_refused
    }

    /// Returns the variable with only the value at `segments` in it.
    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        let path = PathRef { root: name, segments };
        self.classes(path).on(self.node).variable(segments)
    }

    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        self.classes(PathRef { root: name, segments }).on(self.node).within(segments)
    }
}

/// The value at one place inside a variable: all that an evaluation can learn by looking there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::fleet) struct Reading {
    /// The number of segments that lead through hashes to the value.
    depth: usize,
    /// The value; `None` if the last hash has no such entry.
    found: Option<Variable>,
}

impl Reading {
    /// Reads the value at `path` from `scope`.
    pub(in crate::fleet) fn of(scope: &dyn Scope, path: &VariablePath) -> Reading {
        let Variable::Value(mut value) = scope.variable(&path.root) else {
            return Reading { depth: 0, found: Some(scope.variable(&path.root)) };
        };
        for (depth, segment) in path.segments.iter().enumerate() {
            let (Value::Hash(hash), Value::String(_)) = (&value, segment) else {
                return Reading { depth, found: Some(Variable::Value(value)) };
            };
            match hash.get_value(segment).cloned() {
                Some(inner) => value = inner,
                None => return Reading { depth, found: None },
            }
        }
        Reading { depth: path.segments.len(), found: Some(Variable::Value(value)) }
    }

    /// Returns the reading of a variable whose value is unknown, for this reason.
    pub(in crate::fleet) fn unknown(reason: &str) -> Reading {
        Reading { depth: 0, found: Some(Variable::Unresolved(reason.into())) }
    }

    /// Returns true if the value itself contains interpolations.
    pub(in crate::fleet) fn interpolates(&self) -> bool {
        self.mentions().is_some()
    }

    /// Returns the references in the value.
    pub(in crate::fleet) fn mentions(&self) -> Mentions {
        match &self.found {
            Some(Variable::Value(value) | Variable::Partial(value)) => Mentions::of(value),
            _ => Mentions::default(),
        }
    }

    /// Returns the text at the end of `segments`, or `None` if there is no text.
    pub(in crate::fleet) fn text(&self, segments: &[Value]) -> Option<&str> {
        match &self.found {
            Some(Variable::Value(Value::String(text))) if self.depth == segments.len() => Some(text),
            _ => None,
        }
    }

    /// Returns the text at the end of `segments` if it is not a secret and has no `%`, or `None` otherwise.
    pub(in crate::fleet) fn plain_text(&self, segments: &[Value]) -> Option<&Text> {
        match &self.found {
            Some(Variable::Value(Value::String(text))) if self.depth == segments.len() => {
                Some(text).filter(|text| text.secrecy().is_none() && !text.contains('%'))
            }
            _ => None,
        }
    }

    /// Returns the value at the end of `segments`, or `None` if there is none.
    pub(in crate::fleet) fn value(&self, segments: &[Value]) -> Option<&Value> {
        match &self.found {
            Some(Variable::Value(value)) if self.depth == segments.len() => Some(value),
            _ => None,
        }
    }

    /// Returns true if nothing sets the value at the end of `segments`.
    pub(in crate::fleet) fn is_missing(&self, segments: &[Value]) -> bool {
        match &self.found {
            None | Some(Variable::Undefined { .. }) => true,
            Some(Variable::Value(Value::Undef)) => self.depth < segments.len(),
            Some(_) => false,
        }
    }

    /// Returns a variable that has this value at `segments`.
    pub(in crate::fleet) fn variable(&self, segments: &[Value]) -> Variable {
        let inner = match &self.found {
            Some(Variable::Value(value)) => value.clone(),
            Some(other) => return other.clone(),
            None => Value::hash(Hash::new()),
        };
        let wrapped = |value: Value, segment: &Value| Value::hash(Hash::from_iter([(segment.clone(), value)]));
        Variable::Value(segments[..self.depth].iter().rev().fold(inner, wrapped))
    }

    /// Returns the value and the remaining segments.
    pub(in crate::fleet) fn within<'s>(&self, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        match &self.found {
            Some(found) => (found.clone(), &segments[self.depth..]),
            None => (Variable::Value(Value::Undef), &[]),
        }
    }
}
