//! The contents of the page's views.

mod changes;
pub(super) mod check;
mod file;
mod former;
mod key;
mod ladder;
mod node;
mod reports;
mod search;
mod timeline;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{EffectiveValues, RequestedRevision, broken, check_still_wanted};
use crate::daemon::http::{AnswerError, PageRequest, View};
use crate::diagnostic::Place;
use crate::disclosure::Disclosure;
use crate::git::{BranchPatterns, CommitInfo};
use crate::hiera::explain::provenance::Contribution;
use crate::hiera::{LookupError, Outcome};
use crate::history::commits::Span;
use crate::node::NodeSet;
use crate::page::content::{BlindSpot, Commits, Content, Entry, Live, Names, Origin, Shown, Start};
use crate::pattern::nearest;
use crate::pipeline::{FilePlace, Pipeline};
use crate::puppet::json::{compact, pretty};
use crate::report::{self, UnseenLevel};
use crate::value::{Value, ValuePath};
use crate::workers::Stop;

type Result<T> = std::result::Result<T, AnswerError>;

/// The number of names, of values and of commits on a page of a list.
const NAMES: usize = 200;
const VALUES: usize = 100;
const COMMITS: usize = 50;

/// The maximum number of names that are similar to one that does not exist.
const MAX_NEAR: usize = 3;

/// The number of commits in the overview.
const LAST_COMMITS: usize = 10;

/// The maximum number of places of a value.
const MAX_ORIGINS: usize = 5;

impl EffectiveValues {
    /// Returns what a view shows.
    pub(super) fn view(&self, request: &PageRequest, stop: &Arc<dyn Stop>) -> Result<Content> {
        let requested = self.resolve(&request.revision)?;
        match &request.view {
            View::Commits { after } => return self.commits(&requested, after.as_deref()),
            View::Diff { from, to, part } => return self.report((from.as_deref(), to), part, stop),
            View::Compare(nodes) => return self.compared(&requested, nodes, stop),
            View::WhatIf { node, set, fields } => return self.what_if(&requested, node, (set, fields), stop),
            View::Changes(request) => return self.changes(request, stop),
            _ => {}
        }
        self.retry_while_profiles_change(requested.branch.as_ref(), |pipeline| {
            // The pipeline of this request is dropped with all that it reads: the next one has what is read before.
            pipeline.cached_revision(requested.point()).map_err(broken)?;
            let pipeline = &pipeline.with_workers(self.workers(stop));
            let known =
                |found: Option<Content>, key: &str| found.map_or_else(|| self.no_key(pipeline, &requested, key), Ok);
            let found = match &request.view {
                View::Start => self.start(pipeline, &requested, &request.revision)?,
                View::Nodes { search, after } => {
                    let names = pipeline.fleet.iter().map(|(_, name)| name);
                    Content::Nodes(part_or_near(names, search, after.as_deref()))
                }
                View::Keys { search, after } => {
                    let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
                    Content::Keys(part_or_near(revision.keys.iter(), search, after.as_deref()))
                }
                View::Node { name, search, after } => {
                    node::content(pipeline, &requested, name, (search, after.as_deref()))?
                }
                View::Ladder { node, key } => known(ladder::content(pipeline, &requested, (node, key))?, key)?,
                View::Files { search, after } => file::list(pipeline, &requested, (search, after.as_deref()))?,
                View::File { path, after, line } => {
                    let from = line.map_or(FilePlace::After(after.as_deref()), FilePlace::Line);
                    file::content(pipeline, &requested, path, from)?
                }
                View::Check => self.check(pipeline, &requested)?,
                View::Key { key } => known(key::content(pipeline, &requested, key)?, key)?,
                View::Holders { key, position, after } => {
                    known(key::holders(pipeline, &requested, key, (*position, after.as_deref()))?, key)?
                }
                View::Search { text } => self.found(pipeline, &requested, text)?,
                _ => return Err(broken("this view is made elsewhere")),
            };
            check_still_wanted(stop)?;
            Ok(found)
        })
    }

    fn start(&self, pipeline: &Pipeline, requested: &RequestedRevision, name: &str) -> Result<Content> {
        let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
        let spots = pipeline.unseen_at(requested.point()).map_err(broken)?;
        let all = BranchPatterns::new::<&str>(&[]).map_err(broken)?;
        let branches = self.workspace.repository.branches(&all).map_err(broken)?;
        let checked_out = self.workspace.repository.branch().map_err(broken)?.filter(|_| name == "HEAD");
        Ok(Content::Start(Box::new(Start {
            commit: requested.commit.to_string(),
            revision: checked_out.map_or_else(|| name.to_owned(), |branch| branch.to_string()),
            nodes: pipeline.fleet.len(),
            keys: revision.keys.len(),
            branches: branches.into_keys().map(|branch| branch.to_string()).collect(),
            blind_spots: spots.into_iter().map(blind_spot).collect(),
            commits: self.some_commits(requested, None, LAST_COMMITS)?.0,
            live: Live::default(),
        })))
    }

