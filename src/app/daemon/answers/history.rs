//! Answers about the history of values.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{EffectiveValues, LARGEST_REPORT, bounded, broken};
use crate::app::workspace::history::facts::FactsHistory;
use crate::daemon::http::{AnswerError, Blamed, HistoryPage, HistoryPlace, HistoryRequest};
use crate::git::{BranchName, CommitId};
use crate::hiera::key::any_matches;
use crate::history::blame::BlameError;
use crate::history::commits::Span;
use crate::history::needle::Needle;
use crate::history::{History, Query};
use crate::node::NodeSet;
use crate::pattern::{any, unmatched};
use crate::pipeline::{DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::report::Report;
use crate::report::writers::json;
use crate::workers::Stop;

type Result<T> = std::result::Result<T, AnswerError>;

/// The time after which a page ends, full or not: the next one goes on.
const PAGE_TIME: Duration = Duration::from_secs(10);

/// The maximum number of parts of values in an answer.
const MAX_PARTS: usize = 50_000;

/// A question, and what is needed to answer it.
pub(super) struct Question<'q> {
    pipeline: &'q Pipeline,
    history: History<'q>,
    facts: FactsHistory,
    tip: CommitId,
    request: &'q HistoryRequest,
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
        let branch = requested.branch.as_ref();
        let tip = request.after.map_or(requested.commit, |place| place.tip);
        for id in request.after.iter().flat_map(|place| [place.tip, place.last]) {
            if self.commit(&id.to_string())? != id {
                return Err(AnswerError::Unknown(format!("{id} is no commit")));
            }
        }
        self.retry_while_profiles_change(branch, |pipeline| {
            let pipeline = pipeline.with_workers(self.workers(stop));
            self.answer_with(&pipeline, (tip, branch), request, &answer)
        })
    }

    fn answer_with<T>(
        &self,
        pipeline: &Pipeline,
        (tip, branch): (CommitId, Option<&BranchName>),
        request: &HistoryRequest,
        answer: &impl Fn(Question<'_>) -> Result<T>,
    ) -> Result<T> {
        let index = self.workspace.history_index(pipeline.fleet.clone(), branch).map_err(broken)?;
        let history = History::new(pipeline, tip, index).map_err(failed)?;
        let facts = self.workspace.facts_history(branch, &Span::up_to(tip)).with_workers(pipeline.workers.clone());
        let is_of_node = |name: &str| any(&request.nodes, name);
        if !request.nodes.is_empty() && !pipeline.fleet.iter().any(|(_, name)| is_of_node(name)) {
            return Err(AnswerError::Unknown("no node has such a name".to_owned()));
        }
        answer(Question { pipeline, history, facts, tip, request })
    }
}

impl<'q> Question<'q> {
    /// Returns the pipeline that answers, and the nodes that are asked about.
    pub(super) fn scope(&self) -> (&'q Pipeline, NodeSet) {
        let is_wanted = |name: &str| any(&self.request.nodes, name);
        (self.pipeline, self.pipeline.chosen_nodes(&DiffFilter { node: &is_wanted, ..DiffFilter::ALL }))
    }

    /// Returns the headlines of what cannot be seen at the last commit, and in a history that is cut off.
    fn blind_spots(&self, is_cut: bool) -> Result<Vec<String>> {
        let spots = self.pipeline.unseen_at(RevisionId::Commit(self.tip)).map_err(failed)?;
        let cut = is_cut.then(|| "the clone is shallow: it lacks the rest of the history".to_owned());
        Ok(spots.into_iter().map(|spot| spot.headline).chain(cut).collect())
    }

    /// Fails if the last commit has none of the keys: their names may be wrong.
    fn check_keys(&self) -> Result<()> {
        let known = self.pipeline.keys(&[RevisionId::Commit(self.tip)]).map_err(failed)?;
        match unmatched(&self.request.keys, any_matches, || known.iter().map(|key| &**key)) {
            None => Ok(()),
            Some(text) => Err(AnswerError::Unknown(format!("no data file at {} has a key {text}", self.tip))),
        }
    }
}

/// A part of a history, with its reports as `E`.
pub(super) struct Part<E> {
    pub(super) entries: Vec<E>,
    pub(super) unseen: Vec<CommitId>,
    pub(super) blind_spots: Vec<String>,
    pub(super) next: Option<HistoryPlace>,
}

