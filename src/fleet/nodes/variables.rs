//! The variables of the nodes of a fleet, as far as anybody looked at them.

use std::sync::Arc;

use crate::fleet::Fleet;
use crate::hiera::backend::Mentions;
use crate::hiera::key::split;
use crate::hiera::scope::{Scope, Variable};
use crate::node::NodeId;
use crate::value::{Hash, Value};

/// A place in a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::fleet) struct VariablePath {
    /// The variable.
    pub(in crate::fleet) root: Arc<str>,
    /// The steps into it.
    pub(in crate::fleet) segments: Vec<Value>,
}

impl VariablePath {
    /// The place that `name` means as it stands in data, dotted access included; nothing if Puppet refuses it.
    pub(in crate::fleet) fn parse(name: &str) -> Option<VariablePath> {
        let mut segments = split(name)?;
        match segments.remove(0) {
            Value::String(root) => Some(VariablePath { root: root.to_arc(), segments }),
            _ => None,
        }
    }
}

/// The variables of a node of a fleet.
#[derive(Clone, Copy)]
pub struct FleetScope<'a> {
    pub(in crate::fleet) fleet: &'a Fleet,
    pub(in crate::fleet) node: NodeId,
}

impl Scope for FleetScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        self.variable_at(name, &[])
    }

    /// The variable with what is at `segments`, and nothing else.
    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        let path = VariablePath { root: name.into(), segments: segments.to_vec() };
        self.fleet.column(&path).of(self.node).variable(&path)
    }
}

/// All that an evaluation can learn of a variable that it looks at one place of.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::fleet) struct Reading {
    /// How many segments lead through hashes to what is there.
    depth: usize,
    /// What is there; nothing if the last hash has no such entry.
    there: Option<Variable>,
}

impl Reading {
    /// Whether what is there has interpolations of its own.
    pub(in crate::fleet) fn interpolates(&self) -> bool {
        let Some(Variable::Value(value) | Variable::Partial(value)) = &self.there else { return false };
        let mentions = Mentions::of(value);
        mentions.anything || !mentions.keys.is_empty() || !mentions.variables.is_empty()
    }

    /// That nobody knows what is there.
    pub(in crate::fleet) fn unknown() -> Reading {
        Reading { depth: 0, there: Some(Variable::Unknown) }
    }

    /// A variable that has this at `path`.
    pub(in crate::fleet) fn variable(&self, path: &VariablePath) -> Variable {
        let inner = match &self.there {
            Some(Variable::Value(value)) => value.clone(),
            Some(other) => return other.clone(),
            None => Value::hash(Hash::new()),
        };
        let around = |value: Value, segment: &Value| Value::hash(Hash::from_iter([(segment.clone(), value)]));
        Variable::Value(path.segments[..self.depth].iter().rev().fold(inner, around))
    }

    /// What `scope` has at `path`.
    pub(in crate::fleet) fn of(scope: &dyn Scope, path: &VariablePath) -> Reading {
        let Variable::Value(mut value) = scope.variable(&path.root) else {
            return Reading { depth: 0, there: Some(scope.variable(&path.root)) };
        };
        for (depth, segment) in path.segments.iter().enumerate() {
            let (Value::Hash(hash), Value::String(_)) = (&value, segment) else {
                return Reading { depth, there: Some(Variable::Value(value)) };
            };
            match hash.get_value(segment).cloned() {
                Some(inner) => value = inner,
                None => return Reading { depth, there: None },
            }
        }
        Reading { depth: path.segments.len(), there: Some(Variable::Value(value)) }
    }
}
