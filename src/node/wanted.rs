//! Which parts of node profiles are wanted.

use std::sync::Arc;

use super::fields;
use crate::value::{Hash, Selection, Value};

/// Places in the variables of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of `$facts` and, for what is wanted of a variable of another name, of the fact of that name.
    facts: Selection,
}

impl Wanted {
    /// All that there is.
    pub fn whole() -> Wanted {
        Wanted { facts: Selection::Whole }
    }

    /// Wants what is at `segments` of the variable `name`, too.
    pub fn add(&mut self, name: &str, segments: &[Value]) {
        let steps: Vec<&str> = segments.iter().map_while(Value::as_str).collect();
        let name = name.strip_prefix("::").unwrap_or(name);
        self.add_steps(name, &steps);
        // What is not found by this name is looked for in `main`.
        if name.starts_with("::") {
            self.add_steps(name.trim_start_matches("::"), &steps);
        }
    }

    fn add_steps(&mut self, name: &str, steps: &[&str]) {
        if name == "facts" {
            self.facts.add(steps);
        } else {
            let path: Vec<&str> = [name].into_iter().chain(steps.iter().copied()).collect();
            self.facts.add(&path);
        }
    }

    /// What is wanted of variables, or of facts, by their names.
    pub(super) fn of_variables(&self, variables: Arc<Hash>) -> Value {
        self.facts.of(&Value::Hash(variables))
    }

    /// What is wanted of `$trusted`.
    pub(super) fn of_trusted(&self, trusted: &Arc<Hash>) -> Value {
        match self.facts.entry("trusted") {
            Some(wanted) => wanted.of(&Value::Hash(trusted.clone())),
            None => Value::hash(Hash::new()),
        }
    }

    /// Whether all that there is is wanted.
    pub fn is_whole(&self) -> bool {
        self.facts == Selection::Whole
    }

    /// All that is wanted, as text: equal for what is equal.
    pub fn text(&self) -> String {
        self.facts.text()
    }

    /// What of a document that is a profile in any form has to be read.
    pub fn of_document(&self) -> Selection {
        let mut facts = self.facts.clone();
        // What a name is taken from, and `PuppetDB`'s rows of facts.
        for path in [&["clientcert"][..], &["fqdn"], &["networking", "fqdn"], &["data"]] {
            facts.add(path);
        }
        // Facts may be the document itself.
        let mut document = facts.clone();
        for name in ["name", "certname", "environment", "server_facts"] {
            document.add(&[name]);
        }
        // What tells one form from another, and shows a field that none of them has.
        if let Selection::Entries(entries) = &mut document {
            fields::telling().for_each(|name| _ = entries.entry(name.into()).or_default());
        }
        let mut trusted = Selection::default();
        if let Some(wanted) = self.facts.entry("trusted") {
            trusted.extend(wanted);
            trusted.add(&["certname"]); // what is not said of it is made of that
        }
        if let Selection::Entries(entries) = &mut document {
            for name in ["facts", "values", "variables", "parameters"] {
                entries.insert(name.into(), facts.clone());
            }
            entries.insert("trusted".into(), trusted);
        }
        document
    }
}

/// Whether `$trusted` is wanted where this is wanted of documents, see [`Wanted::of_document`].
pub(super) fn wants_trusted(document: &Selection) -> bool {
    document.entry("facts").is_some_and(|facts| facts.entry("trusted").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::ProfileReader;

    #[test]
    fn what_is_wanted_of_trusted_facts_is_what_the_whole_profile_has() {
        let profiles = [
            "name: a.example.com",
            "name: a.example.com\ntrusted: {certname: b.example.org, extensions: {pp_role: web}}",
            "name: a.example.com\ntrusted: {authenticated: local, hostname: c, certname: b.example.org}",
        ];
        let read = |profile: &str, selection: &Selection| {
            let (mut profiles, errors) = ProfileReader::new("p.yaml", "production", selection).file(profile.as_bytes());
            assert!(errors.is_empty(), "{errors:?}");
            profiles.remove(0).1.trusted
        };
        for name in ["certname", "hostname", "domain", "authenticated", "extensions", "external"] {
            let mut wanted = Wanted::default();
            wanted.add("trusted", &[name.into()]);
            for profile in profiles {
                let (part, whole) = (read(profile, &wanted.of_document()), read(profile, &Selection::Whole));
                assert_eq!(part.get(name), whole.get(name), "{name} of {profile}");
                assert!(whole.get(name).is_some(), "{name} of {profile}");
            }
        }
        assert!(read(profiles[1], &Wanted::default().of_document()).is_empty());
    }
}
