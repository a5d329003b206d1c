//! Paths that are made of one variable, such as `nodes/%{trusted.certname}.yaml`. Most often each node has a value of its own there,
//! and most nodes have no such file: these see the same, whatever the value is, and need not be told apart.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::nodes::Column;
use crate::fleet::nodes::variables::VariablePath;
use crate::fleet::revision::placed::PartOf;
use crate::hiera::backend::Mentions;
use crate::hiera::config::{LevelConfig, Locations};
use crate::hiera::hierarchy::join;
use crate::hiera::interpolation::Template;
use crate::node::{NodeId, NodeSet, Partition};
use crate::tree::{FileTree, Target, child, folder_of, follow};

/// Something for each variable.
type ByVariable<T> = HashMap<VariablePath, T, RandomState>;

/// What nodes find at the paths of a part that are made of one variable.
#[derive(Default)]
pub(in crate::fleet) struct OwnPaths {
    /// The nodes by what they have of the variable, those together that find nothing with it.
    partitions: ByVariable<Partition>,
    patterns: Vec<Arc<Pattern>>,
}

/// The paths at which nodes look.
pub(in crate::fleet) struct Pattern {
    path: OwnPath,
    variable: VariablePath,
    column: Arc<Column>,
}

/// A path of which the last name has a variable in it.
#[derive(PartialEq, Eq)]
struct OwnPath {
    folder: String,
    /// What is before the variable, and behind it.
    around: [String; 2],
}

impl OwnPaths {
    /// Those of a part.
    pub(in crate::fleet) fn of(tree: &dyn FileTree, of: PartOf<'_>, fleet: &Fleet) -> OwnPaths {
        let mut own = OwnPaths::default();
        let is_plain = of.config.version > 3 && of.config.hiera3.is_none() && tree.root().is_empty();
        let level = of.config.all_levels().nth(of.number).filter(|_| is_plain);
        for (variable, paths) in level.and_then(|level| own_paths(level, &of.layer.root)).unwrap_or_default() {
            // What is odd about a folder is for the nodes to see one by one.
            let listed: Option<Vec<_>> = paths.into_iter().map(|path| path.listed(tree)).collect();
            let Some(listed) = listed else { continue };
            let column = fleet.column(variable.by_ref());
            let has = |text: &str| listed.iter().any(|(path, names)| names.contains(&path.name(text)));
            let is_there = |text: Option<&str>| text.filter(|text| is_plain_name(text)).is_none_or(has);
            let is_there: Vec<bool> = column.texts(&variable.segments).map(is_there).collect();
            own.partitions.insert(variable.clone(), together(&column.partition, &is_there));
            let pattern = |(path, _)| Arc::new(Pattern { path, variable: variable.clone(), column: column.clone() });
            own.patterns.extend(listed.into_iter().map(pattern));
        }
        own
    }

    /// `nodes` by what they have of a variable, as far as that counts; nothing if all of it does.
    pub(in crate::fleet) fn split(&self, variable: &VariablePath, nodes: &NodeSet) -> Option<Vec<NodeSet>> {
        Some(self.partitions.get(variable)?.split(nodes))
    }

    /// Where nodes look.
    pub(in crate::fleet) fn patterns(&self) -> &[Arc<Pattern>] {
        &self.patterns
    }
}

