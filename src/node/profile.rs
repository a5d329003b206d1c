//! Node profiles and the forms that they come in.
//!
//! hierad's own form is a YAML or JSON hash with `name`, `environment`, `facts`, `trusted`, `variables` and `server_facts`; an
//! `.ndjson` file has one a line. The forms of other tools are taken as they are: `facter --json`, `puppet facts`, the
//! server's fact caches, and rows of `PuppetDB`'s inventory.

use std::sync::Arc;

use super::wanted::wants_trusted;
use crate::value::yaml::{Fault, Parsed};
use crate::value::{Hash, Selection, Value, json, ruby, yaml};

/// A declared node fact profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeProfile {
    /// The certname.
    pub name: Arc<str>,
    /// The environment that the node is in.
    pub environment: Arc<str>,
    /// Facts; top-scope variables too.
    pub facts: Arc<Hash>,
    /// `$trusted`, complete.
    pub trusted: Arc<Hash>,
    /// ENC parameters and other top-scope variables; they win over facts of the same name.
    pub variables: Hash,
    /// `$server_facts`, where the profile declares them.
    pub server_facts: Option<Hash>,
}

/// A profile that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {text}")]
pub struct ProfileError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong.
    pub text: String,
}

/// Reads the profiles in one file; `path` decides the form by its extension and names errors. `environment` is for profiles
/// that name none.
pub fn read_profiles(content: &[u8], path: &str, environment: &str) -> (Vec<NodeProfile>, Vec<ProfileError>) {
    let reader = ProfileReader::new(path, environment, &Selection::Whole);
    if is_lines(path) {
        return reader.lines(content, 0);
    }
    reader.file(content)
}

/// Whether the file at `path` has a profile a line.
pub fn is_lines(path: &str) -> bool {
    matches!(extension(path), Some("ndjson" | "jsonl"))
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, extension)| extension)
}

/// Reads the profiles of one file, of which only a part may be wanted: more may come out.
pub struct ProfileReader<'a> {
    reader: Reader<'a>,
    selection: &'a Selection,
}

impl<'a> ProfileReader<'a> {
    /// A reader of the file at `path`, which decides the form by its extension and names errors. `environment` is for profiles that
    /// name none; `selection` is what is wanted of each ([`Wanted::of_document`](super::Wanted::of_document)).
    pub fn new(path: &'a str, environment: &'a str, selection: &'a Selection) -> ProfileReader<'a> {
        let wants_trusted = wants_trusted(selection);
        ProfileReader { reader: Reader { path, environment, default_name: None, wants_trusted }, selection }
    }

    /// Reads some whole lines of a file that has a profile a line, those after the first `before` ones.
    pub fn lines(&self, content: &[u8], before: u32) -> (Vec<NodeProfile>, Vec<ProfileError>) {
        let lines = (before..).zip(content.split(|b| *b == b'\n'));
        parted(lines.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(before, line)| self.line(line, before)))
    }

    fn line(&self, line: &[u8], before: u32) -> Result<NodeProfile, ProfileError> {
        match json::select(line, self.selection) {
            Some(value) => self.reader.profile(&value, before + 1),
            None => self.reader.document(json::parse(line), before),
        }
    }

    /// Reads a whole file of another form.
    pub fn file(&self, content: &[u8]) -> (Vec<NodeProfile>, Vec<ProfileError>) {
        let is_json = extension(self.reader.path) == Some("json");
        let selected = if is_json {
            json::select(content, self.selection)
        } else {
            yaml::select(document(content), self.selection)
        };
        match selected {
            Some(profile @ Value::Hash(_)) => parted([self.reader.profile(&profile, 1)]),
            _ if is_json => match json::parse(content) {
                Parsed { value: Value::Array(rows), fault: None, .. } => {
                    parted(rows.iter().map(|row| self.reader.profile(row, 1)))
                }
                parsed => parted([self.reader.document(parsed, 0)]),
            },
            _ => parted([self.reader.yaml(content)]),
        }
    }
}

fn parted<T, E>(results: impl IntoIterator<Item = Result<T, E>>) -> (Vec<T>, Vec<E>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => found.push(value),
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

/// Reads the facts of the node `name` in one file, in any form that a profile may have; they need not tell the name. Of a file
/// without a known extension JSON is tried first, then YAML, as `puppet lookup --facts` does.
pub fn read_facts(content: &[u8], path: &str, name: &str, environment: &str) -> Result<NodeProfile, ProfileError> {
    let reader = Reader { path, environment, default_name: Some(name), wants_trusted: true };
    match extension(path) {
        Some("json") => reader.document(json::parse(content), 0),
        Some("yaml" | "yml") => reader.yaml(content),
        _ => match json::parse(content) {
            Parsed { fault: Some(_), .. } => reader.yaml(content),
            parsed => reader.document(parsed, 0),
        },
    }
}

/// The document in a YAML file. Puppet's fact cache begins with the name of a Ruby class, which means nothing here.
fn document(content: &[u8]) -> &[u8] {
    const CLASS: &[u8] = b"--- !ruby/object:Puppet::Node";
    let body = content.iter().position(|b| *b == b'\n').filter(|_| content.starts_with(CLASS));
    body.map_or(content, |end| &content[end..])
}

struct Reader<'a> {
    path: &'a str,
    environment: &'a str,
    /// The name of a node that has none.
    default_name: Option<&'a str>,
    /// Whether `$trusted` is made.
    wants_trusted: bool,
}

