//! What `hierad watch` answers over HTTP: effective values by the settings of this run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::lookup::{as_json, failure};
use super::watch::Pipelines;
use super::{Failure, Result};
use crate::daemon::http::{Answers, Forge, Found, Listener, Options, Question, Server, Snapshot, Subject, Unanswered};
use crate::git::{BranchName, CommitId, RevisionError};
use crate::hiera::Outcome;
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Lookup, NodeSources};
use crate::hiera::merge::Strategy;
use crate::hiera::scope::{NodeScope, Scope};
use crate::node::{NodeProfile, NodeSet, read_profiles};
use crate::pipeline::profiles::EnvironmentOfNodes;
use crate::pipeline::{Pipeline, RevisionId};
use crate::settings::{HttpSetting, Settings, read_secret};
use crate::snapshot::{Format, Snapshots};

/// What a profile that is asked with is called: its form.
const PROFILE: &str = "profile.json";

/// The settings with the flag's address laid over them.
pub(super) fn listening(mut settings: Settings, address: Option<SocketAddr>) -> Result<Settings> {
    if let Some(listen) = address {
        let setting = HttpSetting { listen, ..settings.http.unwrap_or_default() };
        setting.check().map_err(|text| format!("--listen: {text} of 'http' in hierad.yaml"))?;
        settings.http = Some(setting);
    }
    Ok(settings)
}

/// How the settings want it to answer, if they do.
pub(super) fn options(settings: &Settings) -> Result<Option<Options>> {
    let Some(setting) = &settings.http else { return Ok(None) };
    let token = setting.token_file.as_deref().map(read_secret).transpose()?;
    let mut webhook_secrets = Vec::new();
    for (name, path) in &setting.webhook_secret_files {
        webhook_secrets.extend(Forge::of(name).zip(Some(read_secret(path)?)));
    }
    Ok(Some(Options { listen: setting.listen, token, webhook_secrets, timeout: setting.timeout }))
}

/// The server that the settings want, on the listener that is there if that has the right address.
pub(super) fn server(settings: &Settings, listener: Option<Listener>) -> Result<Option<(Server, Listener)>> {
    let Some(options) = options(settings)? else { return Ok(None) };
    let listener = match listener.filter(|listener| listener.asked == options.listen) {
        Some(listener) => listener,
        None => Listener::bind(options.listen)?,
    };
    Ok(Some((Server::new(options, listener.clone()), listener)))
}

/// Who answers questions about a repository.
pub(super) fn answers(context: &Context) -> Arc<dyn Answers> {
    // Pipelines of its own: what is asked for does not push out what the next commit is compared with.
    let pipelines = Mutex::new(Pipelines::new(context.clone()));
    Arc::new(Values { context: context.clone(), pipelines })
}

/// Finds effective values.
struct Values {
    context: Context,
    pipelines: Mutex<Pipelines>,
}

/// A commit, and the branch that it was asked for by.
struct Asked {
    commit: CommitId,
    branch: Option<BranchName>,
}

impl Asked {
    fn point(&self) -> RevisionId {
        RevisionId::Commit(self.commit)
    }
}

impl Answers for Values {
    fn nodes(&self) -> std::result::Result<Vec<Arc<str>>, Unanswered> {
        let pipeline = self.pipeline(None)?;
        Ok(pipeline.fleet.iter().map(|(_, name)| name.clone()).collect())
    }

    fn snapshot(&self, node: &str, revision: &str, keys: &[String]) -> std::result::Result<Snapshot, Unanswered> {
        let asked = self.asked(revision)?;
        let pipeline = self.pipeline(asked.branch.as_ref())?;
        let id = pipeline.fleet.find(node).ok_or_else(|| unknown_node(node))?;
        let revision = pipeline.cached_revision(asked.point()).map_err(broken)?;
        if let Some(unknown) = keys.iter().find(|key| !revision.keys.contains(key.as_str())) {
            return Err(Unanswered::Unknown(format!("no data file at {} has the key '{unknown}'", asked.commit)));
        }
        let wanted: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
        let keys = revision.keys.iter().filter(|key| wanted.is_empty() || wanted.contains(&***key));
        let effective = pipeline.effective_on(id, &revision, keys);
        let (nodes, disclosure, workers) = (NodeSet::from_iter([id]), &pipeline.disclosure, &self.context.workers);
        let snapshots = Snapshots::new(effective, &pipeline.fleet, &nodes, Format::Json, disclosure, workers);
        Ok(Snapshot { commit: asked.commit.to_string(), text: snapshots.texts().concat() })
    }

    fn lookup(&self, question: &Question) -> std::result::Result<Found, Unanswered> {
        let asked = self.asked(&question.revision)?;
        let environment = self.context.revisions().environment(asked.point()).map_err(broken)?;
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

impl Values {
    fn asked(&self, revision: &str) -> std::result::Result<Asked, Unanswered> {
        let repository = &self.context.repository;
        let commit = repository.resolve(revision).map_err(|error| match error {
            RevisionError::Refs(error) => broken(error),
            error => Unanswered::Unknown(error.to_string()),
        })?;
        let branch = match revision {
            "HEAD" | "@" => repository.branch().map_err(broken)?,
            name => Some(BranchName::new(name)).filter(|branch| matches!(repository.tip(branch), Ok(Some(_)))),
        };
        Ok(Asked { commit, branch })
    }

    fn pipeline(&self, branch: Option<&BranchName>) -> std::result::Result<Arc<Pipeline>, Unanswered> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        pipelines.get(branch).map_err(Unanswered::Broken)
    }

    /// The profile that is asked with.
    fn profile(&self, content: &[u8], branch: Option<&BranchName>) -> std::result::Result<NodeProfile, Unanswered> {
        let environment = self.context.environment_of_nodes(branch.map(BranchName::as_str));
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

    fn find(
        &self,
        asked: &Asked,
        environment: &Environment,
        (node, scope): (&str, &dyn Scope),
        question: &Question,
    ) -> std::result::Result<Found, Unanswered> {
        let strategy = question.merge.as_ref().map(Strategy::from_option).transpose();
        let strategy = strategy.map_err(|error| Unanswered::Wrong(format!("'merge': {error}")))?;
        let sources = NodeSources::new(environment, scope);
        let lookup = Lookup::new(environment, &sources, scope);
        let disclosure = &self.context.disclosure;
        for key in &question.keys {
            match lookup.get(key, strategy.as_ref()) {
                Outcome::Found(value) => {
                    let value = as_json(&disclosure.value(&value));
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
