//! `hierad verify`: the answers of hierad against those of the Puppet that is installed on the machine.
//!
//! The files of a revision are written to a temporary folder, and a small Ruby program ([`puppet`]) looks the keys up
//! there. It runs no code of the revision, unless the user asks for that. Answers that hierad does not know are counted
//! and are no disagreement. The same holds for answers that depend on `backends` or `lookup_options` of the settings,
//! which Puppet does not have. Nothing is written outside of the temporary folder.

mod compare;
mod puppet;
mod report;
mod stage;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::inspection::{Format, Inspection};
use super::{Global, Result, Status, output};
use crate::fleet::{Effective, Fleet, Revision};
use crate::hiera::backend::Backends;
use crate::hiera::explain::{Places, Recorder};
use crate::hiera::lookup::{Lookup, NodeSources};
use crate::hiera::merge::Strategy;
use crate::node::{NodeId, NodeProfile};
use crate::pipeline::bridge::ruby;
use crate::pipeline::check::absent_hierarchies;
use crate::puppet::{Puppet, Ruby};
use crate::settings::Settings;
use crate::workers::Workers;
use compare::{Answer, Verdict};
use puppet::{Asked, Process, Reference};
use report::{Disagreement, Explained, Findings};
use stage::{Stage, Staged};

/// The number of nodes that Puppet is asked about at a time.
const BATCH: usize = 20;

/// The most disagreements that are shown in full.
const TOLD: usize = 20;

/// The code that the reference may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// Code of the installation only.
    Installed,
    /// Code of the repository and its modules as well.
    All,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
    /// Compare every key on every node
    #[arg(long)]
    all: bool,
    /// The number of pairs of a node and a key to compare
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "all")]
    sample: usize,
    /// Chooses the sample; a run with the same seed compares the same [default: by the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The Ruby that has Puppet or OpenVox [default: the one that `puppet` runs with]
    #[arg(long, value_name = "PATH")]
    puppet_ruby: Option<PathBuf>,
    /// Let Puppet run Ruby of the repository and its modules; without this, keys that need it are not compared
    #[arg(long)]
    run_code: bool,
    /// A folder with Puppet's library, in place of the one that Ruby finds
    #[arg(long, value_name = "DIR")]
    puppet_lib: Option<PathBuf>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let findings = findings(global, arguments)?;
    let mut out = output::stdout();
    match arguments.at.format {
        Format::Text => report::write_text(&findings, &mut out)?,
        Format::Json => report::write_json(&findings, &mut out)?,
    }
    out.flush()?;
    Ok(match (findings.disagreements.is_empty(), findings.is_complete()) {
        (false, _) => Status::Found,
        (true, true) => Status::Done,
        (true, false) => Status::Unseen,
    })
}

/// Compares a sample of the last commit's answers, and returns what came of it in one line; `None` if there is no
/// Puppet on the machine.
pub(super) fn sample(global: &Global, sample: usize) -> Option<Result<String>> {
    let at = Inspection { revision: "HEAD".to_owned(), format: Format::Text };
    let arguments =
        Arguments { at, all: false, sample, seed: Some(1), puppet_ruby: None, run_code: false, puppet_lib: None };
    ruby::has_puppet().then(|| findings(global, &arguments).map(|findings| report::in_short(&findings)))
}

/// Makes hierad answer like the Puppet and the Ruby that are asked. Returns warnings if the settings name others.
fn adopt(settings: &mut Settings, puppet: &Process) -> [Option<String>; 2] {
    let wanted = (settings.puppet, settings.ruby);
    settings.puppet = Puppet::of_version(&puppet.version);
    settings.ruby = puppet.ruby.as_deref().and_then(Ruby::of_version).or(settings.ruby);
    [warning_of_version(&puppet.version, wanted.0), warning_of_ruby(puppet.ruby.as_deref(), wanted.1)]
}

