//! Where the data of a revision lies for whom: for each part of each layer's hierarchy, the classes of nodes that it leads to
//! the same files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::fleet::answers::classes::classes_by_variables;
use crate::fleet::answers::reads::RecordingScope;
use crate::fleet::change::references::PartReferences;
use crate::fleet::partition::Partition;
use crate::fleet::revision::lanes::Lane;
use crate::fleet::revision::looks::Looks;
use crate::hiera::backend::{Backend, DataFile};
use crate::hiera::config::Config;
use crate::hiera::hierarchy::{Content, Level, Location, Part};
use crate::hiera::layer::{Environment, Layer};
use crate::hiera::lookup::resolve_part;
use crate::hiera::{ErrorKind, LookupError};
use crate::node::NodeSet;
use crate::tree::{BlobId, Looked, Watched};
use crate::value::Value;

/// A part of a hierarchy, as all nodes see it.
#[derive(Clone)]
pub(in crate::fleet) struct Placed {
    /// The nodes, divided by what they see.
    pub(in crate::fleet) partition: Partition,
    /// What the nodes of each class see.
    pub(in crate::fleet) classes: Vec<Part>,
    /// What decides the answers of each class.
    signatures: Vec<Arc<Signature>>,
    /// The classes that may answer, or fail, for any key.
    pub(in crate::fleet) for_any_key: Vec<usize>,
    /// Where root keys are seen.
    pub(in crate::fleet) lanes: Vec<Lane>,
    /// What is odd, and for whom.
    pub(in crate::fleet) findings: Vec<(NodeSet, Diagnostic)>,
    /// Whether more classes may answer for any key than it shows by itself.
    pub(in crate::fleet) is_marked: bool,
    /// What was looked at in the files of the repository.
    looked: Looks,
    references: OnceLock<Arc<PartReferences>>,
}

/// What decides the answers of a part.
type Signature = Result<Vec<(Value, Vec<LocationSignature>)>, LookupError>;

#[derive(PartialEq, Eq, Hash)]
enum LocationSignature {
    Whole,
    Absent,
    Other(Arc<str>),
    File(Arc<str>, BlobId),
    Unreadable(LookupError),
}

/// Which part of which layer's hierarchy.
#[derive(Clone, Copy)]
pub(in crate::fleet) struct PartOf<'a> {
    pub(in crate::fleet) layer: &'a Layer,
    pub(in crate::fleet) config: &'a Config,
    pub(in crate::fleet) number: usize,
}

/// What the nodes of a set see.
struct Seen {
    nodes: NodeSet,
    part: Part,
    looked: Looked,
}

impl Placed {
    /// Resolves a part of a hierarchy for all nodes.
    pub(in crate::fleet) fn new(environment: &Environment, of: PartOf<'_>, fleet: &Fleet) -> Placed {
        let seen = see(environment, of, fleet, fleet.all());
        let mut looked = Looks::new(fleet.len());
        for seen in &seen {
            looked.add(&seen.nodes, &seen.looked);
        }
        Placed::gather(fleet, Vec::new(), Vec::new(), seen, looked)
    }

    /// The same part where the files of the repository differ at the paths `changed`; nothing if that makes no difference.
    pub(in crate::fleet) fn updated(
        &self,
        environment: &Environment,
        of: PartOf<'_>,
        fleet: &Fleet,
        changed: &BTreeSet<String>,
    ) -> Option<Placed> {
        let nodes = self.looked.nodes(changed);
        if nodes.is_empty() {
            return None;
        }
        if self.looked.is_crowded() {
            return Some(Placed::new(environment, of, fleet));
        }
        let seen = see(environment, of, fleet, nodes.clone());
        let mut looked = self.looked.clone();
        for seen in &seen {
            looked.add(&seen.nodes, &seen.looked);
        }
        let others = self.partition.sets().iter().zip(&self.classes).zip(&self.signatures);
        let kept = others
            .map(|((set, part), signature)| (set.without(&nodes), part.clone(), signature.clone()))
            .filter(|(set, ..)| !set.is_empty());
        let findings = self.findings.iter().map(|(set, diagnostic)| (set.without(&nodes), diagnostic.clone()));
        let findings = findings.filter(|(set, _)| !set.is_empty());
        Some(Placed::gather(fleet, kept.collect(), findings.collect(), seen, looked))
    }

    /// Puts together what is `kept` of other nodes and what is `seen`.
    fn gather(
        fleet: &Fleet,
        kept: Vec<(NodeSet, Part, Arc<Signature>)>,
        mut findings: Vec<(NodeSet, Diagnostic)>,
        seen: Vec<Seen>,
        looked: Looks,
    ) -> Placed {
        let mut sets = Vec::new();
        let mut classes = Vec::new();
        let mut by_signature: IndexSet<Arc<Signature>, RandomState> = IndexSet::default();
        for (nodes, part, signature) in kept {
            by_signature.insert(signature);
            sets.push(nodes);
            classes.push(part);
        }
        for Seen { nodes, part, .. } in seen {
            findings.extend(part.diagnostics.iter().map(|diagnostic| (nodes.clone(), diagnostic.clone())));
            let (at, is_new) = by_signature.insert_full(Arc::new(signature(&part)));
            if is_new {
                sets.push(nodes);
                classes.push(part);
            } else {
                sets[at].extend(&nodes);
            }
        }
        let for_any_key: Vec<usize> =
            (0..).zip(&classes).filter(|(_, part)| is_for_any_key(part)).map(|(at, _)| at).collect();
        let partition = Partition::of_sets(fleet.len(), sets);
        let signatures = by_signature.into_iter().collect();
        let lanes = Lane::of(&partition, &classes, &for_any_key);
        Placed {
            partition,
            classes,
            signatures,
            for_any_key,
            lanes,
            findings,
            is_marked: false,
            looked,
            references: OnceLock::new(),
        }
    }

