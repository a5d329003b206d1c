//! Where the data of a revision lies for whom: for each part of each layer's hierarchy, the classes of nodes that it leads to
//! the same files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use foldhash::fast::{FixedState, RandomState};
use indexmap::IndexMap;
use indexmap::map::Entry;

use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::fleet::answers::classes::classes_by_variables;
use crate::fleet::answers::reads::RecordingScope;
use crate::fleet::change::references::PartReferences;
use crate::fleet::partition::Partition;
use crate::fleet::revision::lanes::{Keyed, Lane};
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

/// What decides the answers of a part; compared by its hash first.
struct Signature {
    levels: Result<Vec<(Value, Vec<LocationSignature>)>, LookupError>,
    hash: u64,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Signature) -> bool {
        self.hash == other.hash && self.levels == other.levels
    }
}

impl Eq for Signature {}

impl Hash for Signature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

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

/// What some nodes see of a part.
#[derive(Default)]
pub(in crate::fleet) struct Seen {
    /// The nodes that see the same.
    classes: IndexMap<Arc<Signature>, (NodeSet, Part), RandomState>,
    findings: Vec<(NodeSet, Diagnostic)>,
    /// What was looked at for whom.
    looked: Vec<(NodeSet, Looked)>,
}

impl Seen {
    /// Adds what others see, or more of them.
    fn add(&mut self, nodes: NodeSet, part: Part, signature: Arc<Signature>) {
        match self.classes.entry(signature) {
            Entry::Occupied(mut known) => known.get_mut().0.extend(&nodes),
            Entry::Vacant(new) => _ = new.insert((nodes, part)),
        }
    }
}

impl Placed {
    /// A part of a hierarchy of which this is what all nodes see.
    pub(in crate::fleet) fn new(fleet: &Fleet, seen: impl IntoIterator<Item = Seen>) -> Placed {
        Placed::gather(fleet, Seen::default(), seen, Looks::new(fleet.len()))
    }

    /// The nodes that may see something else where the files of the repository differ at the paths `changed`.
    pub(in crate::fleet) fn concerned(&self, changed: &BTreeSet<String>) -> NodeSet {
        self.looked.nodes(changed)
    }

    /// Whether so much of other revisions is kept that it is better made anew.
    pub(in crate::fleet) fn is_crowded(&self) -> bool {
        self.looked.is_crowded()
    }

    /// The same part where `nodes` see this, and all others what they saw.
    pub(in crate::fleet) fn updated(
        &self,
        fleet: &Fleet,
        nodes: &NodeSet,
        seen: impl IntoIterator<Item = Seen>,
    ) -> Placed {
        let mut kept = Seen::default();
        for ((set, part), signature) in self.partition.sets().iter().zip(&self.classes).zip(&self.signatures) {
            let others = set.without(nodes);
            if !others.is_empty() {
                kept.add(others, part.clone(), signature.clone());
            }
        }
        let findings = self.findings.iter().map(|(set, diagnostic)| (set.without(nodes), diagnostic.clone()));
        kept.findings = findings.filter(|(set, _)| !set.is_empty()).collect();
        let updated = Placed::gather(fleet, kept, seen, self.looked.clone());
        if let Some(references) = self.references.get().filter(|known| known.are_those_of(self, &updated)) {
            _ = updated.references.set(references.clone());
        }
        updated
    }

    /// Puts together what is `kept` of other nodes and what is `seen`.
    fn gather(fleet: &Fleet, kept: Seen, seen: impl IntoIterator<Item = Seen>, mut looked: Looks) -> Placed {
        let mut all = kept;
        for seen in seen {
            for (nodes, of_nodes) in seen.looked {
                looked.add(&nodes, of_nodes);
            }
            all.findings.extend(seen.findings);
            for (signature, (nodes, part)) in seen.classes {
                all.add(nodes, part, signature);
            }
        }
        let (signatures, classes): (Vec<_>, Vec<_>) = all.classes.into_iter().unzip();
        let (sets, classes): (Vec<NodeSet>, Vec<Part>) = classes.into_iter().unzip();
        let for_any_key: Vec<usize> =
            (0..).zip(&classes).filter(|(_, part)| is_for_any_key(part)).map(|(at, _)| at).collect();
        let partition = Partition::of_sets(fleet.len(), sets);
        let lanes = Lane::of(&partition, &classes, &for_any_key);
        Placed {
            partition,
            classes,
            signatures,
            for_any_key,
            lanes,
            findings: all.findings,
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

    /// The same with the classes that are led to one of `paths` among those that may answer for any key.
    pub(in crate::fleet) fn marked(&self, paths: &BTreeSet<Arc<str>>) -> Placed {
        let is_led = |at: &usize| self.files(*at).any(|(path, _)| paths.contains(path));
        let more: BTreeSet<usize> = (0..self.classes.len()).filter(is_led).chain(self.for_any_key.clone()).collect();
        let for_any_key: Vec<usize> = more.into_iter().collect();
        Placed {
            partition: self.partition.clone(),
            classes: self.classes.clone(),
            signatures: self.signatures.clone(),
            lanes: vec![Lane::whole(&self.partition, &self.classes, &for_any_key)],
            for_any_key,
            findings: self.findings.clone(),
            is_marked: true,
            looked: self.looked.clone(),
            references: OnceLock::new(),
        }
    }

    /// Which keys refer to which.
    pub(in crate::fleet) fn references(&self) -> &Arc<PartReferences> {
        self.references.get_or_init(|| Arc::new(PartReferences::new(self)))
    }

    /// What has root keys here, some of it again.
    pub(in crate::fleet) fn keyed(&self) -> impl Iterator<Item = &Keyed> {
        self.lanes.iter().flat_map(Lane::keyed)
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
pub(in crate::fleet) fn see(environment: &Environment, of: PartOf<'_>, fleet: &Fleet, nodes: NodeSet) -> Seen {
    let tree = Watched::new(&*environment.tree);
    let classes = classes_by_variables(fleet, nodes.clone(), |node, reads| {
        let scope = RecordingScope { scope: fleet.scope(node), reads };
        let part = resolve_part(environment, (of.layer, of.config, of.number), &scope, &tree);
        (part, tree.take())
    });
    let mut seen = Seen::default();
    for (nodes, (part, looked)) in classes {
        seen.findings.extend(part.diagnostics.iter().map(|diagnostic| (nodes.clone(), diagnostic.clone())));
        seen.looked.push((nodes.clone(), looked));
        let signature = Arc::new(signature(&part));
        seen.add(nodes, part, signature);
    }
    // The folders on the way are the same for all of them.
    let common = Looked::common(seen.looked.iter_mut().map(|(_, looked)| looked));
    seen.looked.insert(0, (nodes, common));
    seen
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
    let levels = part.levels.as_ref().map(|levels| levels.iter().map(level).collect()).map_err(Clone::clone);
    let hash = FixedState::default().hash_one(&levels);
    Signature { levels, hash }
}