fn findings(global: &Global, arguments: &Arguments) -> Result<Findings> {
    let mut workspace = global.open()?;
    workspace.compares_secrets = true;
    // Puppet is asked as `puppet lookup` does it, and not as manifests do.
    workspace.settings.reads_manifests = false;
    let progress = global.show_progress(&workspace);
    let stage = Stage::new()?;
    let ruby = ruby::find(arguments.puppet_ruby.as_deref())
        .ok_or("there is no Puppet and no OpenVox on this machine: name the Ruby that has it with --puppet-ruby")?;
    let installation = (&*ruby, arguments.puppet_lib.as_deref());
    let code = if arguments.run_code { Code::All } else { Code::Installed };
    let mut puppet = Process::start(Reference::Puppet, installation, code, &stage)?;
    let warnings = adopt(&mut workspace.settings, &puppet);
    let point = workspace.point(&arguments.at.revision)?;
    let branch = workspace.branch(&arguments.at.revision)?;
    let mut pipeline = global.pipeline(&workspace, branch.as_ref(), &[point], &|_| true)?;
    let mut revision = pipeline.revision(point)?;
    for warning in absent_hierarchies(&revision.environment) {
        global.progress.print(&warning);
    }
    let staged = stage.write(&revision.environment, &workspace, code)?;
    if revision.environment.is_hiera3 {
        puppet = Process::start(Reference::Hiera3, installation, code, &stage)?;
        puppet.merge(strategies(&revision).into_iter());
    } else {
        warnings.iter().flatten().for_each(|warning| global.progress.print(warning));
    }
    let mut declared = None;
    if let Some(settings) = without_declarations(&workspace.settings, puppet.reference) {
        declared = Some(pipeline.effective(&revision, revision.keys.iter()));
        workspace.settings = settings;
        pipeline = workspace.pipeline(workspace.revisions(), pipeline.fleet);
        revision = pipeline.revision(point)?;
    }
    let effective = pipeline.effective(&revision, revision.keys.iter());
    let seed = arguments.seed.unwrap_or_else(seed_of_clock);
    let pairs = pairs(&pipeline.fleet, &revision, (!arguments.all).then_some((arguments.sample, seed)));
    let mut verification = Verification {
        fleet: &revision.fleet,
        profiles: &revision.fleet.profiles(&pairs.keys().copied().collect()),
        revision: &revision,
        effective: &effective,
        declared: declared.as_ref(),
        stage: &stage,
        staged: &staged,
        puppet: &mut puppet,
        code,
        workers: &workspace.workers,
    };
    let mut findings = Findings {
        seed: (!arguments.all).then_some(seed),
        all: pipeline.fleet.len() * revision.keys.len(),
        left_out: pipeline.fleet.left_out().len(),
        ..Findings::default()
    };
    verification.compare(&pairs, &mut findings)?;
    findings.reference = verification.puppet.reference;
    findings.version.clone_from(&verification.puppet.version);
    findings.ruby.clone_from(&verification.puppet.ruby);
    drop(progress);
    Ok(findings)
}

/// Returns the settings without the declarations that the reference does not have: answers of `backends` and, for
/// Puppet, `lookup_options`. Returns `None` if there are no such declarations.
fn without_declarations(settings: &Settings, reference: Reference) -> Option<Settings> {
    let mut bare = Settings { backends: Backends::new(), ..settings.clone() };
    let declares_options = reference == Reference::Puppet && !settings.lookup_options.is_empty();
    if declares_options {
        bare.lookup_options = Arc::default();
    }
    (declares_options || !settings.backends.is_empty()).then_some(bare)
}

/// Returns the strategies that make Hiera 3 merge keys as the settings say. Keys that it refuses fail on both sides.
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

/// Returns a warning if the settings name a Ruby that answers otherwise, else `None`.
fn warning_of_ruby(found: Option<&str>, settings: Option<Ruby>) -> Option<String> {
    let (found, other) = (found?, settings?.name());
    let text = || format!("hierad: the settings say Ruby {other}, the machine has {found}: comparing with {found}");
    (Ruby::of_version(found) != settings).then(text)
}