    /// For each class the one of `other` that sees the same.
    pub(in crate::fleet) fn matched(&self, other: &Placed) -> Vec<Option<usize>> {
        // What one is made of the other shares its signatures: only those of others are compared by what they are.
        let at: HashMap<*const Signature, usize, RandomState> =
            other.signatures.iter().map(Arc::as_ptr).zip(0..).collect();
        let mut matched: Vec<Option<usize>> =
            self.signatures.iter().map(|s| at.get(&Arc::as_ptr(s)).copied()).collect();
        let taken: HashSet<usize, RandomState> = matched.iter().flatten().copied().collect();
        let rest = other.signatures.iter().zip(0..).filter(|(_, at)| !taken.contains(at));
        let rest: HashMap<&Signature, usize, RandomState> = rest.map(|(signature, at)| (&**signature, at)).collect();
        for (matched, signature) in matched.iter_mut().zip(&self.signatures).filter(|(matched, _)| matched.is_none()) {
            *matched = rest.get(&**signature).copied();
        }
        matched
    }

    /// Counts the classes that are led to one of `paths` among those that may answer for any key.
    pub(in crate::fleet) fn mark(&mut self, paths: &BTreeSet<Arc<str>>) {
        let is_led = |at: &usize| self.files(*at).any(|(path, _)| paths.contains(path));
        let more: BTreeSet<usize> = (0..self.classes.len()).filter(is_led).chain(self.for_any_key.clone()).collect();
        self.for_any_key = more.into_iter().collect();
        self.lanes = vec![Lane::whole(&self.partition, &self.classes, &self.for_any_key)];
        self.is_marked = true;
    }

    /// Which keys refer to which.
    pub(in crate::fleet) fn references(&self) -> &Arc<PartReferences> {
        self.references.get_or_init(|| Arc::new(PartReferences::new(self)))
    }

    /// The root keys that somebody sees here, some of them again.
    pub(in crate::fleet) fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.lanes.iter().flat_map(Lane::keys)
    }

    /// Whether somebody sees the root key here.
    pub(in crate::fleet) fn has(&self, root: &str) -> bool {
        self.lanes.iter().any(|lane| lane.has(root))
    }

    /// Whether a part of it could not be read: it may be next time.
    pub(in crate::fleet) fn is_unknown(&self) -> bool {
        let is_unknown = |part: &Part| part.levels.as_ref().is_err_and(|error| error.kind == ErrorKind::Unknown);
        self.classes.iter().any(is_unknown)
    }

    /// Whether nothing is odd about it.
    pub(in crate::fleet) fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.classes.iter().all(|part| part.levels.is_ok())
    }

    /// The data files that the class `class` is led to.
    pub(in crate::fleet) fn files(&self, class: usize) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
        files(&self.classes[class])
    }
}

/// What `nodes` see of a part.
fn see(environment: &Environment, of: PartOf<'_>, fleet: &Fleet, nodes: NodeSet) -> Vec<Seen> {
    let tree = Watched::new(&*environment.tree);
    let seen = classes_by_variables(fleet, nodes, |node, reads| {
        let scope = RecordingScope { scope: fleet.scope(node), reads };
        let part = resolve_part(environment, (of.layer, of.config, of.number), &scope, &tree);
        (part, tree.take())
    });
    seen.into_iter().map(|(nodes, (part, looked))| Seen { nodes, part, looked }).collect()
}

/// The data files of a part.
fn files(part: &Part) -> impl Iterator<Item = (&Arc<str>, &Arc<DataFile>)> {
    let locations = part.levels.iter().flatten().flat_map(|level| &level.locations);
    locations.filter_map(|location| match location {
        Location::Path { path, content: Content::File(_, file), .. } => Some((path, file)),
        _ => None,
    })
}

fn is_for_any_key(part: &Part) -> bool {
    let Ok(levels) = &part.levels else { return true };
    let is_odd = |level: &Arc<Level>| match &level.backend {
        Backend::Declared(_) | Backend::Fails(_) => true,
        Backend::Files(_) | Backend::Eyaml(_) => level.locations.iter().any(|location| match location {
            Location::Whole | Location::Uri { .. } => true,
            Location::Path { content, .. } => match content {
                Content::Absent => false,
                Content::Other | Content::Unreadable(_) => true,
                Content::File(_, file) => file.concerns_all_keys(),
            },
        }),
    };
    levels.iter().any(is_odd)
}

fn signature(part: &Part) -> Signature {
    let location = |location: &Location| match location {
        Location::Whole => LocationSignature::Whole,
        Location::Uri { uri, .. } => LocationSignature::Other(uri.clone()),
        Location::Path { path, content, .. } => match content {
            Content::Absent => LocationSignature::Absent,
            Content::Other => LocationSignature::Other(path.clone()),
            Content::File(id, _) => LocationSignature::File(path.clone(), *id),
            Content::Unreadable(error) => LocationSignature::Unreadable(error.clone()),
        },
    };
    let level = |level: &Arc<Level>| (level.options.clone(), level.locations.iter().map(location).collect());
    part.levels.as_ref().map(|levels| levels.iter().map(level).collect()).map_err(Clone::clone)
}
