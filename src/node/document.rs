//! Reads the values of the fields of one document.

use std::sync::Arc;

use super::Names;
use crate::puppet::document::Marks;
use crate::value::{Hash, Value};

/// The field that contains only external trusted data, as in Puppet's own files.
pub(super) const TRUSTED_EXTERNAL: &str = "trusted_external";

/// A document that is a profile, and the parts of it that are wanted.
pub(super) struct Document<'d> {
    pub(super) hash: &'d Hash,
    /// True if `$trusted` is wanted.
    pub(super) wants_trusted: bool,
    /// True if what is known of catalogs is wanted.
    pub(super) wants_catalogs: bool,
}

/// The reason why a document is no profile.
pub(super) struct Refusal {
    /// The number of the wrong entry, or `None` if no single one is wrong.
    pub(super) at: Option<usize>,
    pub(super) text: String,
}

impl Refusal {
    pub(super) fn of(text: impl Into<String>) -> Refusal {
        Refusal { at: None, text: text.into() }
    }

    /// Returns the line of the entry in a document with these marks, or `None` if no single entry is wrong.
    pub(super) fn line(&self, marks: &Marks) -> Option<u32> {
        Some(marks.children.get(self.at?)?.line).filter(|line| *line > 0)
    }
}

/// Returns the hash in a field, or `None` if there is no such field.
pub(super) fn hash_field<'h>(hash: &'h Hash, name: &str) -> Result<Option<&'h Arc<Hash>>, Refusal> {
    match hash.get(name) {
        None | Some(Value::Undef) => Ok(None),
        Some(Value::Hash(section)) => Ok(Some(section)),
        Some(_) => Err(Refusal::of(format!("'{name}' of a node profile must be a hash"))),
    }
}

impl Document<'_> {
    /// Returns the names in the list `field`; errors call them names of `what`.
    pub(super) fn names(
        &self,
        field: &str,
        what: &str,
        collect: impl Fn(Vec<&str>) -> Names,
    ) -> Result<Option<Names>, Refusal> {
        let Some(value) = self.hash.get(field).filter(|value| !value.is_undef()) else { return Ok(None) };
        let names: Option<Vec<&str>> = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        let names = names
            .ok_or_else(|| Refusal::of(format!("'{field}' of a node profile must be a list of names of {what}")))?;
        Ok(Some(if self.wants_catalogs { collect(names) } else { Names::default() }))
    }

    /// Returns the lookup keys of the parameters that a classifier's answer assigns to classes. A parameter without a
    /// value is left out, since Puppet looks it up.
    ///
    /// Source: `set_resource_parameters` in `resource/type.rb`.
    pub(super) fn classifier_keys(&self, field: &str) -> Option<Names> {
        let classes = self.hash.get(field)?.as_hash()?.iter().filter(|_| self.wants_catalogs);
        let keys = classes.filter_map(|(class, parameters)| Some((class.as_str()?, parameters.as_hash()?)));
        let keys = keys.flat_map(|(class, parameters)| {
            let given = parameters.iter().filter(|(_, value)| !value.is_undef());
            given.map(move |(name, _)| format!("{class}::{}", name.to_s()))
        });
        Some(Names::of_keys(keys.collect::<Vec<_>>().iter().map(String::as_str)))
    }

    /// Returns `$trusted` of the node with this name, as given in `field`. Missing entries are derived from the
    /// certname (`context/trusted_information.rb`).
    pub(super) fn trusted(&self, field: &str, certname: &str) -> Result<Hash, Refusal> {
        let declared = hash_field(self.hash, field)?;
        let external = hash_field(self.hash, TRUSTED_EXTERNAL)?;
        if !self.wants_trusted {
            return Ok(Hash::new());
        }
        let certname = declared.and_then(|declared| declared.get("certname")?.as_str()).unwrap_or(certname);
        let [certname, hostname, domain] = trusted_names(certname);
        let mut trusted = Hash::from_iter([
            ("authenticated", Value::from("remote")),
            certname,
            ("extensions", Value::hash(Hash::new())),
            hostname,
            domain,
            ("external", Value::hash(Hash::new())),
        ]);
        for (key, value) in declared.iter().flat_map(|declared| declared.iter()) {
            trusted.insert(key.clone(), value.clone());
        }
        if let Some(external) = external {
            trusted.insert("external", Value::Hash(external.clone()));
        }
        Ok(trusted)
    }
}

/// Returns the entries of `$trusted` that follow from the name on a certificate.
pub(crate) fn trusted_names(certname: &str) -> [(&'static str, Value); 3] {
    let (hostname, domain) = match certname.split_once('.') {
        Some((hostname, domain)) => (hostname, Value::from(domain)),
        None => (certname, Value::Undef),
    };
    [("certname", certname.into()), ("hostname", hostname.into()), ("domain", domain)]
}
