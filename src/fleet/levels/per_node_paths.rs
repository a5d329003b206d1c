//! Paths that contain one variable, such as `nodes/%{trusted.certname}.yaml`.
//!
//! Usually each node has its own value there, and most nodes have no such file. These nodes see the same, so they
//! need not be distinguished.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::levels::PartRef;
use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::backend::Mentions;
use crate::hiera::config::LevelConfig;
use crate::hiera::interpolation::Template;
use crate::node::{NodeId, NodeSet, Partition};
use crate::puppet::pathname::join;
use crate::tree::{FileTree, Target, child, folder_of, follow};

/// A map by variable.
type ByVariable<T> = HashMap<VariablePath, T, RandomState>;

/// The files at the paths of a level that contain one variable.
#[derive(Default)]
pub(in crate::fleet) struct PerNodePaths {
    /// The nodes by their values of the variable; those that find no file are one class.
    partitions: ByVariable<Partition>,
    patterns: Vec<Arc<PathPattern>>,
}

/// A path with one variable in it, which each node replaces by its value.
pub(in crate::fleet) struct PathPattern {
    path: PerNodePath,
    variable: VariablePath,
    classes: Arc<VariableClasses>,
}

/// A path with a variable in its last name.
#[derive(PartialEq, Eq)]
struct PerNodePath {
    folder: String,
    /// The text of the name before and after the variable.
    affixes: [String; 2],
}

impl PerNodePaths {
    /// Finds the files of a part of a hierarchy.
    pub(in crate::fleet) fn of(tree: &dyn FileTree, part: PartRef<'_>, fleet: &Fleet) -> PerNodePaths {
        let mut found = PerNodePaths::default();
        let is_plain = part.config.version > 3 && part.config.hiera3.is_none() && tree.root().is_empty();
        let level = part.config.all_levels().nth(part.number).filter(|_| is_plain);
        for (variable, paths) in level.and_then(|level| per_node_paths(level, &part.layer.root)).unwrap_or_default() {
            // With a folder that cannot be listed, each value of the variable is resolved separately.
            let listed: Option<Vec<_>> = paths.into_iter().map(|path| path.listed(tree)).collect();
            let Some(listed) = listed else { continue };
            let classes = fleet.variable_classes(variable.by_ref());
            let has = |text: &str| listed.iter().any(|(path, names)| names.contains(&path.name(text)));
            let is_there = |text: Option<&str>| text.filter(|text| is_plain_name(text)).is_none_or(has);
            let is_there: Vec<bool> = classes.texts(&variable.segments).map(is_there).collect();
            found.partitions.insert(variable.clone(), join_absent(&classes.partition, &is_there));
            let pattern =
                |(path, _)| Arc::new(PathPattern { path, variable: variable.clone(), classes: classes.clone() });
            found.patterns.extend(listed.into_iter().map(pattern));
        }
        found
    }

    /// Splits `nodes` by their values of a variable, as far as these matter here. Returns `None` if each value may
    /// matter.
    pub(in crate::fleet) fn split(&self, variable: &VariablePath, nodes: &NodeSet) -> Option<Vec<NodeSet>> {
        Some(self.partitions.get(variable)?.split(nodes))
    }

    /// Returns the patterns of the paths that nodes access.
    pub(super) fn patterns(&self) -> &[Arc<PathPattern>] {
        &self.patterns
    }
}

impl PathPattern {
    /// Adds the nodes that access one of `paths`.
    pub(super) fn add_nodes(&self, paths: &BTreeSet<String>, nodes: &mut NodeSet) {
        let values: HashSet<&str, RandomState> = paths.iter().filter_map(|path| self.path.value(path)).collect();
        if !values.is_empty() {
            let texts = self.classes.texts(&self.variable.segments);
            let matches: Vec<bool> = texts.map(|text| text.is_some_and(|text| values.contains(text))).collect();
            (0..)
                .map(NodeId)
                .zip(self.classes.partition.class_numbers())
                .filter(|(_, class)| matches[*class])
                .for_each(|(node, _)| nodes.insert(node));
        }
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &PathPattern) -> bool {
        self.path == other.path && self.variable == other.variable
    }
}