    fn commits(&self, requested: &RequestedRevision, after: Option<&str>) -> Result<Content> {
        let (commits, next) = self.some_commits(requested, after, COMMITS)?;
        Ok(Content::Commits(Commits { commits, next }))
    }

    /// Returns some commits along first parents, and the one that follows.
    fn some_commits(
        &self,
        requested: &RequestedRevision,
        from: Option<&str>,
        most: usize,
    ) -> Result<(Vec<Entry>, Option<String>)> {
        let first = from.map_or(Ok(requested.commit), |id| self.commit(id))?;
        let mut commits = Vec::new();
        for step in Span::up_to(first).commits(&self.workspace.repository).map_err(broken)? {
            let commit = step.map_err(broken)?.commit;
            if commits.len() == most {
                return Ok((commits, Some(commit.id.to_string())));
            }
            commits.push(entry(commit));
        }
        Ok((commits, None))
    }
}

/// Returns the blind spots of some nodes at levels that are wanted, with the names of these.
fn blind_levels(
    pipeline: &Pipeline,
    requested: &RequestedRevision,
    nodes: &NodeSet,
    is_wanted: impl Fn(&UnseenLevel) -> bool,
) -> Result<Vec<BlindSpot>> {
    let mut spots = pipeline.unseen_at(requested.point()).map_err(broken)?;
    for spot in &mut spots {
        spot.levels.retain(&is_wanted);
    }
    spots.retain(|spot| !spot.levels.is_empty() && !spot.nodes.intersection(nodes).is_empty());
    Ok(spots.into_iter().map(blind_spot).collect())
}

/// Returns true if the level counts before one of `others`.
fn counts_before(level: &UnseenLevel, others: &BTreeSet<Arc<str>>) -> bool {
    !level.before.is_disjoint(others)
}

fn blind_spot(spot: report::BlindSpot) -> BlindSpot {
    let remedy = spot.fix.map(|remedy| (remedy.words, remedy.yaml));
    let levels = spot.levels.into_iter().map(|level| level.name).collect();
    BlindSpot { message: spot.message, remedy, levels }
}

fn entry(CommitInfo { id, summary, author, time, .. }: CommitInfo) -> Entry {
    Entry { id: id.to_string(), summary, author, time: time.to_string() }
}

/// Returns the part of a sorted list of names that follows `after`, of those that contain `search`. If there are none,
/// it has similar names.
fn part_or_near<'n>(names: impl Iterator<Item = &'n Arc<str>> + Clone, search: &str, after: Option<&str>) -> Names {
    let found = part(names.clone(), search, after);
    let near = if found.found == 0 && !search.is_empty() { similar(names, search) } else { Vec::new() };
    Names { near, ..found }
}

/// Returns the names that are most similar to one that does not exist.
fn similar<'n>(names: impl Iterator<Item = &'n Arc<str>>, search: &str) -> Vec<String> {
    nearest(search, names.map(|name| &**name), MAX_NEAR).into_iter().map(str::to_owned).collect()
}

/// Returns the part of a sorted list of names that follows `after`, of those that contain `search`.
fn part<'n>(names: impl Iterator<Item = &'n Arc<str>>, search: &str, after: Option<&str>) -> Names {
    let mut total = 0;
    let wanted = search.to_lowercase();
    let all = names.inspect(|_| total += 1).map(|name| &**name);
    let found: Vec<&str> = all.filter(|name| name.to_lowercase().contains(&wanted)).collect();
    let rest = found.iter().copied().filter(|name| after.is_none_or(|after| *name > after));
    let mut names: Vec<String> = rest.take(NAMES + 1).map(str::to_owned).collect();
    let is_last = names.len() <= NAMES;
    names.truncate(NAMES);
    let next = names.last().filter(|_| !is_last).cloned();
    Names { search: search.to_owned(), found: found.len(), total, names, next, near: Vec::new() }
}

/// Returns an outcome as it is shown, or `None` if there is no value.
fn shown(outcome: &Outcome, disclosure: &Disclosure) -> Option<Shown> {
    match outcome {
        Outcome::Found(value) => {
            let value = disclosure.value(value);
            Some(Shown::Value { line: compact(&value), text: written(&value) })
        }
        Outcome::Failed(error) if error.kind.is_unknown() => Some(Shown::Unknown(words(error, disclosure))),
        Outcome::Failed(error) => Some(Shown::Error(words(error, disclosure))),
        Outcome::NotFound => None,
    }
}

/// Returns a value in JSON over several lines.
fn written(value: &Value) -> String {
    let mut text = String::new();
    pretty(value, &mut text);
    text.truncate(text.trim_end().len());
    text
}

fn words(error: &LookupError, disclosure: &Disclosure) -> String {
    disclosure.error(error).to_string()
}

/// Returns the places that contribute to a value.
fn origins(contributions: &[Contribution]) -> Vec<Origin> {
    let whole = ValuePath::default();
    let of = |contribution: &Contribution| {
        let origin = contribution.origin_of(&whole)?;
        let Place { path, line } = origin.place;
        Some(Origin { path: path.to_string(), line, level: origin.level.to_string() })
    };
    contributions.iter().filter_map(of).take(MAX_ORIGINS).collect()
}
