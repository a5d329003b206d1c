//! Answers HTTP requests for effective values, with the settings of this run.

mod history;
mod pages;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::app::lookup::{failure, to_json};
use crate::app::pipelines::ATTEMPTS;
use crate::app::{BranchPipelines, Failure, Workspace};
use crate::daemon::http::{
    AnswerError, Answers, Blamed, DiffRequest, DiffResponse, HistoryPage, HistoryRequest, LookupNode, LookupRequest,
    LookupResponse, NodeSnapshot, PageRequest,
};
use crate::fleet::{Fleet, Revision};
use crate::forge::Page;
use crate::git::{BranchName, CommitId, RevisionError};
use crate::hiera::Outcome;
use crate::hiera::budget::{Cost, STEP_LIMIT, TEXT_LIMIT};
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Lookup, NodeSources, WithVariables};
use crate::hiera::merge::Strategy;
use crate::hiera::scope::{NodeScope, Scope};
use crate::inventory::files::EnvironmentOfNodes;
use crate::node::{NodeId, NodeProfile, NodeSet, read_profiles};
use crate::page::content::Content;
use crate::pattern::did_you_mean;
use crate::pipeline::judge::Sides;
use crate::pipeline::{DiffFilter, Pipeline, PipelineError, RevisionId};
use crate::report::{self, Report, Style};
use crate::snapshot::{Format, Snapshots};
use crate::workers::{Counted, Stop, Workers};

use pages::check::Faults;

/// The file name of a profile in a request. It sets the format.
const PROFILE_FILE_NAME: &str = "profile.json";

/// Returns the answers to questions about a repository. `page` is for links to its files.
pub(in crate::app) fn answers(workspace: &Workspace, page: Option<Page>) -> Arc<dyn Answers> {
    // These have separate pipelines, so they do not evict the revision that the next commit is compared with.
    let pipelines = Mutex::new(BranchPipelines::new(workspace.clone()));
    Arc::new(EffectiveValues { workspace: workspace.clone(), pipelines, page, checked: Mutex::default() })
}

/// The maximum total cost of the keys of one lookup request.
const MAX_REQUEST_COST: Cost = Cost { steps: 4 * STEP_LIMIT, text: 4 * TEXT_LIMIT };

/// Answers questions about effective values.
struct EffectiveValues {
    workspace: Workspace,
    pipelines: Mutex<BranchPipelines>,
    /// The repository on its forge.
    page: Option<Page>,
    /// The faults of the revision that was checked last.
    checked: Mutex<Option<(Weak<Revision>, Faults)>>,
}

/// The commit of a request, and the branch that the request named it by, if any.
struct RequestedRevision {
    commit: CommitId,
    branch: Option<BranchName>,
}

impl RequestedRevision {
    fn point(&self) -> RevisionId {
        RevisionId::Commit(self.commit)
    }
}

impl Answers for EffectiveValues {
    fn nodes(&self) -> std::result::Result<Vec<Arc<str>>, AnswerError> {
        let pipeline = self.pipeline(None)?;
        Ok(pipeline.fleet.iter().map(|(_, name)| name.clone()).collect())
    }

    fn snapshot(
        &self,
        node: &str,
        revision: &str,
        keys: &[String],
        stop: &Arc<dyn Stop>,
    ) -> std::result::Result<NodeSnapshot, AnswerError> {
        let requested = self.resolve(revision)?;
        self.retry_while_profiles_change(requested.branch.as_ref(), |pipeline| {
            self.node_snapshot(pipeline, &requested, (node, keys), stop)
        })
    }

    fn diff(&self, request: &DiffRequest, stop: &Arc<dyn Stop>) -> std::result::Result<DiffResponse, AnswerError> {
        let after = self.resolve(&request.to)?;
        let sides = self.sides(request.from.as_deref(), &after)?;
        self.retry_while_profiles_change(after.branch.as_ref(), |pipeline| {
            let compared = pipeline.diff_with(&sides, &DiffFilter::ALL, &self.workers(stop)).map_err(broken)?;
            check_still_wanted(stop)?;
            let commit = after.commit.to_string();
            let files = self.page.as_ref().and_then(|page| page.files(&commit));
            Ok(DiffResponse { text: written(&compared.report, request.format, files)?, commit })
        })
    }

