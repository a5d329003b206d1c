//! A data file, with what its entries decide.

use std::sync::Arc;

use super::{Result, blind_levels, counts_before, part_or_near};
use crate::app::daemon::answers::{RequestedRevision, broken};
use crate::daemon::http::AnswerError;
use crate::hiera::Outcome;
use crate::hiera::backend::DataFile;
use crate::hiera::budget::{Cost, STEP_LIMIT, TEXT_LIMIT};
use crate::page::content::{Content, File, FileEntry, Files};
use crate::pattern::did_you_mean;
use crate::pipeline::{EntryUse, FilePlace, FileUse, Pipeline};

/// The number of keys in a part of a file.
const KEYS: usize = 20;

/// The maximum work for them.
const WORK: Cost = Cost { steps: 5 * STEP_LIMIT, text: 4 * TEXT_LIMIT };

/// Returns the part of the data files that follows the path `after`, of those whose paths contain `search`; which of
/// them do nothing is marked.
pub(super) fn list(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    (search, after): (&str, Option<&str>),
) -> Result<Content> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let (files, reached) = (revision.data_files(), revision.reached_files());
    let names = part_or_near(files.iter(), search, after);
    let (asked, unread): (Vec<&Arc<str>>, Vec<&Arc<str>>) =
        files.difference(&reached).partition(|path| revision.functions_may_read(path));
    let unread = unread.into_iter().map(ToString::to_string).collect();
    let is_broken = |path: &Arc<str>, file: &Arc<DataFile>| {
        file.fault().is_some() && names.names.binary_search_by(|name| (**name).cmp(path)).is_ok()
    };
    let broken = revision.files_read(&is_broken).into_keys().map(|path| path.to_string()).collect();
    Ok(Content::Files(Files { names, unread, asked: asked.len(), broken }))
}

/// Returns what the entries of a data file decide.
pub(super) fn content(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    path: &str,
    from: FilePlace<'_>,
) -> Result<Content> {
    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
    let files = revision.data_files();
    if !files.contains(path) {
        let near = did_you_mean(path, files.iter().map(|path| &**path));
        return Err(AnswerError::Unknown(format!("there is no data file '{path}' at {}{near}", requested.commit)));
    }
    let found = pipeline.file_use(&revision, path, (from, KEYS), WORK).map_err(broken)?;
    let FileUse { nodes, fault, options, entries, count, next } = found.unwrap_or_default();
    let levels = revision.levels_of_file(path);
    let blind_spots = blind_levels(pipeline, requested, &nodes, |level| counts_before(level, &levels))?;
    Ok(Content::File(File {
        path: path.to_owned(),
        commit: requested.commit.to_string(),
        nodes: nodes.len(),
        of: pipeline.fleet.len(),
        fault,
        options,
        is_read_by_functions: revision.functions_may_read(path),
        blind_spots,
        entries: entries.into_iter().map(|entry| shown(entry, pipeline)).collect(),
        count,
        is_later: !matches!(from, FilePlace::After(None)),
        next: next.map(|key| key.to_string()),
    }))
}

fn shown(entry: EntryUse, pipeline: &Pipeline) -> FileEntry {
    let EntryUse { key, line, value, decides, repeated, hidden, unknown, idle_parts } = entry;
    let idle = idle_parts.iter().map(|part| (pipeline.disclosure.path(&part.path).to_string(), part.line));
    FileEntry {
        key: key.to_string(),
        line,
        written: value.and_then(|value| super::shown(&Outcome::Found(value), &pipeline.disclosure)),
        decides: decides.len(),
        repeated: repeated.len(),
        hidden: hidden.len(),
        unknown: unknown.len(),
        idle: idle.collect(),
    }
}
