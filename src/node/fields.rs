//! The fields of node profiles: one table of how each is read, wanted, kept, joined and shown.
//!
//! A new field needs a member of [`NodeProfile`] and a row here. Everything that handles all fields uses this table:
//! readers of documents, the cache, `hierad nodes fetch` and `show`, and the joining of entries.

use std::collections::BTreeMap;
use std::mem;

use super::document::{Document, Refusal, TRUSTED_EXTERNAL, hash_field, trusted_names};
use super::members::{Member, Tell, overlay_hash};
use super::{Names, NodeProfile};
use crate::pattern::nearest;
use crate::value::{Hash, Value, is_number};

/// The part of a field that is read when some variables are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// All of it.
    All,
    /// All of a value that is not a hash.
    Scalar,
    /// The wanted facts and variables.
    Variables,
    /// The wanted part of `$trusted`.
    Trusted,
    /// All of it, if catalogs are wanted.
    Catalogs,
}

/// A field of node profiles.
pub struct Field {
    /// Its name in documents.
    pub name: &'static str,
    /// Its other names, in documents of other tools.
    aliases: &'static [&'static str],
    /// True if hierad's own form has it.
    is_own: bool,
    /// True if it distinguishes a profile from a hash of plain facts.
    is_decisive: bool,
    /// The part that is read.
    pub(super) wants: Wants,
    /// The prefix of the names of its variables; `None` if it has none to show.
    pub prefix: Option<&'static str>,
    read: fn(&Document<'_>, &mut NodeProfile) -> Result<(), Refusal>,
    kept: fn(&NodeProfile) -> Value,
    keep: fn(&mut NodeProfile, Value) -> Option<()>,
    written: fn(&NodeProfile) -> Value,
    overlay: fn(&mut NodeProfile, &mut NodeProfile, &mut Tell<'_>),
}

/// Returns the row of a field that one member of the profile holds. Rows override what differs.
macro_rules! field {
    ($name:expr, $($member:ident).+) => {
        Field {
            name: $name,
            aliases: &[],
            is_own: true,
            is_decisive: false,
            wants: Wants::All,
            prefix: None,
            read: |document, profile| {
                if let Some(read) = Member::read(document, $name)? {
                    profile.$($member).+ = read;
                }
                Ok(())
            },
            kept: |profile| profile.$($member).+.kept(),
            keep: |profile, value| {
                profile.$($member).+ = Member::of_kept(value)?;
                Some(())
            },
            written: |profile| profile.$($member).+.written(),
            overlay: |below, above, tell| below.$($member).+.overlay(&mut above.$($member).+, tell),
        }
    };
}

/// The facts.
pub const FACTS: &str = "facts";

/// The variables.
pub const VARIABLES: &str = "variables";

/// The field of the classes in a node's catalog. An ENC's `classes` are only those that the classifier assigns.
pub(super) const CATALOG_CLASSES: &str = "catalog_classes";

/// The field of the keys that were looked up for a node's catalog.
pub(super) const CATALOG_KEYS: &str = "catalog_keys";

/// The field of the classes that a node classifier assigns, with the parameters that it gives them.
pub(crate) const CLASSES: &str = "classes";

/// All fields, in the order in which they are read and written.
pub static FIELDS: [Field; 11] = [
    // Name and facts are read before all others, since they show the form of a document.
    Field { aliases: &["certname"], read: |_, _| Ok(()), overlay: |_, _, _| {}, ..field!("name", name) },
    Field { is_own: false, wants: Wants::Scalar, ..field!("timestamp", time) },
    Field { prefix: Some(""), ..field!("environment", environment) },
    Field {
        aliases: &["values"],
        is_decisive: true,
        wants: Wants::Variables,
        prefix: Some(FACTS),
        read: |_, _| Ok(()),
        ..field!(FACTS, facts)
    },
    Field {
        is_decisive: true,
        wants: Wants::Trusted,
        prefix: Some("trusted"),
        read: |document, profile| {
            profile.trusted = document.trusted("trusted", &profile.name)?.into();
            Ok(())
        },
        overlay: overlay_trusted,
        ..field!("trusted", trusted)
    },
    Field {
        aliases: &["parameters"],
        is_decisive: true,
        wants: Wants::Variables,
        prefix: Some(""),
        read: read_variables,
        overlay: overlay_variables,
        ..field!(VARIABLES, variables)
    },
    Field { is_decisive: true, prefix: Some("server_facts"), ..field!("server_facts", server_facts) },
    Field {
        is_decisive: true,
        wants: Wants::Catalogs,
        read: |document, profile| {
            profile.catalog.classes = document.names(CATALOG_CLASSES, "classes", |names| Names::of_classes(names))?;
            Ok(())
        },
        overlay: |below, above, _| below.catalog.overlay(mem::take(&mut above.catalog)),
        ..field!(CATALOG_CLASSES, catalog.classes)
    },
    // One catalog replaces another one as a whole.
    Field { is_decisive: true, wants: Wants::Catalogs, overlay: |_, _, _| {}, ..field!(CATALOG_KEYS, catalog.keys) },
    Field {
        is_own: false,
        wants: Wants::Catalogs,
        read: |document, profile| {
            profile.given = document.classifier_keys(CLASSES);
            Ok(())
        },
        written: |profile| profile.given.as_ref().map_or(Value::Undef, written_classes),
        ..field!(CLASSES, given)
    },
    Field {
        wants: Wants::Scalar,
        // Facts show that the node exists.
        overlay: |below, above, _| {
            below.is_guessed = below.is_guessed && above.facts.is_empty() || above.is_guessed;
        },
        ..field!("guessed", is_guessed)
    },
];

impl Field {
    /// Returns all names of the field.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &'static str> {
        [self.name].into_iter().chain(self.aliases.iter().copied())
    }

    /// Reads the field of a document.
    pub(super) fn read(&self, document: &Document<'_>, profile: &mut NodeProfile) -> Result<(), Refusal> {
        (self.read)(document, profile)
    }

    /// Returns the field's value in the form that caches keep; undef if it has none.
    pub(super) fn kept(&self, profile: &NodeProfile) -> Value {
        (self.kept)(profile)
    }

    /// Puts a kept value into a profile. Returns `None` if it is not a value of the field.
    pub(super) fn keep(&self, profile: &mut NodeProfile, value: Value) -> Option<()> {
        (self.keep)(profile, value)
    }

    /// Returns the field's value in the form of documents; undef if it has none.
    pub fn written(&self, profile: &NodeProfile) -> Value {
        (self.written)(profile)
    }
}