impl PerNodePath {
    /// Returns the path that `template` makes below `base`, and its variable; `None` if it is not such a path.
    fn new(base: &str, template: &Template<'_>) -> Option<(VariablePath, PerNodePath)> {
        let (variables, literals): (Vec<&str>, Vec<&str>) =
            (template.variables().collect(), template.literals().collect());
        let ([variable], [before, after]) = (&variables[..], &literals[..]) else { return None };
        // Any plain name in place of the variable makes a path in the same folder.
        let sample = join(base, &format!("{before}x{after}"));
        if after.contains('/') || sample.starts_with('/') {
            return None;
        }
        let before = before.rsplit('/').next().unwrap_or_default();
        let path =
            PerNodePath { folder: folder_of(&sample).to_owned(), affixes: [before.to_owned(), (*after).to_owned()] };
        Some((VariablePath::parse(variable)?, path))
    }

    /// Follows the links to the folder, and lists it. Returns `None` if it is not a folder.
    fn listed(self, tree: &dyn FileTree) -> Option<(PerNodePath, HashSet<String, RandomState>)> {
        match follow(tree, &self.folder).ok()? {
            Target::Folder(folder) => {
                let names = tree.list(&folder).ok()?.into_iter().map(|(name, _)| name).collect();
                Some((PerNodePath { folder, ..self }, names))
            }
            Target::Absent => Some((self, HashSet::default())),
            // A link that leads nowhere in the tree is reported in the same words for any path below it.
            outside @ (Target::Dangling(_) | Target::Loop(_) | Target::Outside(_)) => {
                let is_same = follow(tree, &child(&self.folder, "x")).ok()? == outside;
                is_same.then(|| (self, HashSet::default()))
            }
            Target::File(..) => None,
        }
    }

    /// Returns the last name of the path with this value of the variable.
    fn name(&self, value: &str) -> String {
        let [before, after] = &self.affixes;
        [before, value, after].concat()
    }

    /// Returns the value of the variable that makes this path, or `None` if none does.
    fn value<'p>(&self, path: &'p str) -> Option<&'p str> {
        let name = path.strip_prefix(&child(&self.folder, "")).filter(|name| !name.contains('/'))?;
        name.strip_prefix(&self.affixes[0])?.strip_suffix(&self.affixes[1])
    }
}

/// Returns the paths of a level with one variable in their last names, by that variable. Leaves out variables that
/// affect more than the presence of a file.
fn per_node_paths(level: &LevelConfig, root: &str) -> Option<ByVariable<Vec<PerNodePath>>> {
    let declared = level.locations.plain_paths()?;
    let is_simple =
        level.version4.is_none() && !level.datadir.contains("%{") && !Mentions::of(&level.options).is_some();
    let base = join(root, &level.datadir);
    let (mut found, mut others) = (ByVariable::<Vec<PerNodePath>>::default(), HashSet::new());
    for template in declared.iter().filter_map(|declared| Template::parse(&declared.text)) {
        if !is_simple || !template.is_of_variables() {
            return None;
        }
        match PerNodePath::new(&base, &template) {
            Some((variable, path)) => found.entry(variable).or_default().push(path),
            None => others.extend(template.variables().filter_map(VariablePath::parse)),
        }
    }
    found.retain(|variable, _| !others.contains(variable));
    Some(found)
}

/// Joins the classes of a partition that find no file into one.
fn join_absent(partition: &Partition, is_there: &[bool]) -> Partition {
    let mut count = 1;
    let mut numbers = vec![0; is_there.len()];
    for number in numbers.iter_mut().zip(is_there).filter_map(|(number, is_there)| is_there.then_some(number)) {
        *number = count;
        count += 1;
    }
    partition.coarsened(&numbers, count)
}

/// Returns true if a text certainly appears unchanged in a path in place of its variable, as a part of one name.
fn is_plain_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
}
