//! Answers about the history of values.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{EffectiveValues, LARGEST_REPORT, broken, check_still_wanted};
use crate::daemon::http::{AnswerError, Blamed, HistoryPage, HistoryRequest};
use crate::git::CommitId;
use crate::hiera::key::any_matches;
use crate::history::commits::Span;
use crate::history::needle::Needle;
use crate::history::{History, Query};
use crate::pattern::any;
use crate::pipeline::{DiffFilter, Pipeline, RevisionId};
use crate::report::Report;
use crate::report::writers::json;
use crate::workers::Stop;

type Result<T> = std::result::Result<T, AnswerError>;

/// The time after which a page ends, full or not: the next one goes on.
const PAGE_TIME: Duration = Duration::from_secs(10);

/// A question, and what is needed to answer it.
pub(super) struct Question<'q> {
    pipeline: &'q Pipeline,
    history: History<'q>,
    tip: CommitId,
    request: &'q HistoryRequest,
    stop: &'q Arc<dyn Stop>,
}

impl EffectiveValues {
    /// Answers a question about the history of values.
    pub(super) fn with_history<T>(
        &self,
        request: &HistoryRequest,
        stop: &Arc<dyn Stop>,
        answer: impl Fn(Question<'_>) -> Result<T>,
    ) -> Result<T> {
        let requested = self.resolve(&request.revision)?;
        let (tip, branch) = (requested.commit, requested.branch.as_ref());
        if let Some(after) = request.after {
            self.commit(&after.to_string())?;
        }
        self.retry_while_profiles_change(branch, |pipeline| {
            let index = self.workspace.history_index(pipeline.fleet.clone(), branch).map_err(broken)?;
            let history = History::new(pipeline, tip, index).map_err(broken)?;
            let is_of_node = |name: &str| any(&request.nodes, name);
            if !request.nodes.is_empty() && !pipeline.fleet.iter().any(|(_, name)| is_of_node(name)) {
                return Err(AnswerError::Unknown("no node has such a name".to_owned()));
            }
            answer(Question { pipeline, history, tip, request, stop })
        })
    }
}

impl Question<'_> {
    /// Returns the headlines of what cannot be seen at the last commit.
    fn blind_spots(&self) -> Result<Vec<String>> {
        let spots = self.pipeline.unseen_at(RevisionId::Commit(self.tip)).map_err(broken)?;
        Ok(spots.into_iter().map(|spot| spot.headline).collect())
    }

    /// Fails if the last commit has none of the keys: their names may be wrong.
    fn check_keys(&self) -> Result<()> {
        let known = self.pipeline.keys(&[RevisionId::Commit(self.tip)]).map_err(broken)?;
        if known.iter().any(|key| any_matches(&self.request.keys, key)) {
            return Ok(());
        }
        Err(AnswerError::Unknown(format!("no data file at {} has such a key", self.tip)))
    }
}

/// Returns a page of reports on the commits that change the keys.
pub(super) fn page(mut question: Question<'_>) -> Result<HistoryPage> {
    let Question { pipeline, tip, request, stop, .. } = question;
    let HistoryRequest { keys, nodes, text, .. } = request;
    let query = Query {
        filter: DiffFilter { key: &|key| any_matches(keys, key), node: &|name| any(nodes, name), paths: &[] },
        is_of_all: keys.is_empty() && nodes.is_empty(),
        needle: text.clone().map(Needle::Text),
    };
    let end = Instant::now() + PAGE_TIME;
    let (entries, blind_spots) = (Vec::new(), question.blind_spots()?);
    let mut page = HistoryPage { commit: tip, entries, unseen: Vec::new(), blind_spots, next: None };
    let mut size = 0;
    let span = Span::up_to(request.after.unwrap_or(tip));
    for step in span.commits(pipeline.repository()).map_err(broken)?.skip(usize::from(request.after.is_some())) {
        let is_full = page.entries.len() == request.limit || size > LARGEST_REPORT;
        if is_full || page.next.is_some() && Instant::now() > end {
            page.unseen = question.history.masked;
            return Ok(page);
        }
        check_still_wanted(stop)?;
        let step = step.map_err(broken)?;
        if let Some(report) = question.history.report(&step, &query).map_err(broken)? {
            let entry = written(&report)?;
            size += entry.len();
            page.entries.push(entry);
        }
        page.next = Some(step.commit.id);
    }
    if page.entries.is_empty() && request.after.is_none() {
        question.check_keys()?;
    }
    Ok(HistoryPage { unseen: question.history.masked, next: None, ..page })
}

fn written(report: &Report) -> Result<String> {
    let mut text = Vec::new();
    json::write(report, json::Options { pretty: false, full: false }, &mut text).map_err(broken)?;
    String::from_utf8(text).map_err(broken)
}

/// Returns the commits that made the values at the tip what they are.
pub(super) fn blamed(mut question: Question<'_>) -> Result<Blamed> {
    let Question { pipeline, tip, request, stop, .. } = question;
    let HistoryRequest { keys, nodes, .. } = request;
    let filter = DiffFilter { key: &|key| any_matches(keys, key), node: &|name| any(nodes, name), paths: &[] };
    let mut commits = Span::up_to(tip).commits(pipeline.repository()).map_err(broken)?.until(stop.clone());
    let parts = question.history.blame(tip, &mut commits, &filter).map_err(broken)?;
    check_still_wanted(stop)?;
    if parts.is_empty() {
        question.check_keys()?;
    }
    let parts = parts.iter().map(|part| part.to_json(&pipeline.fleet)).collect::<serde_json::Result<_>>();
    Ok(Blamed { commit: tip, parts: parts.map_err(broken)?, blind_spots: question.blind_spots()? })
}
