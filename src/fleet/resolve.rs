//! The resolution of a whole fleet.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::class::{Class, classes};
use super::keys::{absent_modules, repository_keys};
use super::scope::{Reads, RecordingScope};
use super::{Answer, Effective, Finding, Fleet};
use crate::diagnostic::Place;
use crate::hiera::Outcome;
use crate::hiera::backend::{Backend, Declared};
use crate::hiera::hierarchy::{Content, Hierarchy, Level, Location};
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Hierarchies, Lookup, OptionsCache};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::hiera::scope::{Scope, Variable};
use crate::node::{NodeId, NodeSet};
use crate::tree::TreeError;

/// One revision of a repository, ready to answer for a fleet.
pub struct Revision {
    /// What the repository says.
    pub environment: Environment,
    classes: Vec<Class>,
    /// What was found while the hierarchies were resolved.
    pub findings: Vec<Finding>,
    /// Every key that a data file of the repository gives a value to, in order.
    pub keys: BTreeSet<Arc<str>>,
}

impl Revision {
    /// Resolves the hierarchies of all nodes and finds all keys.
    pub fn new(environment: Environment, fleet: &Fleet) -> Result<Revision, TreeError> {
        let (classes, mut findings) = classes(&environment, fleet);
        let mut keys = repository_keys(&environment)?;
        let mut seen = HashSet::new();
        for class in &classes {
            class_keys(class, &mut seen, &mut keys);
        }
        keys.remove(LOOKUP_OPTIONS);
        findings.extend(absent_modules(&environment, &keys));
        Ok(Revision { environment, classes, findings, keys })
    }

    /// The hierarchies of a node of the fleet that the revision was resolved for.
    pub fn hierarchies(&self, node: NodeId) -> Option<&Hierarchies> {
        self.classes.iter().find(|class| class.nodes.contains(node)).map(|class| &*class.hierarchies)
    }

    /// The paths of all files that some node's hierarchy leads to.
    pub fn reached_files(&self) -> BTreeSet<Arc<str>> {
        let levels = self.classes.iter().flat_map(|c| c.hierarchies.all()).flat_map(Hierarchy::all_levels);
        let path = |location: &Location| match location {
            Location::Path { path, content: Content::File(..) | Content::Other, .. } => Some(path.clone()),
            _ => None,
        };
        levels.flat_map(|level| level.locations.iter().filter_map(path)).collect()
    }
}

impl Revision {
    /// The levels of encrypted data that have files, but no key here, by place and name, with the nodes whose they are.
    pub fn keyless_levels(&self) -> BTreeMap<(Place, Arc<str>), NodeSet> {
        let mut found: BTreeMap<_, NodeSet> = BTreeMap::new();
        let has_files = |level: &Level| {
            let is_file = |location| matches!(location, &Location::Path { content: Content::File(..), .. });
            level.locations.iter().any(is_file)
        };
        for class in &self.classes {
            for level in class.hierarchies.all().flat_map(Hierarchy::all_levels) {
                let is_encrypted = matches!(level.backend, Backend::Eyaml(_)) && has_files(level);
                if is_encrypted && matches!(self.environment.keys.of(&level.options), Ok(None)) {
                    found.entry((level.place.clone(), level.name.clone())).or_default().extend(&class.nodes);
                }
            }
        }
        found
    }
}

/// The keys of what a class's hierarchies lead to: files with unusual names, values of declared functions.
fn class_keys(class: &Class, seen: &mut HashSet<Arc<str>>, keys: &mut BTreeSet<Arc<str>>) {
    for level in class.hierarchies.all().flat_map(Hierarchy::all_levels) {
        if let Backend::Declared(Declared::Values(values)) = &level.backend {
            keys.extend(values.keys().map(|key| Arc::from(crate::value::ruby::to_s(key))));
        }
        for location in &level.locations {
            if let Location::Path { path, content: Content::File(_, file), .. } = location
                && seen.insert(path.clone())
            {
                keys.extend(file.keys().map(Arc::from));
            }
        }
    }
}

/// The effective values of `keys` on every node of the fleet. The result does not depend on `threads`.
pub fn resolve(revision: &Revision, fleet: &Fleet, keys: &BTreeSet<Arc<str>>, threads: NonZeroUsize) -> Effective {
    let keys: Vec<&Arc<str>> = keys.iter().collect();
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<ClassAnswers<'_>>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(class) = revision.classes.get(at) else { break };
            let answers = Evaluation { revision, fleet, class, keys: &keys }.run();
            found.lock().unwrap_or_else(PoisonError::into_inner).push((at, answers));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(revision.classes.len()).max(1) {
            let builder = std::thread::Builder::new().name("resolve".into());
            if builder.spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(at, _)| *at);
    collect(found)
}