impl NodeProfile {
    /// Lays another profile of the same node over this one. Calls `tell` for everything that then comes from the
    /// other one: with the name of the field, and each top-level name in it, or undef.
    pub(crate) fn overlay(&mut self, mut above: NodeProfile, tell: &mut dyn FnMut(&'static str, &Value)) {
        for field in &FIELDS {
            (field.overlay)(self, &mut above, &mut |key| tell(field.name, key));
        }
    }

    /// Returns the profile as a document in hierad's own form.
    pub fn document(&self) -> Value {
        let fields = FIELDS.iter().map(|field| (Value::from(field.name), field.written(self)));
        Value::hash(fields.filter(|(_, value)| !value.is_undef()).collect())
    }
}

fn read_variables(document: &Document<'_>, profile: &mut NodeProfile) -> Result<(), Refusal> {
    for name in [VARIABLES, "parameters"] {
        if let Some(section) = hash_field(document.hash, name)? {
            profile.variables.extend(Hash::clone(section));
        }
    }
    Ok(())
}

fn overlay_variables(below: &mut NodeProfile, above: &mut NodeProfile, tell: &mut Tell<'_>) {
    below.unresolved.retain(|name, _| above.variables.get(name).is_none());
    below.unresolved.append(&mut above.unresolved);
    below.variables.overlay(&mut above.variables, tell);
}

fn overlay_trusted(below: &mut NodeProfile, above: &mut NodeProfile, tell: &mut Tell<'_>) {
    let NodeProfile { name, trusted, .. } = above;
    overlay_hash(&mut below.trusted, trusted, |key, value| !is_default(name, key, value), tell);
}

/// Returns true for an entry of trusted data that every node gets if its profile does not set it.
fn is_default(name: &str, key: &Value, value: &Value) -> bool {
    match key.as_str() {
        Some("authenticated") => *value == "remote".into(),
        Some("extensions" | "external") => value.as_hash().is_some_and(Hash::is_empty),
        _ => trusted_names(name).iter().any(|(known, derived)| *key == (*known).into() && value == derived),
    }
}

/// Returns the classes of a node classifier with parameters that have these keys.
fn written_classes(given: &Names) -> Value {
    let mut classes: BTreeMap<&str, Hash> = BTreeMap::new();
    for (class, name) in given.iter().filter_map(|key| key.rsplit_once("::")) {
        classes.entry(class).or_default().insert(name, Value::Boolean(true));
    }
    Value::hash(classes.into_iter().map(|(class, given)| (Value::from(class), Value::hash(given))).collect())
}

/// A name that no variable can have. Its value is the error with which Puppet refuses the variables of a node, if it
/// does.
pub const REFUSAL: &str = "\0refusal";

/// Names that no fact, variable or server fact can have, since Puppet sets them first.
const REFUSED_EARLY: [&str; 2] = ["facts", "server_facts"];

/// Names that a node cannot have because the class `main` sets them.
pub const REFUSED_LATE: [&str; 3] = ["module_name", "title", "name"];

/// Returns true if Puppet refuses a node with a variable of this name.
pub fn is_refused(name: &str) -> bool {
    REFUSED_EARLY.contains(&name) || REFUSED_LATE.contains(&name) || is_number(name)
}

/// Returns the names that Puppet refuses, with one number that stands for all numbers.
pub(super) fn refused_names() -> impl Iterator<Item = &'static str> {
    REFUSED_EARLY.into_iter().chain(REFUSED_LATE).chain(["0"])
}