impl Reader<'_> {
    fn error(&self, line: u32, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.path.to_owned(), line, text: text.into() }
    }

    fn yaml(&self, content: &[u8]) -> Result<NodeProfile, ProfileError> {
        self.document(yaml::parse(document(content)), 0)
    }

    /// One document; its lines count from `before`.
    fn document(&self, parsed: Parsed, before: u32) -> Result<NodeProfile, ProfileError> {
        if let Some(Fault { line, text, .. }) = parsed.fault {
            return Err(self.error(before + line.max(1), text));
        }
        self.profile(&parsed.value, before + 1)
    }

    fn profile(&self, value: &Value, line: u32) -> Result<NodeProfile, ProfileError> {
        let Value::Hash(hash) = value else {
            let text = match self.default_name {
                None => "a node profile must be a hash with 'name' and 'facts'",
                Some(_) => "facts must be a hash of names and values",
            };
            return Err(self.error(line, text));
        };
        let section = |name: &str| match hash.get(name) {
            None | Some(Value::Undef) => Ok(None),
            Some(Value::Hash(section)) => Ok(Some(section)),
            Some(_) => Err(self.error(line, format!("'{name}' of a node profile must be a hash"))),
        };
        let owned = |section: Option<&Arc<Hash>>| section.map(|section| Hash::clone(section)).unwrap_or_default();
        // `puppet facts` and the fact caches keep facts under `values`; plain facts are the hash itself.
        let facts = match (hash.get("facts"), hash.get("values")) {
            (Some(_), _) => inventory_facts(section("facts")?.cloned().unwrap_or_default()),
            (None, Some(Value::Hash(values))) => values.clone(),
            (None, _) if is_profile(hash) => Arc::default(),
            _ => hash.clone(),
        };
        let Some(name) = name(hash, &facts).or_else(|| self.default_name.map(str::to_owned)) else {
            return Err(self.error(line, "a node profile needs a 'name'"));
        };
        let mut variables = owned(section("variables")?);
        variables.extend(owned(section("parameters")?));
        let declared = section("trusted")?;
        let trusted = if self.wants_trusted { trusted(&name, declared).into() } else { Arc::default() };
        let server_facts = hash.get("server_facts").map(|_| section("server_facts")).transpose()?.map(owned);
        let environment = hash.get("environment").and_then(Value::as_str).unwrap_or(self.environment).into();
        Ok(NodeProfile { name: name.into(), environment, facts, trusted, variables, server_facts })
    }
}

/// Whether a hash without facts is a profile all the same.
fn is_profile(hash: &Hash) -> bool {
    ["trusted", "variables", "parameters", "environment"].iter().any(|key| hash.get(key).is_some())
        || (hash.len() == 1 && hash.get("name").is_some())
}

/// `PuppetDB`'s factsets wrap facts as `{"data": [{"name", "value"}]}`.
fn inventory_facts(facts: Arc<Hash>) -> Arc<Hash> {
    let Some(rows) = facts.get("data").and_then(Value::as_array) else { return facts };
    let row = |row: &Value| Some((row.get("name")?.clone(), row.get("value")?.clone()));
    match rows.iter().map(row).collect::<Option<Vec<_>>>() {
        Some(rows) => Arc::new(rows.into_iter().collect()),
        None => facts,
    }
}

fn name(hash: &Hash, facts: &Hash) -> Option<String> {
    let fqdn = || facts.get("networking").and_then(|networking| networking.get("fqdn"));
    let named = hash.get("name").filter(|name| !name.is_undef()).or_else(|| hash.get("certname"));
    named
        .or_else(|| facts.get("clientcert"))
        .or_else(fqdn)
        .or_else(|| facts.get("fqdn"))
        .map(ruby::to_s)
        .filter(|name| !name.is_empty())
}

/// What `$trusted` says of a name on a certificate.
pub(crate) fn trusted_names(certname: &str) -> [(&'static str, Value); 3] {
    let (hostname, domain) = match certname.split_once('.') {
        Some((hostname, domain)) => (hostname, Value::from(domain)),
        None => (certname, Value::Undef),
    };
    [("certname", certname.into()), ("hostname", hostname.into()), ("domain", domain)]
}

/// `$trusted`: what a certificate tells, derived from the certname where the profile does not say it
/// (`context/trusted_information.rb`).
fn trusted(certname: &str, declared: Option<&Arc<Hash>>) -> Hash {
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
    trusted
}