    fn lookup(
        &self,
        request: &LookupRequest,
        stop: &Arc<dyn Stop>,
    ) -> std::result::Result<LookupResponse, AnswerError> {
        let requested = self.resolve(&request.revision)?;
        self.retry_while_profiles_change(requested.branch.as_ref(), |pipeline| {
            let environment = pipeline.environment(requested.point()).map_err(broken)?;
            match &request.node {
                LookupNode::Named(name) => {
                    let node = pipeline.fleet.find(name).ok_or_else(|| unknown_node(name, &pipeline.fleet))?;
                    if environment.options.variables.is_empty() && environment.derived.is_empty() {
                        let scope = pipeline.fleet.scope(node);
                        let environment = environment.for_scope(&scope);
                        let sources = NodeSources::new(environment, &scope);
                        return self.find(&requested, environment, (name, &scope, &sources), (request, stop));
                    }
                    let profile = pipeline.fleet.profiles(&NodeSet::from_iter([node])).remove(&node);
                    let profile = profile.ok_or_else(|| broken(PipelineError::ProfilesChanged))?;
                    self.find_with(&requested, &environment, profile, (request, stop))
                }
                LookupNode::Profile(profile) => {
                    let profile = self.profile(profile, requested.branch.as_ref())?;
                    self.find_with(&requested, &environment, profile, (request, stop))
                }
            }
        })
    }

    fn history(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> std::result::Result<HistoryPage, AnswerError> {
        self.with_history(request, stop, history::page)
    }

    fn blame(&self, request: &HistoryRequest, stop: &Arc<dyn Stop>) -> std::result::Result<Blamed, AnswerError> {
        self.with_history(request, stop, history::blamed)
    }

    fn page(&self, request: &PageRequest, stop: &Arc<dyn Stop>) -> std::result::Result<Content, AnswerError> {
        self.view(request, stop)
    }
}

impl EffectiveValues {
    /// Resolves the revision of a request.
    fn resolve(&self, revision: &str) -> std::result::Result<RequestedRevision, AnswerError> {
        let commit = self.commit(revision)?;
        let branch = self.workspace.branch(revision).map_err(|error| AnswerError::Unknown(error.to_string()))?;
        Ok(RequestedRevision { commit, branch })
    }

    fn commit(&self, revision: &str) -> std::result::Result<CommitId, AnswerError> {
        self.workspace.repository.resolve(revision).map_err(|error| match error {
            RevisionError::Refs(error) => broken(error),
            error => AnswerError::Unknown(error.to_string()),
        })
    }

    /// Returns the sides of a comparison with a revision or, if that is not named, with the first parent.
    fn sides(&self, from: Option<&str>, after: &RequestedRevision) -> std::result::Result<Sides, AnswerError> {
        let before = match from {
            Some(from) => Some(self.commit(from)?),
            None => self.workspace.repository.first_parent(after.commit).map_err(broken)?,
        };
        Ok(Sides::of(before.map_or(RevisionId::Empty, RevisionId::Commit), after.point()))
    }

    fn pipeline(&self, branch: Option<&BranchName>) -> std::result::Result<Arc<Pipeline>, AnswerError> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        pipelines.get(branch).map_err(AnswerError::Broken)
    }

    /// Returns an answer of a pipeline whose profiles did not change in the meantime.
    fn retry_while_profiles_change<T>(
        &self,
        branch: Option<&BranchName>,
        answer: impl Fn(&Pipeline) -> std::result::Result<T, AnswerError>,
    ) -> std::result::Result<T, AnswerError> {
        for _ in 0..ATTEMPTS {
            let pipeline = self.pipeline(branch)?;
            let answer = answer(&pipeline);
            if pipeline.fleet_has_stayed().is_ok() {
                return answer;
            }
        }
        Err(AnswerError::Later(PipelineError::ProfilesChanged.to_string()))
    }

