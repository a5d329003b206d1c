//! The variables that interpolation can read.
//!
//! Source: `parser/scope.rb` (`lookupvar`, `lookup_qualified_variable`, `variable_not_found`) and `parser/compiler.rb`, which
//! fills the top scope.

use indexmap::IndexMap;

use crate::node::NodeProfile;
use crate::value::{Hash, Value};

/// What a variable is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Its value, which may be undef.
    Value(Value),
    /// `server_facts`, of which only some entries are known here; the Puppet server knows the rest ([`SERVER_FACTS`]).
    Partial(Value),
    /// Not set; the text is Puppet's reason, often empty.
    Undefined(String),
    /// Only the Puppet server knows it.
    Unknown,
}

/// The variables of one node.
pub trait Scope {
    /// The variable `name`: `role`, `::role`, `class::name`; no dotted access here.
    fn variable(&self, name: &str) -> Variable;
}

/// Facts of the server (`node/server_facts.rb`), which a profile may declare.
pub const SERVER_FACTS: [&str; 5] = ["serverversion", "servername", "serverip", "serverip6", "serverimplementation"];

/// The top scope of a node, as Puppet's compiler fills it: facts, then the node's variables over them, then what Puppet adds.
#[derive(Debug, Clone)]
pub struct NodeScope {
    variables: IndexMap<String, Variable, foldhash::fast::RandomState>,
}

impl NodeScope {
    /// The scope of `node`.
    pub fn new(node: &NodeProfile) -> NodeScope {
        let mut scope = NodeScope { variables: IndexMap::default() };
        scope.set("clientcert", Value::from(&*node.name));
        for (name, value) in node.facts.iter().chain(node.variables.iter()) {
            if let Some(name) = name.as_str() {
                scope.set(name, value.clone());
            }
        }
        scope.set("environment", Value::from(&*node.environment));
        scope.set("trusted", Value::hash(node.trusted.clone()));
        scope.set("facts", Value::hash(node.facts.clone()));
        scope.add_server_facts(node);
        // The class `main`, which is evaluated in the top scope, brings these.
        scope.set("module_name", Value::from(""));
        scope.set("title", Value::from("main"));
        scope.set("name", Value::from("main"));
        scope
    }

    fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), Variable::Value(value));
    }

    fn add_server_facts(&mut self, node: &NodeProfile) {
        let environment = ("environment", Value::from(&*node.environment));
        let Some(declared) = &node.server_facts else {
            for name in SERVER_FACTS {
                self.variables.entry(name.to_owned()).or_insert(Variable::Unknown);
            }
            let known = Value::hash(Hash::from_iter([environment]));
            self.variables.insert("server_facts".to_owned(), Variable::Partial(known));
            return;
        };
        for (name, value) in declared.iter() {
            if let Some(name) = name.as_str() {
                self.variables.entry(name.to_owned()).or_insert_with(|| Variable::Value(value.clone()));
            }
        }
        let mut all = declared.clone();
        all.insert(environment.0, environment.1);
        self.set("server_facts", Value::hash(all));
    }
}

impl Scope for NodeScope {
    fn variable(&self, name: &str) -> Variable {
        let Some(at) = name.find("::") else {
            return self.variables.get(name).cloned().unwrap_or_else(|| absent(name));
        };
        let qualified = if at == 0 { &name[2..] } else { name };
        if let Some(variable) = self.variables.get(qualified) {
            return variable.clone();
        }
        match qualified.rsplit_once("::") {
            Some(("settings", _)) => Variable::Unknown,
            Some((class, _)) => Variable::Undefined(format!("class {class} could not be found")),
            None => Variable::Undefined(String::new()),
        }
    }
}

/// `module_name`, `caller_module_name` and the numbered variables of matches always exist.
fn absent(name: &str) -> Variable {
    let numbered = name == "0"
        || (name.starts_with(|c: char| ('1'..='9').contains(&c)) && name.bytes().all(|b| b.is_ascii_digit()));
    if numbered || matches!(name, "module_name" | "caller_module_name") {
        Variable::Value(Value::Undef)
    } else {
        Variable::Undefined(String::new())
    }
}

/// A scope with one more local variable, as `mapped_paths` makes it; a qualified name never is local.
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
}