type ClassAnswers<'k> = (usize, Vec<(&'k Arc<str>, NodeSet, Outcome)>);

/// Joins the answers of all classes: equal ones of a key become one.
fn collect(found: Vec<ClassAnswers<'_>>) -> Effective {
    let mut interned: HashSet<Arc<Outcome>, RandomState> = HashSet::default();
    let mut keys: BTreeMap<Arc<str>, HashMap<Arc<Outcome>, NodeSet, RandomState>> = BTreeMap::new();
    for (key, nodes, outcome) in found.into_iter().flat_map(|(_, answers)| answers) {
        let outcome = if let Some(outcome) = interned.get(&outcome) {
            outcome.clone()
        } else {
            let outcome = Arc::new(outcome);
            interned.insert(outcome.clone());
            outcome
        };
        keys.entry(key.clone()).or_default().entry(outcome).or_default().extend(&nodes);
    }
    let answers = |outcomes: HashMap<Arc<Outcome>, NodeSet, RandomState>| {
        let mut answers: Vec<Answer> = outcomes.into_iter().map(|(outcome, nodes)| Answer { nodes, outcome }).collect();
        answers.sort_by_key(|answer| answer.nodes.smallest());
        answers
    };
    Effective { keys: keys.into_iter().map(|(key, outcomes)| (key, answers(outcomes))).collect() }
}

/// The evaluation of all keys on one class.
struct Evaluation<'a> {
    revision: &'a Revision,
    fleet: &'a Fleet,
    class: &'a Class,
    keys: &'a [&'a Arc<str>],
}

impl<'a> Evaluation<'a> {
    fn run(&self) -> Vec<(&'a Arc<str>, NodeSet, Outcome)> {
        let mut answers = Vec::new();
        for (nodes, options) in self.split_by_options(self.class.nodes.clone()) {
            for key in self.keys {
                self.answer(key, nodes.clone(), &options, &mut answers);
            }
        }
        answers
    }

    /// Splits nodes by what their `lookup_options` read, and reads those once for each part.
    fn split_by_options(&self, nodes: NodeSet) -> Vec<(NodeSet, OptionsCache)> {
        let mut parts = Vec::new();
        let mut pending = vec![nodes];
        while let Some(nodes) = pending.pop() {
            let Some(node) = nodes.smallest() else { continue };
            let scope = RecordingScope::new(self.fleet.scope(node));
            let lookup = self.lookup(&scope);
            lookup.prepare_options();
            let options = lookup.options_cache();
            let (same, others) = self.split(&nodes, node, &scope.take());
            parts.push((same, options));
            pending.extend(others);
        }
        parts
    }

    fn lookup(&self, scope: &'a dyn Scope) -> Lookup<'a>
    where
        Self: 'a,
    {
        Lookup::new(&self.revision.environment, &self.class.hierarchies, scope)
    }

    /// Answers `key` for `nodes`: evaluates it on one of them, and on the others as far as what was read differs.
    fn answer(
        &self,
        key: &'a Arc<str>,
        nodes: NodeSet,
        options: &OptionsCache,
        answers: &mut Vec<(&'a Arc<str>, NodeSet, Outcome)>,
    ) {
        let mut pending = vec![nodes];
        while let Some(nodes) = pending.pop() {
            let Some(node) = nodes.smallest() else { continue };
            let scope = RecordingScope::new(self.fleet.scope(node));
            let (environment, hierarchies) = (&self.revision.environment, &self.class.hierarchies);
            let outcome = Lookup::with_options(environment, hierarchies, &scope, options.clone()).get(key, None);
            let (same, others) = self.split(&nodes, node, &scope.take());
            if outcome != Outcome::NotFound {
                answers.push((key, same, outcome));
            }
            pending.extend(others);
        }
    }

    /// The nodes on which all of `reads` are as on `node`, and the others in groups that agree among themselves.
    fn split(&self, nodes: &NodeSet, node: NodeId, reads: &Reads) -> (NodeSet, Vec<NodeSet>) {
        if reads.is_empty() {
            return (nodes.clone(), Vec::new());
        }
        let mut groups: HashMap<Vec<Variable>, NodeSet> = HashMap::new();
        for node in nodes.iter() {
            let scope = self.fleet.scope(node);
            groups.entry(reads.iter().map(|name| scope.variable(name)).collect()).or_default().insert(node);
        }
        let mut same = NodeSet::new();
        let mut others = Vec::new();
        for group in groups.into_values() {
            if group.contains(node) { same = group } else { others.push(group) }
        }
        (same, others)
    }
}
