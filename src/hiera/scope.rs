//! The variables that interpolation can read.
//!
//! Source: `parser/scope.rb` (`lookupvar`, `lookup_qualified_variable`, `variable_not_found`) and
//! `parser/compiler.rb`, which fills the top scope.

mod settings;

use std::sync::Arc;

use super::LookupError;
use super::key::colons;
use crate::node::{NodeProfile, REFUSAL, REFUSED_LATE, is_refused};
use crate::value::hole::Hole;
use crate::value::{Hash, Value};

/// The result of reading a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Its value, which may be undef.
    Value(Value),
    /// `server_facts`, of which only some entries are known here; the Puppet server knows the rest
    /// ([`SERVER_FACTS`]).
    Partial(Value),
    /// Not set.
    Undefined {
        /// Its name, as it appears in the error.
        name: String,
        /// The reason; may be empty.
        reason: String,
    },
    /// Only the Puppet server knows its value.
    Unknown,
    /// hierad could not determine its value; the text says why.
    Unresolved(Arc<str>),
}

/// The variables of one node.
pub trait Scope {
    /// Returns the variable `name`: `role`, `::role`, `class::name`. The name has no dotted access.
    fn variable(&self, name: &str) -> Variable;

    /// Returns the variable `name`, for callers that only look at the part that `segments` lead to.
    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        _ = segments;
        self.variable(name)
    }

    /// Returns the variable `name`, and the segments to follow in its value. An implementation may follow some of
    /// `segments` already; if an entry does not exist, the value is undef and no segments remain.
    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        (self.variable(name), segments)
    }

    /// Returns false if Puppet is known to accept the variables: see [`refusal`].
    fn may_be_refused(&self) -> bool {
        true
    }

    /// Returns a hole with the text of the variable `name`, including dotted access. Returns `None` if the variable
    /// must be read, because it may be a secret, or something other than a text without `%`.
    fn hole(&self, name: &str) -> Option<Arc<Hole>> {
        _ = name;
        None
    }
}

/// Returns the error that every lookup fails with on a node whose variables Puppet refuses.
pub fn refusal(scope: &dyn Scope) -> Option<LookupError> {
    match scope.may_be_refused().then(|| scope.variable(REFUSAL))? {
        Variable::Value(Value::String(text)) => Some(LookupError::puppet(text)),
        _ => None,
    }
}

/// Facts of the server (`node/server_facts.rb`), which a profile may declare.
pub const SERVER_FACTS: [&str; 5] = ["serverversion", "servername", "serverip", "serverip6", "serverimplementation"];

/// The top scope of a node, as Puppet's compiler fills it: facts, which the node's variables override, and the
/// variables that Puppet adds.
#[derive(Debug, Clone, Copy)]
pub struct NodeScope<'a>(&'a NodeProfile);

