//! Compares hierad's answers with those of the Puppet that is installed on the machine.
//!
//! The files of a revision are written to a temporary folder (`stage`), and a small Ruby program (`puppet`) looks the
//! keys up there. It runs no code of the revision, unless the user asks for that. Answers that hierad does not know
//! are counted and are not disagreements. The same holds for answers that depend on `backends` or `lookup_options` of
//! the settings, which Puppet does not have. Nothing is written outside of the temporary folder.

mod compare;
mod findings;
mod puppet;
mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::settings::{Declared, Settings};
use crate::app::{Result, Workspace};
use crate::fleet::{Effective, Fleet, Revision};
use crate::functions::bridge::ruby;
use crate::hiera::explain::{Places, Recorder};
use crate::hiera::lookup::{Lookup, NodeSources};
use crate::hiera::merge::Strategy;
use crate::node::{NodeId, NodeProfile};
use crate::pipeline::{Pipeline, RevisionId};
use crate::puppet::{Puppet, Ruby};
use crate::workers::Workers;

use compare::Verdict;
use puppet::{NodeQuery, Process};
use stage::{Stage, Staged};

pub use compare::Answer;
pub use findings::{Disagreement, Explained, Findings};
pub use puppet::Reference;

/// The number of nodes that Puppet is asked about at a time.
const MAX_BATCH: usize = 20;

/// The maximum number of disagreements that are explained.
const MAX_EXPLAINED: usize = 20;

/// The code that the reference may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Only the installation's.
    Installed,
    /// Also that of the repository and its modules.
    All,
}

/// The Puppet or OpenVox of the machine, running in a separate process.
pub struct Verifier<'a> {
    stage: Stage,
    installation: (PathBuf, Option<&'a Path>),
    code: Code,
    process: Process,
}

impl Verifier<'_> {
    /// Starts the Puppet that the Ruby at `ruby` has, by default the one that `puppet` runs with. Its library is
    /// looked for in `library`, by default where that Ruby finds it.
    pub fn start<'a>(ruby: Option<&Path>, library: Option<&'a Path>, code: Code) -> Result<Verifier<'a>> {
        let stage = Stage::new()?;
        let ruby = ruby::find(ruby)
            .ok_or("there is no Puppet and no OpenVox on this machine: name the Ruby that has it with --puppet-ruby")?;
        let installation = (ruby, library);
        let process = Process::start(Reference::Puppet, (installation.0.as_path(), library), code, &stage)?;
        Ok(Verifier { stage, installation, code, process })
    }

    /// Makes hierad answer like the Puppet and the Ruby that are asked. Returns warnings if the settings name others.
    pub fn adopt(&self, settings: &mut Settings) -> Vec<String> {
        let Process { version, ruby, .. } = &self.process;
        let configured = (settings.puppet, settings.ruby);
        settings.puppet = Puppet::of_version(version);
        settings.ruby = ruby.as_deref().and_then(Ruby::of_version).or(settings.ruby);
        let warnings = [warning_of_version(version, configured.0), warning_of_ruby(ruby.as_deref(), configured.1)];
        warnings.into_iter().flatten().collect()
    }

    /// Compares the answers at a revision: all, or a sample of a size and a seed.
    pub fn findings(
        mut self,
        mut workspace: Workspace,
        mut pipeline: Pipeline,
        (point, mut revision): (RevisionId, Revision),
        sample: Option<(usize, u64)>,
    ) -> Result<Findings> {
        let staged = self.stage.write(&revision.environment, &workspace, self.code)?;
        if revision.environment.is_hiera3 {
            let installation = (self.installation.0.as_path(), self.installation.1);
            self.process = Process::start(Reference::Hiera3, installation, self.code, &self.stage)?;
            self.process.merge(strategies(&revision).into_iter());
        }
        let mut declared = None;
        if let Some(settings) = without_declarations(&workspace.settings, self.process.reference) {
            declared = Some(pipeline.effective(&revision, revision.keys.iter()));
            workspace.settings = settings;
            pipeline = workspace.pipeline(workspace.revisions(), pipeline.fleet);
            revision = pipeline.revision(point)?;
        }
        let effective = pipeline.effective(&revision, revision.keys.iter());
        let pairs = pairs(&pipeline.fleet, &revision, sample);
        let mut verification = Verification {
            fleet: &revision.fleet,
            profiles: &revision.fleet.profiles(&pairs.keys().copied().collect()),
            revision: &revision,
            effective: &effective,
            declared: declared.as_ref(),
            stage: &self.stage,
            staged: &staged,
            puppet: &mut self.process,
            code: self.code,
            workers: &workspace.workers,
        };
        let mut findings = Findings {
            seed: sample.map(|(_, seed)| seed),
            total_answers: pipeline.fleet.len() * revision.keys.len(),
            left_out: pipeline.fleet.left_out().len(),
            ..Findings::default()
        };
        verification.compare(&pairs, &mut findings)?;
        findings.reference = self.process.reference;
        findings.version.clone_from(&self.process.version);
        findings.ruby.clone_from(&self.process.ruby);
        Ok(findings)
    }
}