/// Returns a page of reports on the commits that change the keys, in JSON.
pub(super) fn page(question: Question<'_>) -> Result<HistoryPage> {
    let tip = question.tip;
    let Part { entries, unseen, blind_spots, next } = part(question, |report| {
        let text = written(&report)?;
        Ok((text.len(), text))
    })?;
    Ok(HistoryPage { commit: tip, entries, unseen, blind_spots, next })
}

/// Returns some reports on the commits that change the keys.
pub(super) fn reports(question: Question<'_>) -> Result<Part<Report>> {
    part(question, |report| Ok((0, report)))
}

/// Returns some reports on the commits that change the keys, each made an entry with its size in bytes.
fn part<E>(mut question: Question<'_>, made: impl Fn(Report) -> Result<(usize, E)>) -> Result<Part<E>> {
    let Question { pipeline, tip, request, .. } = question;
    let HistoryRequest { keys, nodes, text, .. } = request;
    let query = Query {
        filter: DiffFilter { key: &|key| any_matches(keys, key), node: &|name| any(nodes, name), paths: &[] },
        is_of_all: keys.is_empty() && nodes.is_empty(),
        needle: text.clone().map(Needle::Text),
    };
    let end = Instant::now() + PAGE_TIME;
    let (mut entries, mut size, mut last) = (Vec::new(), 0, None);
    let mut commits =
        Span::up_to(request.after.map_or(tip, |place| place.last)).commits(pipeline.repository()).map_err(broken)?;
    if request.after.is_some() {
        commits.next().transpose().map_err(broken)?;
    }
    let is_last = loop {
        if entries.len() == request.limit || size > LARGEST_REPORT || last.is_some() && Instant::now() > end {
            break false;
        }
        let Some(step) = commits.next().transpose().map_err(broken)? else { break true };
        let mut reports = question.facts.after(step.commit.id, &query).map_err(broken)?;
        reports.extend(question.history.report(&step, &query).map_err(failed)?);
        for report in reports {
            let (length, entry) = made(report)?;
            size += length;
            entries.push(entry);
        }
        last = Some(HistoryPlace { tip, last: step.commit.id });
    };
    if is_last && entries.is_empty() && request.after.is_none() {
        question.check_keys()?;
    }
    let blind_spots = question.blind_spots(commits.is_cut)?;
    let next = last.filter(|_| !is_last);
    Ok(Part { entries, unseen: question.history.masked, blind_spots, next })
}

fn written(report: &Report) -> Result<String> {
    let options = json::Options { pretty: false, full: false };
    let text = bounded(|out| json::write(report, options, out), "ask for fewer keys or nodes")?;
    String::from_utf8(text).map_err(broken)
}

/// Returns the commits that made the values at the tip what they are.
pub(super) fn blamed(mut question: Question<'_>) -> Result<Blamed> {
    let Question { pipeline, tip, request, .. } = question;
    let HistoryRequest { keys, nodes, .. } = request;
    let filter = DiffFilter { key: &|key| any_matches(keys, key), node: &|name| any(nodes, name), paths: &[] };
    let mut commits = Span::up_to(tip).commits(pipeline.repository()).map_err(broken)?;
    let found = question.history.blame(tip, &mut commits, &filter, MAX_PARTS).map_err(|error| match error {
        BlameError::Pipeline(error) => failed(error),
        BlameError::TooMany(_) => AnswerError::Failed(error.to_string()),
        BlameError::History(error) => broken(error),
    })?;
    if found.is_empty() {
        question.check_keys()?;
    }
    let (mut parts, mut size) = (Vec::new(), 0);
    for part in found {
        let text = part.to_json(&pipeline.fleet).map_err(broken)?;
        size += text.len();
        if size > LARGEST_REPORT {
            let text = format!("the answer has more than {LARGEST_REPORT} bytes: ask for fewer keys or nodes");
            return Err(AnswerError::Failed(text));
        }
        parts.push(text);
    }
    Ok(Blamed { commit: tip, parts, blind_spots: question.blind_spots(commits.is_cut)? })
}

fn failed(error: PipelineError) -> AnswerError {
    match error {
        PipelineError::Stopped(reason) => AnswerError::Later(reason.to_string()),
        error => broken(error),
    }
}