impl<'a> NodeScope<'a> {
    /// Returns the scope of `node`.
    pub fn new(node: &'a NodeProfile) -> NodeScope<'a> {
        NodeScope(node)
    }

    /// Returns the top-scope variable `name`, or `None` if it is not set.
    fn top_variable(self, name: &str) -> Option<Variable> {
        let node = self.0;
        let value = match name {
            "environment" => (&*node.environment).into(),
            "trusted" => Value::Hash(node.trusted.clone()),
            "facts" => Value::Hash(node.facts.clone()),
            "server_facts" => return Some(self.server_facts()),
            // The class `main` sets these; it is evaluated in the top scope.
            "module_name" => "".into(),
            "title" | "name" => "main".into(),
            REFUSAL => self.refusal().map_or(Value::Undef, Value::from),
            name => match node.variables.get(name).or_else(|| node.facts.get(name)) {
                _ if let Some(reason) = node.unresolved.get(name) => return Some(Variable::Unresolved(reason.clone())),
                Some(value) => value.clone(),
                None if name == "clientcert" => (&*node.name).into(),
                None => return self.server_fact(name),
            },
        };
        Some(Variable::Value(value))
    }

    /// Looks up a qualified `name` without its leading `::`.
    fn qualified(self, name: &str) -> Variable {
        // Puppet sets these after all others.
        let setting = name.strip_prefix("settings::").and_then(settings_variable);
        if let Some(variable) = setting.or_else(|| self.top_variable(name)) {
            return variable;
        }
        let rooted = || undefined(&format!("::{name}"), "");
        let Some((class, leaf)) = name.rsplit_once("::") else { return rooted() };
        // Puppet drops one more `::` here; the class without a name is `main`.
        match &*class.strip_prefix("::").unwrap_or(class).to_lowercase() {
            "" => self.top_variable(leaf).unwrap_or_else(rooted),
            "settings" => settings_variable(leaf).unwrap_or_else(rooted),
            _ => undefined(name, &format!("class {class} could not be found")),
        }
    }

    fn server_facts(self) -> Variable {
        let environment = [("environment", Value::from(&*self.0.environment))];
        let Some(declared) = &self.0.server_facts else {
            return Variable::Partial(Value::hash(Hash::from_iter(environment)));
        };
        let declared = declared.iter().map(|(name, value)| (name.clone(), value.clone()));
        let environment = environment.map(|(name, value)| (Value::from(name), value));
        Variable::Value(Value::hash(declared.chain(environment).collect()))
    }

    /// Returns the error that all lookups fail with if a variable of the node has a name that Puppet refuses. A fact
    /// `name` with the node's own name is a field of the profile, and ignored.
    fn refusal(self) -> Option<String> {
        let node = self.0;
        let names = [Some(&*node.facts), Some(&node.variables), node.server_facts.as_ref()].into_iter().flatten();
        let is_field = |name: &str, value: &Value| name == "name" && value.as_str() == Some(&node.name);
        let names = names.flat_map(Hash::iter).filter_map(|(name, value)| Some((name.as_str()?, value)));
        let names = names.filter(|(name, value)| !is_field(name, value)).map(|(name, _)| name);
        let refused = names.filter(|name| is_refused(name));
        // The variables of `main` are set after all others.
        let first = refused.min_by_key(|name| usize::from(REFUSED_LATE.contains(name)))?;
        Some(match first {
            "facts" | "server_facts" => format!("Attempt to assign to a reserved variable name: '{first}'"),
            name if REFUSED_LATE.contains(&name) => format!("Cannot reassign variable '${name}'"),
            name => format!("Cannot assign to a numeric match result variable '${name}'"),
        })
    }

    fn server_fact(self, name: &str) -> Option<Variable> {
        match &self.0.server_facts {
            Some(declared) => declared.get(name).cloned().map(Variable::Value),
            None => SERVER_FACTS.contains(&name).then_some(Variable::Unknown),
        }
    }
}

impl Scope for NodeScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        match colons(name) {
            None => self.top_variable(name).unwrap_or_else(|| absent_variable(name)),
            Some(0) => self.qualified(&name[2..]),
            Some(_) => self.qualified(name),
        }
    }
}

/// Returns a variable that is not set. `module_name`, `caller_module_name` and the numbered variables of matches
/// always exist.
fn absent_variable(name: &str) -> Variable {
    let numbered = name == "0"
        || (name.starts_with(|c: char| ('1'..='9').contains(&c)) && name.bytes().all(|b| b.is_ascii_digit()));
    if numbered || matches!(name, "module_name" | "caller_module_name") {
        Variable::Value(Value::Undef)
    } else {
        undefined(name, "")
    }
}

/// Looks up `name` in the class `settings`. Returns `None` if it has no such variable.
fn settings_variable(name: &str) -> Option<Variable> {
    match name {
        "name" | "title" => Some(Variable::Value("settings".into())),
        name => settings::is_setting(name).then_some(Variable::Unknown),
    }
}

/// Returns a variable that is not set. `name` is its name in Puppet's error.
fn undefined(name: &str, reason: &str) -> Variable {
    Variable::Undefined { name: name.to_owned(), reason: reason.to_owned() }
}

/// A scope with one more local variable, as `mapped_paths` makes it. A qualified name is never local.
pub struct LocalScope<'a> {
    /// The scope around it.
    pub outer: &'a dyn Scope,
    /// The variable's name.
    pub name: &'a str,
    /// The variable's value.
    pub value: Value,
}

impl Scope for LocalScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        if name == self.name && !name.contains("::") {
            Variable::Value(self.value.clone())
        } else {
            self.outer.variable(name)
        }
    }

    fn may_be_refused(&self) -> bool {
        self.outer.may_be_refused()
    }

    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        if name == self.name { self.variable(name) } else { self.outer.variable_at(name, segments) }
    }

    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        if name == self.name { (self.variable(name), segments) } else { self.outer.within(name, segments) }
    }
}
/// Returns the name of a node's environment.
pub fn environment_in(scope: &dyn Scope) -> Option<String> {
    match scope.variable(ENVIRONMENT) {
        Variable::Value(name) => name.as_str().map(str::to_owned),
        _ => None,
    }
}

/// The variable that names a node's environment.
pub const ENVIRONMENT: &str = "environment";
