//! Reads node profiles in all known forms.
//!
//! hierad's own form is a YAML or JSON hash of the fields in `fields`; an `.ndjson` file has one per line. The forms
//! of other tools are accepted as they are: `facter --json`, `puppet facts`, the server's fact caches, and rows of
//! `PuppetDB`'s inventory and facts. Any other document is refused.

use std::sync::Arc;

use super::document::{Document, Refusal, hash_field};
use super::fields::{self, FIELDS, Unknown};
use super::rows::{Rows, begins_with_fact_row, is_fact_row};
use super::text;
use super::wanted::{Wanted, wants_catalogs, wants_trusted};
use super::{NodeProfile, ProfileError};
use crate::puppet::document::{Fault, FaultKind, Parsed};
use crate::puppet::{json, yaml};
use crate::value::{Hash, Selection, Value};

/// The form of a file of profiles, given by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One JSON document per line.
    Lines,
    /// A JSON document: a profile, or an array of them.
    Json,
    /// Profiles in YAML, one per document.
    Yaml,
}

impl Form {
    /// Returns the form of the file at `path`.
    pub fn of(path: &str) -> Form {
        match extension(path).as_deref() {
            Some("ndjson" | "jsonl") => Form::Lines,
            Some("json") => Form::Json,
            _ => Form::Yaml,
        }
    }
}

fn extension(path: &str) -> Option<String> {
    path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase())
}

/// Reads the profiles in one file. The extension of `path` decides its form, and errors name the path. Profiles that
/// name no environment get `environment`.
pub fn read_profiles(content: &[u8], path: &str, environment: &str) -> (Vec<NodeProfile>, Vec<ProfileError>) {
    let reader = ProfileReader::new(path, environment, &Selection::Whole);
    let is_by_line = Form::of(path) == Form::Lines && !begins_with_fact_row(content);
    let (profiles, errors) = if is_by_line { reader.lines(content, 0) } else { reader.file(content) };
    (profiles.into_iter().map(|(_, profile)| profile).collect(), errors)
}

/// Profiles with the lines that they begin on, and the errors of those that could not be read.
pub type ReadProfiles = (Vec<(u32, NodeProfile)>, Vec<ProfileError>);

/// Reads at least the wanted parts of the profiles of one file.
pub struct ProfileReader<'a> {
    reader: Reader<'a>,
    selection: &'a Selection,
    /// A hint that only some nodes are wanted.
    only: Option<&'a Wanted>,
}