    /// Returns the snapshot of a node, with some of its keys, or with all if none are named.
    fn node_snapshot(
        &self,
        pipeline: &Pipeline,
        requested: &RequestedRevision,
        (node, keys): (&str, &[String]),
        stop: &Arc<dyn Stop>,
    ) -> std::result::Result<NodeSnapshot, AnswerError> {
        let id = pipeline.fleet.find(node).ok_or_else(|| unknown_node(node, &pipeline.fleet))?;
        let revision = pipeline.cached_revision(requested.point()).map_err(broken)?;
        let known_key =
            |key: &String| revision.keys.get(key.as_str()).or_else(|| revision.key_of(&key.as_str().into()));
        let wanted: BTreeSet<&Arc<str>> = keys
            .iter()
            .map(|key| known_key(key).ok_or_else(|| unknown_key(key, &revision, requested)))
            .collect::<Result<_, _>>()?;
        let keys = revision.keys.iter().filter(|key| wanted.is_empty() || wanted.contains(key));
        let effective = pipeline.effective_on(id, &revision, keys, &self.workers(stop));
        check_still_wanted(stop)?;
        let (nodes, disclosure, workers) = (NodeSet::from_iter([id]), &pipeline.disclosure, &self.workspace.workers);
        let snapshots = Snapshots::new(effective, &pipeline.fleet, &nodes, Format::Json, disclosure, workers);
        Ok(NodeSnapshot { commit: requested.commit.to_string(), text: snapshots.texts().concat() })
    }

    /// Returns workers that stop when the answer is no longer wanted.
    fn workers(&self, stop: &Arc<dyn Stop>) -> Workers {
        let either = Either([self.workspace.workers.stop.clone(), stop.clone()]);
        Workers { stop: Arc::new(Counted::new(Arc::new(either))), ..self.workspace.workers.clone() }
    }

    /// Reads the profile of a request.
    fn profile(&self, content: &[u8], branch: Option<&BranchName>) -> std::result::Result<NodeProfile, AnswerError> {
        let environment = self.workspace.environment_of_nodes(branch.map(BranchName::as_str));
        let (EnvironmentOfNodes::Declared(name) | EnvironmentOfNodes::Fixed(name)) = &environment;
        let (profiles, errors) = read_profiles(content, PROFILE_FILE_NAME, name);
        if let Some(error) = errors.into_iter().next() {
            return Err(AnswerError::Wrong(format!("'profile': {}", error.text)));
        }
        let [mut profile] = <[NodeProfile; 1]>::try_from(profiles)
            .map_err(|_| AnswerError::Wrong("'profile' must be that of one node".to_owned()))?;
        if let EnvironmentOfNodes::Fixed(name) = environment {
            profile.environment = name;
        }
        Ok(profile)
    }

    /// Looks the keys up on the node of a profile, with its variables from the data.
    fn find_with(
        &self,
        requested: &RequestedRevision,
        environment: &Environment,
        profile: NodeProfile,
        request: (&LookupRequest, &Arc<dyn Stop>),
    ) -> std::result::Result<LookupResponse, AnswerError> {
        let environment = environment.for_scope(&NodeScope::new(&profile));
        let with_variables = WithVariables::of(environment, profile);
        let profile = &with_variables.profile;
        let scope = NodeScope::new(profile);
        let sources = with_variables.sources(environment, &scope);
        self.find(requested, environment, (&profile.name, &scope, &sources), request)
    }

