//! The effective values behind the HTTP interface, by the settings of this run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::lookup::{failure, to_json};
use super::{BranchPipelines, Failure, Workspace};
use crate::daemon::http::{Answers, Found, Question, Snapshot, Subject, Unanswered};
use crate::git::{BranchName, CommitId, RevisionError};
use crate::hiera::Outcome;
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Lookup, NodeSources};
use crate::hiera::merge::Strategy;
use crate::hiera::scope::{NodeScope, Scope};
use crate::node::{NodeProfile, NodeSet, read_profiles};
use crate::pipeline::profiles::EnvironmentOfNodes;
use crate::pipeline::{Pipeline, RevisionId};
use crate::snapshot::{Format, Snapshots};

/// The file name that stands for a profile in a question: it tells the format.
const PROFILE: &str = "profile.json";

/// Returns the answers to questions about a repository.
pub(super) fn answers(workspace: &Workspace) -> Arc<dyn Answers> {
    // Pipelines of its own: questions do not evict the revision that the next commit is compared with.
    let pipelines = Mutex::new(BranchPipelines::new(workspace.clone()));
    Arc::new(EffectiveValues { workspace: workspace.clone(), pipelines })
}

/// Answers questions about effective values.
struct EffectiveValues {
    workspace: Workspace,
    pipelines: Mutex<BranchPipelines>,
}

/// The commit of a question, and the branch that it was named by.
struct Revision {
    commit: CommitId,
    branch: Option<BranchName>,
}

impl Revision {
    fn point(&self) -> RevisionId {
        RevisionId::Commit(self.commit)
    }
}

impl Answers for EffectiveValues {
    fn nodes(&self) -> std::result::Result<Vec<Arc<str>>, Unanswered> {
        let pipeline = self.pipeline(None)?;
        Ok(pipeline.fleet.iter().map(|(_, name)| name.clone()).collect())
    }

    fn snapshot(&self, node: &str, revision: &str, keys: &[String]) -> std::result::Result<Snapshot, Unanswered> {
        let asked = self.resolve(revision)?;
        let pipeline = self.pipeline(asked.branch.as_ref())?;
        let id = pipeline.fleet.find(node).ok_or_else(|| unknown_node(node))?;
        let revision = pipeline.cached_revision(asked.point()).map_err(broken)?;
        if let Some(unknown) = keys.iter().find(|key| !revision.keys.contains(key.as_str())) {
            return Err(Unanswered::Unknown(format!("no data file at {} has the key '{unknown}'", asked.commit)));
        }
        let wanted: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        let keys = revision.keys.iter().filter(|key| wanted.is_empty() || wanted.contains(&***key));
        let effective = pipeline.effective_on(id, &revision, keys);
        let (nodes, disclosure, workers) = (NodeSet::from_iter([id]), &pipeline.disclosure, &self.workspace.workers);
        let snapshots = Snapshots::new(effective, &pipeline.fleet, &nodes, Format::Json, disclosure, workers);
        Ok(Snapshot { commit: asked.commit.to_string(), text: snapshots.texts().concat() })
    }

    fn lookup(&self, question: &Question) -> std::result::Result<Found, Unanswered> {
        let asked = self.resolve(&question.revision)?;
        let environment = self.workspace.revisions().environment(asked.point()).map_err(broken)?;
        match &question.subject {
            Subject::Node(name) => {
                let pipeline = self.pipeline(asked.branch.as_ref())?;
                let node = pipeline.fleet.find(name).ok_or_else(|| unknown_node(name))?;
                self.find(&asked, &environment, (name, &pipeline.fleet.scope(node)), question)
            }
            Subject::Profile(profile) => {
                let profile = self.profile(profile, asked.branch.as_ref())?;
                self.find(&asked, &environment, (&profile.name, &NodeScope::new(&profile)), question)
            }
        }
    }
}

impl EffectiveValues {
    /// Resolves the revision of a question.
    fn resolve(&self, revision: &str) -> std::result::Result<Revision, Unanswered> {
        let repository = &self.workspace.repository;
        let commit = repository.resolve(revision).map_err(|error| match error {
            RevisionError::Refs(error) => broken(error),
            error => Unanswered::Unknown(error.to_string()),
        })?;
        let branch = match revision {
            "HEAD" | "@" => repository.branch().map_err(broken)?,
            name => Some(BranchName::new(name)).filter(|branch| matches!(repository.tip(branch), Ok(Some(_)))),
        };
        Ok(Revision { commit, branch })
    }

    fn pipeline(&self, branch: Option<&BranchName>) -> std::result::Result<Arc<Pipeline>, Unanswered> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        pipelines.get(branch).map_err(Unanswered::Broken)
    }

    /// Reads the profile of a question.
    fn profile(&self, content: &[u8], branch: Option<&BranchName>) -> std::result::Result<NodeProfile, Unanswered> {
        let environment = self.workspace.environment_of_nodes(branch.map(BranchName::as_str));
        let (EnvironmentOfNodes::Declared(name) | EnvironmentOfNodes::Fixed(name)) = &environment;
        let (profiles, errors) = read_profiles(content, PROFILE, name);
        if let Some(error) = errors.into_iter().next() {
            return Err(Unanswered::Wrong(format!("'profile': {}", error.text)));
        }
        let [mut profile] = <[NodeProfile; 1]>::try_from(profiles)
            .map_err(|_| Unanswered::Wrong("'profile' must be that of one node".to_owned()))?;
        if let EnvironmentOfNodes::Fixed(name) = environment {
            profile.environment = name;
        }
        Ok(profile)
    }

    /// Looks the keys up on a node, and returns the first that is found.
    fn find(
        &self,
        asked: &Revision,
        environment: &Environment,
        (node, scope): (&str, &dyn Scope),
        question: &Question,
    ) -> std::result::Result<Found, Unanswered> {
        let strategy = question.merge.as_ref().map(Strategy::from_option).transpose();
        let strategy = strategy.map_err(|error| Unanswered::Wrong(format!("'merge': {error}")))?;
        let sources = NodeSources::new(environment, scope);
        let lookup = Lookup::new(environment, &sources, scope);
        let disclosure = &self.workspace.disclosure;
        for key in &question.keys {
            match lookup.get(key, strategy.as_ref()) {
                Outcome::Found(value) => {
                    let value = to_json(&disclosure.value(&value));
                    let (commit, node) = (asked.commit.to_string(), node.to_owned());
                    return Ok(Found { commit, node, key: key.clone(), value });
                }
                Outcome::Failed(error) => {
                    return Err(Unanswered::Failed(failure(key, &disclosure.error(&error)).to_string()));
                }
                Outcome::NotFound => {}
            }
        }
        let keys: Vec<String> = question.keys.iter().map(|key| format!("'{key}'")).collect();
        Err(Unanswered::Unknown(format!("no data for {} on {node}", keys.join(", "))))
    }
}

fn unknown_node(name: &str) -> Unanswered {
    Unanswered::Unknown(format!("there is no profile of node '{name}'"))
}

fn broken(error: impl Into<Failure>) -> Unanswered {
    Unanswered::Broken(error.into())
}