fn seed_of_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
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
            let asked: Vec<Asked> =
                batch.iter().map(|node| Asked::new(*node, &self.profiles[node], &pairs[node])).collect();
            let told = self.puppet.ask(self.stage, self.staged, &asked)?;
            for asked in &asked {
                for key in &asked.keys {
                    let theirs = told.get(&(asked.node, key.clone())).cloned().unwrap_or(Answer::NotFound);
                    let ours = Answer::of(self.effective, asked.node, key);
                    if self.declared.is_some_and(|declared| Answer::of(declared, asked.node, key) != ours) {
                        findings.declared += 1;
                        continue;
                    }
                    if self.code == Code::Installed && (theirs.needs_code() || ours.needs_code()) {
                        findings.code += 1;
                        continue;
                    }
                    match compare::verdict(&theirs, &ours) {
                        Verdict::Unknown => findings.unknown += 1,
                        Verdict::NotAsked => findings.code += 1,
                        Verdict::Same => findings.count(&ours),
                        Verdict::Different => different.push((asked.node, key.clone(), ours)),
                    }
                }
            }
            progress.advance(batch.len());
        }
        different.into_iter().try_for_each(|(node, key, ours)| self.look_closer(node, key, ours, findings))
    }

    /// Groups nodes of one environment, not too many at a time.
    fn batches(&self, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut environments: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for node in nodes {
            environments.entry(&self.profiles[node].environment).or_default().push(*node);
        }
        environments.values().flat_map(|nodes| nodes.chunks(BATCH)).map(<[NodeId]>::to_vec).collect()
    }

    /// Asks again for this one key: a merge with a knock-out prefix changes Puppet's later answers.
    fn look_closer(&mut self, node: NodeId, key: Arc<str>, ours: Answer, findings: &mut Findings) -> Result<()> {
        let asked = [Asked::new(node, &self.profiles[&node], std::slice::from_ref(&key))];
        let theirs =
            self.puppet.ask(self.stage, self.staged, &asked)?.remove(&(node, key.clone())).unwrap_or(Answer::NotFound);
        match compare::verdict(&theirs, &ours) {
            Verdict::Same => findings.count(&ours),
            Verdict::Unknown => findings.unknown += 1,
            Verdict::NotAsked => findings.code += 1,
            Verdict::Different => return self.disagree(node, key, [theirs, ours], &asked, findings),
        }
        Ok(())
    }

    fn disagree(
        &mut self,
        node: NodeId,
        key: Arc<str>,
        [theirs, ours]: [Answer; 2],
        asked: &[Asked],
        findings: &mut Findings,
    ) -> Result<()> {
        let explained = if findings.disagreements.len() < TOLD {
            Some(self.explain(node, &key, asked, ours.is_secret() || theirs.is_secret())?)
        } else {
            None
        };
        findings.answers += 1;
        let node = self.fleet.name(node).clone();
        findings.disagreements.push(Disagreement { node, key, puppet: theirs, hierad: ours, explained });
        Ok(())
    }

    fn explain(&mut self, node: NodeId, key: &str, asked: &[Asked], secret: bool) -> Result<Explained> {
        let recorder = Recorder::default();
        let scope = self.fleet.scope(node);
        let environment = self.revision.environment.of(&scope);
        let sources = NodeSources::new(environment, &scope);
        _ = Lookup::new(environment, &sources, &scope).explained_by(&recorder).get(key, None);
        let explained = recorder.finish();
        // Puppet's explanation cannot tell a secret from a value.
        if secret || explained.has_secrets() {
            return Ok(Explained::hidden());
        }
        let puppet = self.puppet.explain(self.stage, self.staged, asked)?;
        Ok(Explained { puppet, hierad: explained.text(Places::Shown) })
    }
}