    /// Looks the keys up on a node, and returns the value of the first that is found.
    fn find(
        &self,
        requested: &RequestedRevision,
        environment: &Environment,
        (node, scope, sources): (&str, &dyn Scope, &NodeSources<'_>),
        (request, stop): (&LookupRequest, &Arc<dyn Stop>),
    ) -> std::result::Result<LookupResponse, AnswerError> {
        let strategy = request.merge.as_ref().map(Strategy::from_option).transpose();
        let strategy = strategy.map_err(|error| AnswerError::Wrong(format!("'merge': {error}")))?;
        let disclosure = &self.workspace.disclosure;
        let mut left = MAX_REQUEST_COST;
        for key in &request.keys {
            check_still_wanted(stop)?;
            let lookup = Lookup::new(environment, sources, scope).within(left.at_most(Cost::OF_KEY));
            let outcome = lookup.get(key, strategy.as_ref());
            left = left.minus(lookup.cost());
            match outcome {
                Outcome::Found(value) => {
                    let value = to_json(&disclosure.value(&value));
                    let (commit, node) = (requested.commit.to_string(), node.to_owned());
                    return Ok(LookupResponse { commit, node, key: key.clone(), value });
                }
                Outcome::Failed(error) => {
                    return Err(AnswerError::Failed(failure(key, &disclosure.error(&error)).to_string()));
                }
                Outcome::NotFound => {}
            }
        }
        let keys: Vec<String> = request.keys.iter().map(|key| format!("'{key}'")).collect();
        Err(AnswerError::Unknown(format!("no data for {} on {node}", keys.join(", "))))
    }
}

/// Writes a report, or fails if it is too large for an answer. `files` is the address of the commit's files.
fn written(
    report: &Report,
    format: report::Format,
    files: Option<String>,
) -> std::result::Result<Vec<u8>, AnswerError> {
    let mut style = Style::default();
    style.markdown.link_base = files;
    bounded(|out| report::write(report, format, &style, out), "ask for another format, or run `hierad diff`")
}

/// Returns what `write` writes, or fails with advice if it is too large for an answer.
fn bounded(
    write: impl FnOnce(&mut Bounded) -> io::Result<()>,
    advice: &str,
) -> std::result::Result<Vec<u8>, AnswerError> {
    let mut out = Bounded { text: Vec::new(), most: LARGEST_REPORT };
    let too_large = |_| AnswerError::Failed(format!("the report has more than {LARGEST_REPORT} bytes: {advice}"));
    write(&mut out).map(|()| out.text).map_err(too_large)
}

/// The maximum size of a report in an answer, in bytes.
const LARGEST_REPORT: usize = 64 << 20;

/// Text of a limited length.
struct Bounded {
    text: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        if self.text.len() + content.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(content);
        Ok(content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stops when either of the two does.
struct Either([Arc<dyn Stop>; 2]);

impl Stop for Either {
    fn reason(&self) -> Option<Arc<str>> {
        self.0.iter().find_map(|stop| stop.reason())
    }
}

/// Fails if the answer is no longer wanted.
fn check_still_wanted(stop: &Arc<dyn Stop>) -> std::result::Result<(), AnswerError> {
    stop.reason().map_or(Ok(()), |reason| Err(AnswerError::Later(reason.to_string())))
}

/// Returns a node by its name, or by the first label of its name if no other node's begins with it.
fn node_named(name: &str, fleet: &Fleet) -> std::result::Result<NodeId, AnswerError> {
    if let Some(id) = fleet.find(name) {
        return Ok(id);
    }
    let is_short = |full: &str| full.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let short: Vec<NodeId> = fleet.iter().filter(|(_, full)| is_short(full)).map(|(id, _)| id).take(2).collect();
    match short[..] {
        [id] => Ok(id),
        _ => Err(unknown_node(name, fleet)),
    }
}

fn unknown_node(name: &str, fleet: &Fleet) -> AnswerError {
    let near = did_you_mean(name, fleet.iter().map(|(_, name)| &**name));
    AnswerError::Unknown(format!("there is no profile of node '{name}'{near}"))
}

fn unknown_key(key: &str, revision: &Revision, requested: &RequestedRevision) -> AnswerError {
    let near = did_you_mean(key, revision.keys.iter().map(|key| &**key));
    AnswerError::Unknown(format!("no data file at {} has the key '{key}'{near}", requested.commit))
}

fn broken(error: impl Into<Failure>) -> AnswerError {
    AnswerError::Broken(error.into())
}