/// Returns the settings without the declarations that the reference does not have: answers of `backends` and, for
/// Puppet, `lookup_options`. Returns `None` if there are no such declarations.
fn without_declarations(settings: &Settings, reference: Reference) -> Option<Settings> {
    let mut bare = Settings { backends: Declared::default(), ..settings.clone() };
    let declares_options = reference == Reference::Puppet && !settings.lookup_options.is_empty();
    if declares_options {
        bare.lookup_options = Arc::default();
    }
    (declares_options || !settings.backends.functions.is_empty()).then_some(bare)
}

/// Returns the strategies with which Hiera 3 merges keys according to the settings. Keys that it refuses fail on both
/// sides.
fn strategies(revision: &Revision) -> Vec<(&Arc<str>, Strategy)> {
    let options = &revision.environment.options.lookup_options;
    revision.keys.iter().filter_map(|key| Some((key, options.hiera3_strategy(key).ok()?))).collect()
}

/// Returns a warning if the settings name another version of Puppet, else `None`.
fn warning_of_version(found: &str, settings: Puppet) -> Option<String> {
    let (name, other) = (settings.name(), settings.number());
    let text = || format!("hierad: the settings say {name} {other}, the machine has {found}: comparing with {found}");
    (Puppet::of_version(found) != settings).then(text)
}

/// Returns a warning if the settings name a Ruby that answers differently, else `None`.
fn warning_of_ruby(found: Option<&str>, settings: Option<Ruby>) -> Option<String> {
    let (found, other) = (found?, settings?.name());
    let text = || format!("hierad: the settings say Ruby {other}, the machine has {found}: comparing with {found}");
    (Ruby::of_version(found) != settings).then(text)
}

/// Returns the keys to compare, by node: all, or a sample of a size and a seed.
fn pairs(fleet: &Fleet, revision: &Revision, sample: Option<(usize, u64)>) -> BTreeMap<NodeId, Vec<Arc<str>>> {
    let keys: Vec<&Arc<str>> = revision.keys.iter().collect();
    let all = fleet.len() * keys.len();
    let mut pairs: BTreeMap<NodeId, Vec<Arc<str>>> = BTreeMap::new();
    let mut dice = fastrand::Rng::with_seed(sample.map_or(1, |(_, seed)| seed));
    let mut wanted = sample.map_or(all, |(size, _)| size.min(all));
    let mut left = all;
    // Each pair is taken with the probability that fills the sample at the end.
    for (node, _) in fleet.iter() {
        for key in &keys {
            if wanted > 0 && dice.usize(..left) < wanted {
                pairs.entry(node).or_default().push((*key).clone());
                wanted -= 1;
            }
            left -= 1;
        }
    }
    pairs
}

struct Verification<'a> {
    fleet: &'a Fleet,
    /// The profiles of the nodes to compare.
    profiles: &'a BTreeMap<NodeId, NodeProfile>,
    revision: &'a Revision,
    effective: &'a Effective,
    /// The answers with the declarations of the settings, if there are any.
    declared: Option<&'a Effective>,
    stage: &'a Stage,
    staged: &'a Staged,
    puppet: &'a mut Process,
    code: Code,
    workers: &'a Workers,
}