impl<'a> ProfileReader<'a> {
    /// Returns a reader of the file at `path`, whose extension decides its form; errors name the path. Profiles that
    /// name no environment get `environment`. `selection` says which values of each are wanted
    /// ([`Wanted::of_document`](super::Wanted::of_document)).
    pub fn new(path: &'a str, environment: &'a str, selection: &'a Selection) -> ProfileReader<'a> {
        let (wants_trusted, wants_catalogs) = (wants_trusted(selection), wants_catalogs(selection));
        let reader = Reader { path, environment, default_name: None, wants_trusted, wants_catalogs };
        ProfileReader { reader, selection, only: None }
    }

    /// Leaves out documents that are not about the wanted nodes.
    #[must_use]
    pub fn on(self, wanted: &'a Wanted) -> ProfileReader<'a> {
        ProfileReader { only: Some(wanted), ..self }
    }

    fn may_be_wanted(&self, document: &[u8]) -> bool {
        self.only.is_none_or(|wanted| wanted.may_be_about(document))
    }

    /// Reads some whole lines of a file with one profile per line. The file has `lines_before` lines before them.
    pub fn lines(&self, content: &[u8], lines_before: u32) -> ReadProfiles {
        let content = &*match text::utf8(content) {
            Ok(content) => content,
            Err(text) => return (Vec::new(), vec![self.reader.error(lines_before.saturating_add(1), text)]),
        };
        let wanted = lines(content, lines_before).filter(|(_, text)| self.may_be_wanted(text));
        split_results(wanted.map(|(line, text)| Ok((line, self.line(text, line - 1)?))))
    }

    fn line(&self, text: &[u8], lines_before: u32) -> Result<NodeProfile, ProfileError> {
        // A refused document is parsed once more, to find the line of the fault.
        let selected = json::select(text, self.selection).and_then(|value| self.reader.profile(&value).ok());
        selected.map_or_else(|| self.reader.document(&json::parse(text), lines_before), Ok)
    }

    /// Reads a whole file, which may have rows of `PuppetDB`'s facts instead of profiles.
    pub fn file(&self, content: &[u8]) -> ReadProfiles {
        if !self.may_be_wanted(content) {
            return (Vec::new(), Vec::new());
        }
        let content = &*match text::utf8(content) {
            Ok(content) => content,
            Err(text) => return (Vec::new(), vec![self.reader.error(1, text)]),
        };
        match Form::of(self.reader.path) {
            Form::Lines => self.rows(lines(content, 0).map(|(line, text)| self.row(text, line))),
            _ if text::has_one_document_per_line(content) => self.lines(content, 0),
            Form::Json => self.json(content),
            Form::Yaml => split_results(text::documents(content).into_iter().map(|(lines_before, content)| {
                self.reader.yaml(content, lines_before).map(|profile| (lines_before.saturating_add(1), profile))
            })),
        }
    }

    fn json(&self, content: &[u8]) -> ReadProfiles {
        let selected = json::select(content, self.selection);
        if let Some(profile) = selected.and_then(|value| self.reader.profile(&value).ok()) {
            return (vec![(1, profile)], Vec::new());
        }
        let parsed = json::parse(content);
        let (Value::Array(items), None) = (&parsed.value, &parsed.fault) else {
            let hint = |error: ProfileError| match &parsed.fault {
                Some(_) => ProfileError { text: format!("{} ({SEVERAL_DOCUMENTS})", error.text), ..error },
                None => error,
            };
            return split_results([self.reader.document(&parsed, 0).map(|profile| (1, profile)).map_err(hint)]);
        };
        let items = items.iter().zip(parsed.marks.children.iter());
        if items.clone().next().is_some_and(|(first, _)| is_fact_row(first)) {
            return self.rows(items.map(|(row, marks)| Ok((marks.line, row.clone()))));
        }
        split_results(items.map(|(item, marks)| {
            let refused = |refusal: Refusal| self.reader.error(refusal.line(marks).unwrap_or(marks.line), refusal.text);
            self.reader.profile(item).map(|profile| (marks.line, profile)).map_err(refused)
        }))
    }

    fn row(&self, text: &[u8], line: u32) -> Result<(u32, Value), ProfileError> {
        if let Some(value) = json::select(text, &Selection::Whole) {
            return Ok((line, value));
        }
        let Parsed { value, fault, .. } = json::parse(text);
        fault.map_or(Ok((line, value)), |fault| Err(self.reader.error(line, fault.text)))
    }

    /// Joins rows of facts into profiles.
    fn rows(&self, values: impl Iterator<Item = Result<(u32, Value), ProfileError>>) -> ReadProfiles {
        let (mut rows, nothing) = (Rows::default(), Selection::default());
        let wanted = self.selection.entry("facts").unwrap_or(&nothing);
        let mut add =
            |(line, row): (u32, Value)| rows.add(line, &row, wanted).map_err(|text| self.reader.error(line, text));
        let (_, mut errors) = split_results(values.map(|row| add(row?)));
        let refused = |line: u32| move |refusal: Refusal| self.reader.error(line, refusal.text);
        let joined = rows.joined().map(|(line, node)| (line, self.reader.profile(&node).map_err(refused(line))));
        let (profiles, others) = split_results(joined.map(|(line, profile)| Ok((line, profile?))));
        errors.extend(others);
        (profiles, errors)
    }
}

/// The advice for a file that is not a JSON document.
const SEVERAL_DOCUMENTS: &str =
    "the file must contain one JSON document: put several into an array, or one per line into an .ndjson file";

/// Returns the lines of `content` that are not empty, with their numbers, which begin after `lines_before`.
fn lines(content: &[u8], lines_before: u32) -> impl Iterator<Item = (u32, &[u8])> {
    let numbers = lines_before.saturating_add(1)..;
    numbers.zip(content.split(|b| *b == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn split_results<T, E>(results: impl IntoIterator<Item = Result<T, E>>) -> (Vec<T>, Vec<E>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => found.push(value),
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

/// Reads the facts of the node `name` in one file, in any form that a profile may have, with or without the name. A
/// file without a known extension is tried as JSON first, then as YAML, as `puppet lookup --facts` does.
pub fn read_facts(content: &[u8], path: &str, name: &str, environment: &str) -> Result<NodeProfile, ProfileError> {
    let reader = Reader { path, environment, default_name: Some(name), wants_trusted: true, wants_catalogs: false };
    let content = &*text::utf8(content).map_err(|text| reader.error(1, text))?;
    match extension(path).as_deref() {
        Some("json") => reader.document(&json::parse(content), 0),
        Some("yaml" | "yml") => reader.yaml(content, 0),
        _ => match json::parse(content) {
            Parsed { fault: Some(_), .. } => reader.yaml(content, 0),
            parsed => reader.document(&parsed, 0),
        },
    }
}

/// Returns the document in a YAML file. Puppet's fact cache begins with the name of a Ruby class, which is skipped.
fn without_class_line(content: &[u8]) -> &[u8] {
    const CLASS: &[u8] = b"--- !ruby/object:Puppet::Node";
    let body = content.iter().position(|b| *b == b'\n').filter(|_| content.starts_with(CLASS));
    body.map_or(content, |end| &content[end..])
}

struct Reader<'a> {
    path: &'a str,
    environment: &'a str,
    /// The name of a node whose document has none.
    default_name: Option<&'a str>,
    /// True if `$trusted` is wanted.
    wants_trusted: bool,
    /// True if catalogs are wanted.
    wants_catalogs: bool,
}

impl Reader<'_> {
    fn error(&self, line: u32, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.path.to_owned(), line: Some(line), text: text.into() }
    }

    /// Reads one document in YAML, which has `lines_before` lines of the file before it.
    fn yaml(&self, content: &[u8], lines_before: u32) -> Result<NodeProfile, ProfileError> {
        self.document(&yaml::parse(without_class_line(content)), lines_before)
    }

    /// Reads one document, which has `lines_before` lines of the file before it.
    fn document(&self, parsed: &Parsed, lines_before: u32) -> Result<NodeProfile, ProfileError> {
        if let Some(Fault { line, text, kind }) = &parsed.fault {
            let remedy = if *kind == FaultKind::Date { ": put dates in quotes" } else { "" };
            return Err(self.error(lines_before.saturating_add((*line).max(1)), format!("{text}{remedy}")));
        }
        self.profile(&parsed.value).map_err(|refusal| {
            let line = refusal.line(&parsed.marks).unwrap_or(1);
            self.error(lines_before.saturating_add(line), refusal.text)
        })
    }

    fn profile(&self, value: &Value) -> Result<NodeProfile, Refusal> {
        let Value::Hash(hash) = value else {
            let text = match self.default_name {
                None => "a node profile must be a hash with 'name' and 'facts'",
                Some(_) => "facts must be a hash of names and values",
            };
            return Err(Refusal::of(text));
        };
        let facts = self.facts(value, hash)?;
        let Some(name) = name(hash, &facts).or_else(|| self.default_name.map(str::to_owned)) else {
            return Err(Refusal::of("a node profile needs a 'name'"));
        };
        let environment = self.environment.into();
        let mut profile = NodeProfile { name: name.into(), environment, facts, ..NodeProfile::default() };
        let document = Document { hash, wants_trusted: self.wants_trusted, wants_catalogs: self.wants_catalogs };
        FIELDS.iter().try_for_each(|field| field.read(&document, &mut profile))?;
        Ok(profile)
    }

    /// Returns the facts of the document `value`, which is the hash `hash`.
    fn facts(&self, value: &Value, hash: &Arc<Hash>) -> Result<Arc<Hash>, Refusal> {
        let unknown = fields::unknown(hash);
        let is_plain = fields::is_plain_facts(hash)
            || (self.default_name.is_some() && unknown.is_some() && !fields::is_decided(hash));
        if is_plain {
            return Ok(hash.clone());
        }
        if is_fact_row(value) {
            return Err(Refusal::of(
                "rows of PuppetDB's facts must be alone in their file: a JSON array, or one per line",
            ));
        }
        if let Some(Unknown { at, text }) = unknown {
            return Err(Refusal { at: Some(at), text });
        }
        // `puppet facts` and the fact caches keep facts under `values`.
        match hash_field(hash, "facts")? {
            Some(facts) => Ok(inventory_facts(facts.clone())),
            None => Ok(hash_field(hash, "values")?.cloned().unwrap_or_default()),
        }
    }
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
    let declared = hash.get("name").filter(|name| !name.is_undef()).or_else(|| hash.get("certname"));
    declared
        .or_else(|| facts.get("clientcert"))
        .or_else(fqdn)
        .or_else(|| facts.get("fqdn"))
        .map(Value::to_s)
        .filter(|name| !name.is_empty())
}
