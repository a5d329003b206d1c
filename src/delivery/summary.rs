//! Replaces a report that is too large for a sink by a summary.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Filter, Parcel};
use crate::event::{CommitEvent, EventKind};

/// The lists whose entries are kept while there is room, without their sets of nodes and places; the most important
/// first.
const KEPT_LISTS: [&str; 2] = ["policies", "blind_spots"];

/// The maximum size of a report that a sink accepts, and the places where the whole report can be read.
#[derive(Debug, Clone, Default)]
pub struct SizeLimit {
    /// The maximum size in bytes, or `None` for reports of any size.
    pub bytes: Option<usize>,
    /// The places of whole reports.
    pub whole: Arc<WholeReports>,
}

/// The places of whole reports.
#[derive(Debug, Clone, Default)]
pub struct WholeReports {
    /// The address at which the daemon answers over HTTP.
    pub url: Option<Url>,
    /// The folders of other sinks, with the reports that they get.
    pub folders: Vec<(PathBuf, Filter)>,
}

impl SizeLimit {
    /// Returns the report, or a summary of it if it is too large.
    pub(super) fn within_limit(&self, parcel: &Parcel) -> Arc<[u8]> {
        let limit = self.bytes.filter(|bytes| parcel.report.len() > *bytes);
        let summary = limit.and_then(|limit| summary(&parcel.report, self.whole.place(parcel).as_deref(), limit));
        summary.map_or_else(|| parcel.report.clone(), Into::into)
    }
}

impl WholeReports {
    /// Returns an address or a path at which a whole report can be read, or `None` if there is no such place.
    pub(super) fn place(&self, parcel: &Parcel) -> Option<String> {
        let link = self.url.as_ref().and_then(|url| link(url, parcel));
        let gets_all = |filter: &Filter| filter.passes_all(parcel.job.repository.as_str(), &parcel.event);
        let file = || {
            let (folder, _) = self.folders.iter().find(|(_, filter)| gets_all(filter))?;
            Some(folder.join(parcel.file_name()).display().to_string())
        };
        link.or_else(file)
    }
}

fn link(url: &Url, parcel: &Parcel) -> Option<String> {
    let mut url = url.clone();
    url.path_segments_mut().ok()?.pop_if_empty().extend(["v1", "reports", &parcel.event.after.to_string()]);
    let (repository, branch) = (parcel.job.repository.as_str(), parcel.event.branch.as_str());
    url.query_pairs_mut().append_pair("repository", repository).append_pair("branch", branch);
    let CommitEvent { kind, part, .. } = parcel.event;
    if kind == EventKind::Facts || part.is_whole() {
        url.query_pairs_mut().append_pair("number", &parcel.job.number.to_string());
    }
    Some(url.into())
}

/// Returns the summary of a report: the same document with its lists empty, and the place of the whole report.
/// Entries of kept lists that do not fit are only counted. Returns `None` if it is not a report.
fn summary(report: &[u8], place: Option<&str>, limit: usize) -> Option<Vec<u8>> {
    let mut fields: Fields<'_> = serde_json::from_slice(report).ok()?;
    let mut kept: Vec<(&str, Vec<Value>)> = Vec::new();
    for (name, field) in &mut fields.0 {
        if let Field::Kept(entries) = field {
            kept.push((name, std::mem::take(entries)));
        }
    }
    kept.sort_by_key(|(name, _)| KEPT_LISTS.iter().position(|known| known == name));
    let mut left_out: BTreeMap<&str, usize> = kept.iter().map(|(name, entries)| (*name, entries.len())).collect();
    // Reserves space for what is always written, with the numbers at their largest.
    let mut room = limit.saturating_sub(write_summary(&fields, report.len(), place, &left_out)?.len());
    for (name, entries) in kept {
        let fits = |entry: &Value| {
            let size = serde_json::to_string(entry).map_or(usize::MAX, |text| text.len() + 1);
            room.checked_sub(size).map(|rest| room = rest).is_some()
        };
        let (all, entries) = (entries.len(), entries.into_iter().filter(fits).collect::<Vec<_>>());
        left_out.insert(name, all - entries.len());
        if let Some((_, field)) = fields.0.iter_mut().find(|(known, _)| *known == name) {
            *field = Field::Kept(entries);
        }
    }
    left_out.retain(|_, count| *count > 0);
    write_summary(&fields, report.len(), place, &left_out)
}

/// Writes the fields of a summary.
fn write_summary(
    fields: &Fields<'_>,
    size: usize,
    place: Option<&str>,
    left_out: &BTreeMap<&str, usize>,
) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut out = serde_json::Serializer::new(&mut text);
    let mut map = out.serialize_map(None).ok()?;
    for (name, value) in &fields.0 {
        match value {
            Field::Whole(value) => map.serialize_entry(name, value),
            Field::List => map.serialize_entry(name, &[(); 0]),
            Field::Kept(entries) => map.serialize_entry(name, entries),
        }
        .ok()?;
    }
    map.serialize_entry("truncated", &true).ok()?;
    map.serialize_entry("size", &size).ok()?;
    map.serialize_entry("report", &place).ok()?;
    if !left_out.is_empty() {
        map.serialize_entry("left_out", left_out).ok()?;
    }
    map.end().ok()?;
    text.push(b'\n');
    Some(text)
}

/// The fields of a report in their order. Lists that are not kept are skipped, not read into memory.
struct Fields<'a>(Vec<(&'a str, Field<'a>)>);

enum Field<'a> {
    Whole(&'a RawValue),
    List,
    Kept(Vec<Value>),
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = entries.next_key::<&str>()? {
            let field = match name {
                _ if KEPT_LISTS.contains(&name) => {
                    Field::Kept(without_nodes(entries.next_value()?).map_err(A::Error::custom)?)
                }
                _ => {
                    let value: &RawValue = entries.next_value()?;
                    if value.get().starts_with('[') { Field::List } else { Field::Whole(value) }
                }
            };
            fields.push((name, field));
        }
        Ok(Fields(fields))
    }
}

fn without_nodes(entries: &RawValue) -> serde_json::Result<Vec<Value>> {
    let mut entries: Vec<Value> = serde_json::from_str(entries.get())?;
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        entry.shift_remove("nodes");
        entry.shift_remove("places");
    }
    Ok(entries)
}