impl Verification<'_> {
    fn compare(&mut self, pairs: &BTreeMap<NodeId, Vec<Arc<str>>>, findings: &mut Findings) -> Result<()> {
        findings.asked = pairs.values().map(Vec::len).sum();
        findings.nodes = pairs.len();
        findings.keys = pairs.values().flatten().collect::<std::collections::BTreeSet<_>>().len();
        let nodes: Vec<NodeId> = pairs.keys().filter(|node| self.profiles.contains_key(node)).copied().collect();
        let mut different = Vec::new();
        let progress = self.workers.begin("comparing nodes", Some(nodes.len()));
        for batch in self.batches(&nodes) {
            let queries: Vec<NodeQuery> =
                batch.iter().map(|node| NodeQuery::new(*node, &self.profiles[node], &pairs[node])).collect();
            let answers = self.puppet.ask(self.stage, self.staged, &queries)?;
            for query in &queries {
                for key in &query.keys {
                    let theirs = answers.get(&(query.node, key.clone())).cloned().unwrap_or(Answer::NotFound);
                    let ours = Answer::of(self.effective, query.node, key);
                    if self.declared.is_some_and(|declared| Answer::of(declared, query.node, key) != ours) {
                        findings.declared += 1;
                        continue;
                    }
                    if self.code == Code::Installed && (theirs.needs_code() || ours.needs_code()) {
                        findings.code += 1;
                        continue;
                    }
                    match crate::verify::compare::verdict(&theirs, &ours) {
                        Verdict::Unknown => findings.unknown += 1,
                        Verdict::NotAsked => findings.code += 1,
                        Verdict::Same => findings.count(&ours),
                        Verdict::Different => different.push((query.node, key.clone(), ours)),
                    }
                }
            }
            progress.advance(batch.len());
        }
        different.into_iter().try_for_each(|(node, key, ours)| self.compare_again(node, key, ours, findings))
    }

    /// Groups nodes by environment, into batches of limited size.
    fn batches(&self, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut environments: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for node in nodes {
            environments.entry(&self.profiles[node].environment).or_default().push(*node);
        }
        environments.values().flat_map(|nodes| nodes.chunks(MAX_BATCH)).map(<[NodeId]>::to_vec).collect()
    }

    /// Asks again for this one key: a merge with a knock-out prefix changes Puppet's later answers.
    fn compare_again(&mut self, node: NodeId, key: Arc<str>, ours: Answer, findings: &mut Findings) -> Result<()> {
        let queries = [NodeQuery::new(node, &self.profiles[&node], std::slice::from_ref(&key))];
        let theirs = self
            .puppet
            .ask(self.stage, self.staged, &queries)?
            .remove(&(node, key.clone()))
            .unwrap_or(Answer::NotFound);
        match crate::verify::compare::verdict(&theirs, &ours) {
            Verdict::Same => findings.count(&ours),
            Verdict::Unknown => findings.unknown += 1,
            Verdict::NotAsked => findings.code += 1,
            Verdict::Different => return self.record_disagreement(node, key, [theirs, ours], &queries, findings),
        }
        Ok(())
    }

    fn record_disagreement(
        &mut self,
        node: NodeId,
        key: Arc<str>,
        [theirs, ours]: [Answer; 2],
        queries: &[NodeQuery],
        findings: &mut Findings,
    ) -> Result<()> {
        let explained = if findings.disagreements.len() < MAX_EXPLAINED {
            Some(self.explain(node, &key, queries, ours.is_secret() || theirs.is_secret())?)
        } else {
            None
        };
        findings.answers += 1;
        let node = self.fleet.name(node).clone();
        findings.disagreements.push(Disagreement { node, key, puppet: theirs, hierad: ours, explained });
        Ok(())
    }

    fn explain(&mut self, node: NodeId, key: &str, queries: &[NodeQuery], secret: bool) -> Result<Explained> {
        let recorder = Recorder::default();
        let scope = self.fleet.scope(node);
        let environment = self.revision.environment.for_scope(&scope);
        let sources = NodeSources::new(environment, &scope);
        _ = Lookup::new(environment, &sources, &scope).explained_by(&recorder).get(key, None);
        let explained = recorder.finish();
        // Puppet's explanation does not mark secrets.
        if secret || explained.has_secrets() {
            return Ok(Explained::hidden());
        }
        let puppet = self.puppet.explain(self.stage, self.staged, queries)?;
        Ok(Explained { puppet, hierad: explained.text(Places::Shown) })
    }
}
