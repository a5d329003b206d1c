//! Profiles that are kept for long or given to others, without values that are not read, that change by themselves,
//! or that are secret.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fields::{FACTS, FIELDS, Wants};
use super::{NodeProfile, Wanted};
use crate::value::{Hash, Selection, Value};

/// Facts that change without anybody changing the node. A `*` stands for any name.
const VOLATILE: [&str; 26] = [
    "load_averages",
    "memory.swap.available",
    "memory.swap.available_bytes",
    "memory.swap.capacity",
    "memory.swap.used",
    "memory.swap.used_bytes",
    "memory.system.available",
    "memory.system.available_bytes",
    "memory.system.capacity",
    "memory.system.used",
    "memory.system.used_bytes",
    "memoryfree",
    "memoryfree_mb",
    "mountpoints.*.available",
    "mountpoints.*.available_bytes",
    "mountpoints.*.capacity",
    "mountpoints.*.used",
    "mountpoints.*.used_bytes",
    "swapfree",
    "swapfree_mb",
    "system_uptime",
    "uptime",
    "uptime_days",
    "uptime_hours",
    "uptime_seconds",
    "puppet_agent_last_run",
];

/// The rules for keeping parts of profiles.
pub struct Keepsake<'a> {
    /// The variables that are read.
    pub read: &'a Wanted,
    /// True if other variables are kept, too.
    pub keeps_all: bool,
    /// Returns true for a value that is a secret, by the names that lead to it: `facts`, `os`, `family`.
    pub is_secret: &'a dyn Fn(&[&str], &Value) -> bool,
}

/// The places in variables that were left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Facts that change by themselves.
    pub volatile: BTreeSet<String>,
    /// Secrets.
    pub secret: BTreeSet<String>,
}

impl Keepsake<'_> {
    /// Returns the part of a profile to keep, and adds to `left_out` wanted values that it lacks.
    pub fn of(&self, profile: &NodeProfile, left_out: &mut LeftOut) -> NodeProfile {
        let whole = Wanted::whole();
        let wanted = if self.keeps_all { &whole } else { self.read };
        let mut kept = profile.clone();
        for field in &FIELDS {
            let value = match field.wants {
                Wants::Variables | Wants::Trusted => wanted.of_field(field, profile),
                Wants::All | Wants::Scalar | Wants::Catalogs => continue,
            };
            let value = if field.name == FACTS { self.without_volatile(value, left_out) } else { value };
            let mut names: Vec<String> =
                field.prefix.filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
            let value = self.without_secrets(value, &mut names, left_out);
            field.keep(&mut kept, value.unwrap_or_default());
        }
        kept
    }

    /// Leaves out volatile facts, except those that are read by name.
    fn without_volatile(&self, facts: Value, left_out: &mut LeftOut) -> Value {
        let Value::Hash(mut facts) = facts else { return facts };
        for place in VOLATILE {
            let steps: Vec<&str> = place.split('.').collect();
            let is_there = facts.get(steps[0]).is_some();
            if is_there && remove(Arc::make_mut(&mut facts), &steps, Some(self.read.of_facts())) {
                left_out.volatile.insert(place.to_owned());
            }
        }
        Value::Hash(facts)
    }

    /// Returns a value without the secrets in it, or `None` if it is itself a secret.
    fn without_secrets(&self, value: Value, names: &mut Vec<String>, left_out: &mut LeftOut) -> Option<Value> {
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        if (self.is_secret)(&borrowed, &value) {
            left_out.secret.insert(borrowed.join("."));
            return None;
        }
        let mut inner = |name: String, value: &Value| {
            names.push(name);
            let kept = self.without_secrets(value.clone(), names, left_out);
            names.pop();
            kept
        };
        Some(match value {
            Value::Hash(hash) => {
                let kept = hash.iter().filter_map(|(key, value)| Some((key.clone(), inner(key.to_s(), value)?)));
                Value::hash(kept.collect())
            }
            Value::Array(items) => {
                let kept = items.iter().enumerate().map(|(at, item)| inner(at.to_string(), item).unwrap_or_default());
                Value::array(kept.collect())
            }
            other => other,
        })
    }
}

