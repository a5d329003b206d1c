//! "What if": values that replace those in all profiles.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Batch, NodeProfile, ProfileError, ProfileSource, Wanted};
use crate::puppet::json;
use crate::value::{Hash, Value};
use crate::visible::visible;

/// The variable of the environment.
const ENVIRONMENT: &str = "environment";

/// A value for a variable: `facts.os.family=Debian`, `trusted.extensions.pp_role=web`, `role=web`, `environment=test`.
/// With `:=` the value is JSON: `facts.processors.count:=4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// As it was written.
    text: String,
    variable: Variable,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Variable {
    Environment,
    /// A place in the facts.
    Facts(Vec<Arc<str>>),
    /// A place in `$trusted`.
    Trusted(Vec<Arc<str>>),
    /// A top-scope variable, and a place in it.
    Top(Vec<Arc<str>>),
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        let usage = "must be NAME=TEXT or NAME:=JSON, such as facts.os.family=Debian";
        let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' {usage}"))?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => (name, parse_json(value)?),
            None => (name, value.into()),
        };
        let mut steps: Vec<Arc<str>> = name.strip_prefix("::").unwrap_or(name).split('.').map(Arc::from).collect();
        if steps.iter().any(|step| step.is_empty()) {
            return Err(format!("'{text}' {usage}"));
        }
        let variable = match &*steps[0] {
            "facts" | "trusted" if steps.len() == 1 => {
                return Err(format!("'{text}' names no value inside of '{name}'"));
            }
            ENVIRONMENT if steps.len() == 1 => Variable::Environment,
            "facts" => Variable::Facts(steps.split_off(1)),
            "trusted" => Variable::Trusted(steps.split_off(1)),
            _ => Variable::Top(steps),
        };
        if variable == Variable::Environment && value.as_str().is_none() {
            return Err(format!("'{text}': the environment must be a string"));
        }
        Ok(Assignment { text: text.to_owned(), variable, value })
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        visible(&self.text).fmt(f)
    }
}

fn parse_json(text: &str) -> Result<Value, String> {
    let parsed = json::parse(text.as_bytes());
    parsed.fault.map_or(Ok(parsed.value), |fault| Err(format!("'{text}' is not JSON: {}", fault.text)))
}

impl Assignment {
    /// Returns true if it sets the variable of this name, as data reads it, a part of it, or something around it.
    pub fn concerns(&self, name: &str) -> bool {
        let mut own = vec![self.name()];
        match &self.variable {
            Variable::Environment => own.push(format!("server_facts.{ENVIRONMENT}")),
            // Facts are variables, too.
            Variable::Facts(steps) => own.push(steps.join(".")),
            Variable::Trusted(_) | Variable::Top(_) => {}
        }
        let is_inside = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
        own.iter().any(|own| own == name || is_inside(own, name) || is_inside(name, own))
    }

    /// Returns the name of the variable, dotted access included.
    pub fn name(&self) -> String {
        match &self.variable {
            Variable::Environment => ENVIRONMENT.to_owned(),
            Variable::Facts(steps) => format!("facts.{}", steps.join(".")),
            Variable::Trusted(steps) => format!("trusted.{}", steps.join(".")),
            Variable::Top(steps) => steps.join("."),
        }
    }

    /// Returns true if it sets the environment.
    pub fn is_of_environment(&self) -> bool {
        self.variable == Variable::Environment
    }

    /// Puts the value into a profile.
    pub fn put_into(&self, profile: &mut NodeProfile) {
        match &self.variable {
            Variable::Environment => profile.environment = self.value.as_str().unwrap_or_default().into(),
            Variable::Facts(steps) => put(Arc::make_mut(&mut profile.facts), steps, &self.value),
            Variable::Trusted(steps) => put(Arc::make_mut(&mut profile.trusted), steps, &self.value),
            Variable::Top(steps) => {
                // If the name is that of a fact and of no variable, the fact's other parts are kept.
                let is_known = profile.variables.get(&steps[0]).is_some();
                if let Some(fact) = profile.facts.get(&steps[0]).filter(|_| !is_known) {
                    let fact = fact.clone();
                    profile.variables.insert(&*steps[0], fact);
                }
                put(&mut profile.variables, steps, &self.value);
            }
        }
    }
}

/// Puts a value at a place of a hash. Other values on the way are replaced by hashes.
fn put(hash: &mut Hash, steps: &[Arc<str>], value: &Value) {
    let Some((first, rest)) = steps.split_first() else { return };
    if rest.is_empty() {
        hash.insert(&**first, value.clone());
        return;
    }
    let mut inner = hash.get(first).and_then(Value::as_hash).cloned().unwrap_or_default();
    put(&mut inner, rest, value);
    hash.insert(&**first, Value::hash(inner));
}

/// The profiles of a source, with other values for some variables.
pub struct WhatIf {
    source: Arc<dyn ProfileSource>,
    assignments: Vec<Assignment>,
}

impl WhatIf {
    /// Returns the profiles of `source` with these values. If several set the same place, the last one wins.
    pub fn new(source: Arc<dyn ProfileSource>, assignments: Vec<Assignment>) -> WhatIf {
        WhatIf { source, assignments }
    }
}

impl ProfileSource for WhatIf {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        self.source.read(wanted, &|mut batch| {
            for (_, profile) in &mut batch.profiles {
                self.assignments.iter().for_each(|assignment| assignment.put_into(profile));
            }
            each(batch);
        })
    }

    fn path(&self, file: u32) -> String {
        self.source.path(file)
    }

    fn declaration(&self, file: u32) -> usize {
        self.source.declaration(file)
    }

    fn is_current(&self) -> bool {
        self.source.is_current()
    }

    fn has_changed(&self) -> bool {
        self.source.has_changed()
    }

    fn fetched(&self) -> Option<u64> {
        self.source.fetched()
    }

    fn answers(&self) -> Option<String> {
        self.source.answers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    fn with(profile: &str, assignments: &[&str]) -> NodeProfile {
        let (mut profiles, errors) = read_profiles(profile.as_bytes(), "n.yaml", "production");
        assert!(errors.is_empty(), "{errors:?}");
        let mut profile = profiles.remove(0);
        for text in assignments {
            text.parse::<Assignment>().unwrap().put_into(&mut profile);
        }
        profile
    }

    #[test]
    fn values_take_the_place_of_others() {
        let profile = "name: n\nfacts: {os: {family: RedHat, release: {major: '8', full: '8.9'}}, a: 1}\nvariables: {role: web}\n";
        let changed = with(
            profile,
            &["facts.os.release.major=9", "role=db", "a=2", "os.name=Rocky", "trusted.extensions.pp_role=x", "n:=[1]"],
        );
        let expected = "name: n\nfacts: {os: {family: RedHat, release: {major: '9', full: '8.9'}}, a: 1}\n\
            variables: {role: db, a: '2', os: {family: RedHat, release: {major: '9', full: '8.9'}, name: Rocky}, n: [1]}\n";
        let expected = with(expected, &["trusted.extensions.pp_role=x"]);
        assert_eq!(changed, expected);
        assert_eq!(&*with(profile, &["environment=test"]).environment, "test");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["a", "=1", "a.=1", "facts=1", "trusted:={}", "environment:=1", "a:={"] {
            assert!(text.parse::<Assignment>().is_err(), "{text}");
        }
    }
}
