//! Where the data of a revision lies for whom: for each part of each layer's hierarchy, the classes of nodes that it leads to
//! the same files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::diagnostic::Diagnostic;
use crate::fleet::Fleet;
use crate::fleet::affected::references::PartReferences;
use crate::fleet::nodes::variables::VariablePath;
use crate::fleet::resolve::classes::classes_by_variables;
use crate::fleet::resolve::reads::{Reads, RecordingScope};
use crate::fleet::revision::class::Class;
use crate::fleet::revision::division::Division;
use crate::fleet::revision::lanes::{Keyed, Lane};
use crate::fleet::revision::looks::Looks;
use crate::fleet::revision::own_paths::OwnPaths;
use crate::hiera::config::Config;
use crate::hiera::layer::{Environment, Layer};
use crate::hiera::lookup::resolve_part;
use crate::node::{NodeSet, Partition};
use crate::puppet::ErrorKind;
use crate::tree::{AccessedPaths, RecordingTree};

/// A part of a hierarchy, as all nodes see it.
pub(in crate::fleet) struct Placed {
    /// The nodes, divided by what they see.
    pub(in crate::fleet) partition: Partition,
    /// What the nodes of each class see.
    pub(in crate::fleet) classes: Vec<Arc<Class>>,
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
    classes: IndexMap<Arc<Class>, NodeSet, RandomState>,
    findings: Vec<(NodeSet, Diagnostic)>,
    /// What was looked at for whom.
    looked: Vec<(NodeSet, AccessedPaths)>,
}

impl Placed {
    /// A part of a hierarchy of which this is what all nodes see.
    pub(in crate::fleet) fn new(fleet: &Fleet, own: &OwnPaths, seen: impl IntoIterator<Item = Seen>) -> Placed {
        let nobody = Placed {
            partition: Partition::of_classes(fleet.len(), Vec::new()),
            classes: Vec::new(),
            for_any_key: Vec::new(),
            lanes: Vec::new(),
            findings: Vec::new(),
            is_marked: false,
            looked: Looks::default(),
            references: OnceLock::new(),
        };
        let mut placed = nobody.updated(&fleet.all(), own, seen);
        placed.looked.begin();
        placed
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
        nodes: &NodeSet,
        own: &OwnPaths,
        seen: impl IntoIterator<Item = Seen>,
    ) -> Placed {
        let mut division = Division::without(nodes, &self.partition, &self.classes);
        let mut looked = self.looked.clone();
        looked.add_patterns(own.patterns());
        let kept = self.findings.iter().map(|(set, diagnostic)| (set.difference(nodes), diagnostic.clone()));
        let mut findings: Vec<(NodeSet, Diagnostic)> = kept.filter(|(set, _)| !set.is_empty()).collect();
        for seen in seen {
            seen.looked.into_iter().for_each(|(nodes, of_nodes)| looked.add(&nodes, of_nodes));
            findings.extend(seen.findings);
            seen.classes.into_iter().for_each(|(class, nodes)| division.add(class, &nodes));
        }
        let (partition, classes) = division.finish();
        let for_any_key = (0..classes.len()).filter(|at| classes[*at].is_for_any_key).collect::<Vec<_>>();
        let lanes = Lane::of(&partition, &classes, &for_any_key);
        let updated = Placed {
            partition,
            classes,
            for_any_key,
            lanes,
            findings,
            is_marked: false,
            looked,
            references: OnceLock::new(),
        };
        if let Some(references) = self.references.get() {
            _ = updated.references.set(references.updated(self, &updated));
        }
        updated
    }

    /// For each class the one of `other` that sees the same.
    #[expect(clippy::mutable_key_type, reason = "classes are told apart by their signatures, which do not change")]
    pub(in crate::fleet) fn matched(&self, other: &Placed) -> Vec<Option<usize>> {
        // What one is made of the other shares its classes: only those of others are compared by what they are.
        let at: HashMap<*const Class, usize, RandomState> = other.classes.iter().map(Arc::as_ptr).zip(0..).collect();
        let mut matched: Vec<Option<usize>> =
            self.classes.iter().map(|class| at.get(&Arc::as_ptr(class)).copied()).collect();
        let taken: HashSet<usize, RandomState> = matched.iter().flatten().copied().collect();
        let rest = other.classes.iter().zip(0..).filter(|(_, at)| !taken.contains(at));
        let rest: HashMap<Arc<Class>, usize, RandomState> = rest.map(|(class, at)| (class.clone(), at)).collect();
        for (matched, class) in matched.iter_mut().zip(&self.classes).filter(|(matched, _)| matched.is_none()) {
            *matched = rest.get(class).copied();
        }
        matched
    }

    /// The same with the classes that are led to one of `paths` among those that may answer for any key.
    pub(in crate::fleet) fn marked(&self, paths: &BTreeSet<Arc<str>>) -> Placed {
        let is_led = |at: &usize| self.classes[*at].files().any(|(path, _)| paths.contains(path));
        let more: BTreeSet<usize> = (0..self.classes.len()).filter(is_led).chain(self.for_any_key.clone()).collect();
        let for_any_key: Vec<usize> = more.into_iter().collect();
        Placed {
            partition: self.partition.clone(),
            classes: self.classes.clone(),
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
        let is_unknown =
            |class: &Arc<Class>| class.part.levels.as_ref().is_err_and(|error| error.kind == ErrorKind::Unknown);
        self.classes.iter().any(is_unknown)
    }

    /// Whether nobody can see what the answers of some level refer to.
    pub(in crate::fleet) fn is_opaque(&self) -> bool {
        self.classes.iter().any(|class| class.is_opaque)
    }

    /// Whether nothing is odd about it.
    pub(in crate::fleet) fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.classes.iter().all(|class| class.part.levels.is_ok())
    }
}

/// What `nodes` see of a part.
pub(in crate::fleet) fn see(
    environment: &Environment,
    of: PartOf<'_>,
    fleet: &Fleet,
    own: &OwnPaths,
    nodes: NodeSet,
) -> Seen {
    let tree = RecordingTree::new(&*environment.tree);
    let resolve = |node, reads: &Reads| {
        let scope = RecordingScope { scope: fleet.scope(node), reads };
        let part = resolve_part(environment, (of.layer, of.config, of.number), &scope, &tree);
        (part, tree.take())
    };
    let split = |variable: &VariablePath, nodes: &NodeSet| {
        own.split(variable, nodes).unwrap_or_else(|| fleet.column(variable.by_ref()).partition.split(nodes))
    };
    let classes = classes_by_variables(nodes.clone(), resolve, split);
    let mut seen = Seen::default();
    for (nodes, (part, looked)) in classes {
        seen.findings.extend(part.diagnostics.iter().map(|diagnostic| (nodes.clone(), diagnostic.clone())));
        seen.looked.push((nodes.clone(), looked));
        seen.classes.entry(Arc::new(Class::from(part))).or_default().union_with(&nodes);
    }
    // The folders on the way are the same for all of them.
    let common = AccessedPaths::common(seen.looked.iter_mut().map(|(_, looked)| looked));
    seen.looked.insert(0, (nodes, common));
    seen
}
