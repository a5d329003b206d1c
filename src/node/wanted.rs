//! Selects the wanted values of node profiles, so that readers can skip the rest.

use std::sync::Arc;

use super::NodeProfile;
use super::document::TRUSTED_EXTERNAL;
use super::fields::{
    self, CATALOG_CLASSES, CATALOG_KEYS, FACTS, FIELDS, Field, REFUSAL, Wants, is_refused, refused_names,
};
use crate::value::{Selection, Value};

/// Places in the variables of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Wanted values of `$facts`. A variable of another name may be a fact, so it is also wanted here.
    facts: Selection,
    /// True if catalogs are wanted, too.
    catalogs: bool,
    /// The names of the only nodes that are wanted, as a hint; empty for all.
    names: Vec<Arc<str>>,
}

impl Wanted {
    /// Returns a selection of whole profiles.
    pub fn whole() -> Wanted {
        Wanted { facts: Selection::Whole, catalogs: true, names: Vec::new() }
    }

    /// Adds that only the nodes of these names are wanted. Sources may leave out others.
    #[must_use]
    pub fn on(self, names: Vec<Arc<str>>) -> Wanted {
        Wanted { names, ..self }
    }

    /// Returns true if a document may be about a wanted node: if it has the name, or escapes that may be a name.
    pub(super) fn may_be_about(&self, document: &[u8]) -> bool {
        let has = |name: &Arc<str>| memchr::memmem::find(document, name.as_bytes()).is_some();
        self.names.is_empty() || self.names.iter().any(has) || document.contains(&b'\\')
    }

    /// Adds the catalogs of nodes.
    #[must_use]
    pub fn with_catalogs(self) -> Wanted {
        Wanted { catalogs: true, ..self }
    }

    /// Adds the value at `segments` of the variable `name`.
    pub fn add(&mut self, name: &str, segments: &[Value]) {
        if name == REFUSAL {
            return refused_names().for_each(|name| self.add_steps("facts", &[name]));
        }
        let steps: Vec<&str> = segments.iter().map_while(Value::as_str).collect();
        let name = name.strip_prefix("::").unwrap_or(name);
        self.add_steps(name, &steps);
        // A variable that is not found by this name is looked for in `main`.
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

    /// Returns the selected facts.
    pub(super) fn of_facts(&self) -> &Selection {
        &self.facts
    }

    /// Returns the wanted part of a field of a profile, in the form that caches keep.
    pub(super) fn of_field(&self, field: &Field, profile: &NodeProfile) -> Value {
        let value = field.kept(profile);
        match field.wants {
            Wants::Variables => self.facts.of(&value),
            Wants::Trusted => self.facts.entry("trusted").map_or(Value::Undef, |wanted| wanted.of(&value)),
            Wants::All | Wants::Scalar | Wants::Catalogs => value,
        }
    }

    /// Returns true if whole profiles are wanted.
    pub fn is_whole(&self) -> bool {
        self.facts == Selection::Whole
    }

    /// Returns the names of wanted facts and of other wanted variables; `None` for all. Names that Puppet refuses are
    /// left out, since no catalog has such facts.
    pub fn names(&self) -> Option<impl Iterator<Item = &str>> {
        match &self.facts {
            Selection::Whole => None,
            Selection::Entries(entries) => Some(entries.keys().map(|name| &**name).filter(|name| !is_refused(name))),
        }
    }

    /// Returns everything wanted as text; equal ones have equal texts.
    pub fn text(&self) -> String {
        let catalogs = if self.catalogs { CATALOG_KEYS } else { "" };
        self.facts.text() + catalogs
    }

    /// Returns the values to read from a document that is a profile in any form.
    pub fn of_document(&self) -> Selection {
        let mut facts = self.facts.clone();
        // The fields that a name is taken from, and those of `PuppetDB`'s rows of facts.
        for path in [&["clientcert"][..], &["fqdn"], &["networking", "fqdn"], &["data"]] {
            facts.add(path);
        }
        let mut trusted = Selection::default();
        if let Some(wanted) = self.facts.entry("trusted") {
            trusted.extend(wanted);
            trusted.add(&["certname"]); // missing entries are derived from it
        }
        // Facts may be the document itself.
        let mut document = facts.clone();
        let Selection::Entries(entries) = &mut document else { return document };
        // The fields that show the form. With all known ones here, the first skipped field is one that no form has.
        fields::form_names().for_each(|name| _ = entries.entry(name.into()).or_default());
        if let Some(external) = trusted.entry("external") {
            entries.insert(TRUSTED_EXTERNAL.into(), external.clone());
        }
        for field in &FIELDS {
            let wanted = match field.wants {
                Wants::All => &Selection::Whole,
                Wants::Variables => &facts,
                Wants::Trusted => &trusted,
                Wants::Catalogs if self.catalogs => &Selection::Whole,
                Wants::Catalogs | Wants::Scalar => continue,
            };
            entries.extend(field.all_names().map(|name| (name.into(), wanted.clone())));
        }
        document
    }
}

/// Returns true if a selection of documents includes `$trusted`, see [`Wanted::of_document`].
pub(super) fn wants_trusted(document: &Selection) -> bool {
    document.entry(FACTS).is_some_and(|facts| facts.entry("trusted").is_some())
}

/// Returns true if a selection of documents includes catalogs.
pub(super) fn wants_catalogs(document: &Selection) -> bool {
    document.entry(CATALOG_CLASSES) == Some(&Selection::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::ProfileReader;

    #[test]
    fn documents_about_other_nodes_are_left_out_unread() {
        let lines = "{\"name\": \"a1\", \"facts\": {\"x\": 1}}\n{\"name\": \"b\", \"facts\": {\"peer\": \"a1\"}}\n\
                     {\"name\": \"\\u0061\\u0031\"}\n{\"name\": nonsense}\n{\"certname\": \"c3\"}\n";
        let names = |wanted: &Wanted| {
            let selection = wanted.of_document();
            let reader = ProfileReader::new("p.ndjson", "production", &selection).on(wanted);
            let (profiles, errors) = reader.lines(lines.as_bytes(), 0);
            (profiles.iter().map(|(line, profile)| (*line, profile.name.to_string())).collect::<Vec<_>>(), errors.len())
        };
        let found =
            |lines: &[(u32, &str)]| lines.iter().map(|(line, name)| (*line, (*name).to_owned())).collect::<Vec<_>>();
        assert_eq!(names(&Wanted::whole()), (found(&[(1, "a1"), (2, "b"), (3, "a1"), (5, "c3")]), 1));
        assert_eq!(names(&Wanted::whole().on(vec!["a1".into()])), (found(&[(1, "a1"), (2, "b"), (3, "a1")]), 0));
        assert_eq!(names(&Wanted::whole().on(vec!["c3".into()])), (found(&[(3, "a1"), (5, "c3")]), 0));
    }

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