/// Removes the value at a place, unless that place itself is read. Returns true if something was removed.
fn remove(hash: &mut Hash, steps: &[&str], read: Option<&Selection>) -> bool {
    let Some((first, rest)) = steps.split_first() else { return false };
    let names: Vec<Value> = match *first {
        "*" => hash.iter().map(|(key, _)| key.clone()).collect(),
        name => vec![name.into()],
    };
    let mut is_removed = false;
    for name in names {
        // A selection of everything names no places in it.
        let entries = read.filter(|read| **read != Selection::Whole);
        let inner = entries.and_then(|read| read.entry(name.as_str()?));
        if rest.is_empty() {
            is_removed |= inner.is_none() && hash.remove(&name).is_some();
        } else if let Some(Value::Hash(mut below)) = hash.get_value(&name).cloned()
            && remove(Arc::make_mut(&mut below), rest, inner)
        {
            hash.insert(name, Value::Hash(below));
            is_removed = true;
        }
    }
    is_removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::read_profiles;

    const PROFILE: &str = "name: a.b\ntimestamp: '2026-01-02T03:04:05Z'\n\
        facts: {memory: {system: {total: 1 GiB, used: 1 MiB}, swap: {used: 0}}, uptime: 3 days, os: {family: Debian, x: 1}, db: {password: hunter2}}\n\
        variables: {role: web, password: hunter3}\ntrusted: {extensions: {pp_role: web}}\n";

    fn kept(read: &[&str], keeps_all: bool) -> (NodeProfile, LeftOut) {
        let (profiles, errors) = read_profiles(PROFILE.as_bytes(), "n.yaml", "production");
        assert!(errors.is_empty(), "{errors:?}");
        let mut wanted = Wanted::default();
        for name in read {
            let (root, steps) = name.split_once('.').unwrap_or((name, ""));
            let steps: Vec<Value> = steps.split('.').filter(|step| !step.is_empty()).map(Value::from).collect();
            wanted.add(root, &steps);
        }
        let is_secret = |names: &[&str], _: &Value| names.last() == Some(&"password");
        let mut left_out = LeftOut::default();
        let profile = Keepsake { read: &wanted, keeps_all, is_secret: &is_secret }.of(&profiles[0], &mut left_out);
        (profile, left_out)
    }

    fn facts(read: &[&str], keeps_all: bool) -> String {
        Value::Hash(kept(read, keeps_all).0.facts).inspect()
    }

    #[test]
    fn only_what_is_read_is_kept() {
        assert_eq!(facts(&["facts.os.family", "role"], false), r#"{"os"=>{"family"=>"Debian"}}"#);
        let (profile, left_out) = kept(&["role", "trusted.extensions.pp_role"], false);
        assert_eq!(Value::hash(profile.variables).inspect(), r#"{"role"=>"web"}"#);
        assert_eq!(Value::Hash(profile.trusted).inspect(), r#"{"extensions"=>{"pp_role"=>"web"}}"#);
        assert_eq!((profile.time, left_out), (Some(1_767_323_045), LeftOut::default()));
    }

    #[test]
    fn volatile_facts_are_kept_only_where_just_they_are_read() {
        assert_eq!(facts(&["facts.memory"], false), r#"{"memory"=>{"system"=>{"total"=>"1 GiB"}, "swap"=>{}}}"#);
        assert_eq!(facts(&["facts.memory.system.used"], false), r#"{"memory"=>{"system"=>{"used"=>"1 MiB"}}}"#);
        assert_eq!(facts(&["uptime"], false), r#"{"uptime"=>"3 days"}"#);
        let (_, left_out) = kept(&["facts.memory"], false);
        assert_eq!(left_out.volatile.into_iter().collect::<Vec<_>>(), ["memory.swap.used", "memory.system.used"]);
        let all = facts(&["uptime"], true);
        assert!(all.contains("3 days") && all.contains("Debian") && !all.contains("1 MiB"), "{all}");
    }

    #[test]
    fn secrets_are_never_kept() {
        let (profile, left_out) = kept(&["db", "password", "facts.db.password"], false);
        assert!(!format!("{profile:?}").contains("hunter"), "{profile:?}");
        let expected = ["facts.db.password", "password"];
        assert_eq!(left_out.secret.into_iter().collect::<Vec<_>>(), expected);
    }
}