/// Fields of other tools, such as `PuppetDB` and onceover, that affect no answer.
const UNREAD: [&str; 6] = ["expiration", "producer_timestamp", "producer", "hash", "resources", "package_inventory"];

/// Returns the names of the fields in hierad's own form.
fn own_names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter(|field| field.is_own).map(|field| field.name)
}

/// Returns the names of all fields that documents may have.
fn field_names() -> impl Iterator<Item = &'static str> {
    let foreign = FIELDS.iter().flat_map(|field| field.all_names().skip(usize::from(field.is_own)));
    own_names().chain(foreign).chain(UNREAD).chain([TRUSTED_EXTERNAL])
}

/// Facts that show that a hash is the output of `facter`.
const CORE_FACTS: [&str; 6] = ["networking", "os", "clientcert", "fqdn", "kernel", "facterversion"];

/// Returns the names that show the form of a document. They must be read, whatever else is wanted.
pub(super) fn form_names() -> impl Iterator<Item = &'static str> {
    field_names().chain(CORE_FACTS)
}

/// A field that no profile has.
pub(super) struct Unknown {
    /// The number of the entry.
    pub(super) at: usize,
    /// One sentence with the fault, and a field that may be meant.
    pub(super) text: String,
}

/// Returns the first field that does not belong in a profile, or `None` if all fields are known.
pub(super) fn unknown(hash: &Hash) -> Option<Unknown> {
    let is_known = |name: &str| field_names().any(|known| known == name);
    let (at, (key, _)) = hash.iter().enumerate().find(|(_, (key, _))| !key.as_str().is_some_and(is_known))?;
    let name = key.to_s();
    let hint = match similar_field(&name) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("it has {}", own_names().collect::<Vec<_>>().join(", ")),
    };
    Some(Unknown { at, text: format!("unknown field '{name}' of a node profile: {hint}") })
}