impl Pattern {
    /// Adds the nodes that look at one of `paths`.
    pub(in crate::fleet) fn add_nodes(&self, paths: &BTreeSet<String>, nodes: &mut NodeSet) {
        let values: HashSet<&str, RandomState> = paths.iter().filter_map(|path| self.path.value(path)).collect();
        if !values.is_empty() {
            let texts = self.column.texts(&self.variable.segments);
            let looks: Vec<bool> = texts.map(|text| text.is_some_and(|text| values.contains(text))).collect();
            (0..)
                .map(NodeId)
                .zip(self.column.partition.class_numbers())
                .filter(|(_, part)| looks[*part])
                .for_each(|(node, _)| nodes.insert(node));
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.path == other.path && self.variable == other.variable
    }
}

impl OwnPath {
    /// The path that `template` is below `base`, and its variable; nothing if it is no such path.
    fn new(base: &str, template: &Template<'_>) -> Option<(VariablePath, OwnPath)> {
        let (variables, literals): (Vec<&str>, Vec<&str>) =
            (template.variables().collect(), template.literals().collect());
        let ([variable], [before, behind]) = (&variables[..], &literals[..]) else { return None };
        // Any plain name in place of the variable makes a path in the same folder.
        let sample = join(base, &format!("{before}x{behind}"));
        if behind.contains('/') || sample.starts_with('/') {
            return None;
        }
        let before = before.rsplit('/').next().unwrap_or_default();
        let path = OwnPath { folder: folder_of(&sample).to_owned(), around: [before.to_owned(), (*behind).to_owned()] };
        Some((VariablePath::parse(variable)?, path))
    }

    /// The path with the links to its folder followed, and the names in that; nothing if it is no folder.
    fn listed(self, tree: &dyn FileTree) -> Option<(OwnPath, HashSet<String, RandomState>)> {
        match follow(tree, &self.folder).ok()? {
            Target::Folder(folder) => {
                let names = tree.list(&folder).ok()?.into_iter().map(|(name, _)| name).collect();
                Some((OwnPath { folder, ..self }, names))
            }
            Target::Absent => Some((self, HashSet::default())),
            // What is said of a link that leads out of the repository is the same whatever is behind it.
            outside @ Target::Outside(_) => {
                let is_same = follow(tree, &child(&self.folder, "x")).ok()? == outside;
                is_same.then(|| (self, HashSet::default()))
            }
            Target::File(..) => None,
        }
    }

    /// The last name, with this value of the variable.
    fn name(&self, value: &str) -> String {
        let [before, behind] = &self.around;
        [before, value, behind].concat()
    }

    /// The value of the variable that makes this path of it.
    fn value<'p>(&self, path: &'p str) -> Option<&'p str> {
        let name = path.strip_prefix(&child(&self.folder, "")).filter(|name| !name.contains('/'))?;
        name.strip_prefix(&self.around[0])?.strip_suffix(&self.around[1])
    }
}

/// The paths of a level that have one variable, in their last name, by this; without variables of which something else may count
/// than whether there is a file.
fn own_paths(level: &LevelConfig, root: &str) -> Option<ByVariable<Vec<OwnPath>>> {
    let Locations::Paths(declared) = &level.locations else { return None };
    let is_simple =
        level.version4.is_none() && !level.datadir.contains("%{") && !Mentions::of(&level.options).is_some();
    let base = join(root, &level.datadir);
    let (mut own, mut others) = (ByVariable::<Vec<OwnPath>>::default(), HashSet::new());
    for template in declared.iter().filter_map(|declared| Template::parse(&declared.text)) {
        if !is_simple || !template.is_of_variables() {
            return None;
        }
        match OwnPath::new(&base, &template) {
            Some((variable, path)) => own.entry(variable).or_default().push(path),
            None => others.extend(template.variables().filter_map(VariablePath::parse)),
        }
    }
    own.retain(|variable, _| !others.contains(variable));
    Some(own)
}

/// The division into fewer parts: those of which nothing `is_there` are one.
fn together(partition: &Partition, is_there: &[bool]) -> Partition {
    let mut count = 1;
    let mut parts = vec![0; is_there.len()];
    for part in parts.iter_mut().zip(is_there).filter_map(|(part, is_there)| is_there.then_some(part)) {
        *part = count;
        count += 1;
    }
    partition.coarsened(&parts, count)
}

/// Whether a text is surely what stands in a path in place of its variable, and no more than a part of a name.
fn is_plain_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}