/// Returns the field that begins with `name`, such as `vars`, or else the most similar one; `None` if there is none.
fn similar_field(name: &str) -> Option<&'static str> {
    const PREFIX_LENGTH: usize = 3;
    /// The maximum number of wrong letters: with more, it is another word.
    const MAX_WRONG_LETTERS: usize = 2;
    let beginning = name.get(..PREFIX_LENGTH);
    let begun = field_names().find(|field| beginning.is_some_and(|beginning| field.starts_with(beginning)));
    let is_meant = |near: &&str| name.contains(*near) || strsim::osa_distance(name, near) <= MAX_WRONG_LETTERS;
    begun.or_else(|| nearest(name, field_names(), 1).into_iter().find(is_meant))
}

/// Returns true if a hash contains only facts, as `facter --json` prints them.
pub(super) fn is_plain_facts(hash: &Hash) -> bool {
    CORE_FACTS.iter().any(|name| hash.get(name).is_some()) && !is_decided(hash)
}

/// Returns true if a hash has a field that makes it a profile.
pub(super) fn is_decided(hash: &Hash) -> bool {
    FIELDS.iter().filter(|field| field.is_decisive).any(|field| field.all_names().any(|name| hash.get(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Keepsake, LeftOut, Wanted, pack, read_profiles, unpack};
    use crate::puppet::json;

    const WHOLE: &str = "name: a.example.com\ntimestamp: '2026-01-02T03:04:05Z'\nenvironment: test\n\
        facts: {os: {family: Debian}, n: 1.50}\ntrusted: {extensions: {pp_role: web}}\n\
        variables: {role: web, list: [1, {a: b}]}\nserver_facts: {serverversion: '8'}\n\
        catalog_classes: [Ntp, Ntp::Server]\ncatalog_keys: [ntp::x, lookup]\n\
        classes: {ntp: {x: 1, y: null}, 'ntp::server': {z: 2, w: 3}, plain: null}\nguessed: true\n";

    fn read(text: &str, path: &str) -> NodeProfile {
        let (mut profiles, errors) = read_profiles(text.as_bytes(), path, "production");
        assert!(errors.is_empty(), "{errors:?}");
        profiles.remove(0)
    }

    #[test]
    fn every_field_goes_round() {
        let (wanted, read_as) = (Wanted::whole(), |value: &Value| read(&json::compact(value), "p.json"));
        for text in [WHOLE, "name: b\n", "name: c\nserver_facts: {}\ncatalog_classes: []\nclasses: {}\n"] {
            let profile = read(text, "p.yaml");
            assert_eq!(unpack(&pack([&profile, &profile], &wanted).unwrap()).unwrap()[1], profile, "{text}");
            assert_eq!(read_as(&profile.document()), profile, "{text}");
            let keepsake = Keepsake { read: &wanted, keeps_all: true, is_secret: &|_, _| false };
            assert_eq!(read_as(&keepsake.of(&profile, &mut LeftOut::default()).document()), profile, "{text}");
            let mut laid = read(&format!("name: {}", profile.name), "p.yaml");
            let mut told = Vec::new();
            laid.overlay(profile.clone(), &mut |field, _| told.push(field));
            assert_eq!(laid, profile, "{text}");
            assert!(told.contains(&"environment"), "{told:?}");
        }
        let whole = read(WHOLE, "p.yaml");
        for field in &FIELDS {
            assert!(!field.kept(&whole).is_undef() && !field.written(&whole).is_undef(), "{}", field.name);
        }
    }

    #[test]
    fn the_part_that_is_read_tells_as_much_as_the_whole() {
        let mut wanted = Wanted::default().with_catalogs();
        for name in ["environment", "role", "os.family"] {
            wanted.add(name, &[]);
        }
        let selection = wanted.of_document();
        let (profiles, errors) =
            crate::node::ProfileReader::new("p.yaml", "production", &selection).file(WHOLE.as_bytes());
        assert!(errors.is_empty(), "{errors:?}");
        let whole = read(WHOLE, "p.yaml");
        for field in FIELDS.iter().filter(|field| !matches!(field.wants, Wants::Variables | Wants::Trusted)) {
            assert_eq!(field.kept(&profiles[0].1), field.kept(&whole), "{}", field.name);
        }
    }
}
