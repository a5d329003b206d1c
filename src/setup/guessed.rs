//! Guesses nodes from the names of data files, for a repository without known facts.
//!
//! A file `nodes/web01.example.com.yaml` of the level `nodes/%{trusted.certname}.yaml` stands for a node of that
//! name. A file of any other level stands for a node of which only the variables of its path are known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::MAX_COMPARISONS;
use super::datadirs::Mapped;
use super::hierarchies::Hierarchy;
use super::site_pp::{INTERPOLATION, paths, variable};
use crate::puppet::json;
use crate::tree::{BlobId, FileTree, TreeError, files_called};
use crate::value::{Hash, Value};

/// The maximum number of guessed nodes.
const MAX_NODES: usize = 2000;

/// The maximum number of parts of a guessed variable, which is the depth of a profile, and of variables in a path.
const MAX_PARTS: usize = 16;

/// The variables that name a node in full, and those that have the first part of its name.
const NAME_VARIABLES: [&str; 5] = ["trusted.certname", "clientcert", "fqdn", "networking.fqdn", "certname"];
const HOSTNAME_VARIABLES: [&str; 3] = ["trusted.hostname", "hostname", "networking.hostname"];

/// Nodes that are guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guessed {
    /// Their profiles, as documents of a YAML file.
    pub profiles: String,
    /// Their number.
    pub count: usize,
    /// The number of nodes that a data file is named after.
    pub named: usize,
}

/// A path of a level, with its variables.
struct VariablePath {
    pattern: Regex,
    /// Variables by their order in the path, without `::`.
    variables: Vec<String>,
    /// The length of the text around them.
    literals: usize,
}

/// Returns nodes that together read all data files of some hierarchies, at least one node for each. A hierarchy has
/// the name of its environment if there are several.
pub fn guessed(
    tree: &dyn FileTree,
    hierarchies: &[(Option<&str>, &Hierarchy)],
    datadirs: &[Mapped],
) -> Result<Guessed, TreeError> {
    guessed_within(tree, hierarchies, datadirs, MAX_COMPARISONS)
}

/// Does the same, with at most `left` comparisons of files with paths.
fn guessed_within(
    tree: &dyn FileTree,
    hierarchies: &[(Option<&str>, &Hierarchy)],
    datadirs: &[Mapped],
    mut left: usize,
) -> Result<Guessed, TreeError> {
    let mut nodes = BTreeMap::<String, Node>::new();
    let files = files_called(tree, |_| true, |folder| folder == ".git")?;
    for &(environment, hierarchy) in hierarchies {
        add_nodes(&files, environment, &paths_of(hierarchy, datadirs), &mut nodes, &mut left);
        if !nodes.values().any(|node| node.environment.as_deref() == environment) {
            let name = invented_name(environment.into_iter());
            nodes.insert(name.clone(), Node::of(&name, environment, false));
        }
    }
    let document = |node: Node| format!("--- {}\n", json::compact(&Value::hash(node.profile)));
    let named = nodes.values().filter(|node| node.is_named).count();
    Ok(Guessed { count: nodes.len(), named, profiles: nodes.into_values().map(document).collect() })
}

/// A node that is guessed.
struct Node {
    environment: Option<String>,
    /// True if a data file is named after it.
    is_named: bool,
    profile: Hash,
}

impl Node {
    fn of(name: &str, environment: Option<&str>, is_named: bool) -> Node {
        let mut profile = profile(name);
        if let Some(environment) = environment {
            set_variable(&mut profile, "environment", environment);
        }
        Node { environment: environment.map(str::to_owned), is_named, profile }
    }
}

/// The paths of a hierarchy: those without variables, and those with some.
struct Paths {
    fixed: BTreeSet<String>,
    declared: Vec<VariablePath>,
}

fn paths_of(hierarchy: &Hierarchy, datadirs: &[Mapped]) -> Paths {
    let paths = paths(hierarchy, datadirs);
    let fixed = paths.iter().filter(|path| !path.contains("%{")).cloned().collect();
    let mut declared: Vec<VariablePath> = paths.iter().filter_map(|path| VariablePath::of(path)).collect();
    // If several paths match a file, the most specific one wins; among equally specific ones, a path of nodes comes
    // last.
    declared.sort_by_key(|declared| (Reverse(declared.literals), declared.is_of_nodes()));
    Paths { fixed, declared }
}

/// Adds the nodes of one environment. A node that another environment has already stays in that one.
fn add_nodes(
    files: &[(String, BlobId)],
    environment: Option<&str>,
    Paths { fixed, declared }: &Paths,
    nodes: &mut BTreeMap<String, Node>,
    left: &mut usize,
) {
    let cost = fixed.len() + declared.len();
    for (file, _) in files {
        let Some(rest) = left.checked_sub(cost) else { break };
        *left = rest;
        let is_fixed = fixed.iter().any(|path| file.strip_prefix(path.as_str()).is_some_and(|end| !end.contains('/')));
        let values =
            declared.iter().filter(|_| !is_fixed && nodes.len() < MAX_NODES).find_map(|path| path.values(file));
        let Some(values) = values else { continue };
        let name = name_of(&values);
        let is_named = name.is_some();
        let values_in_name = || environment.into_iter().chain(values.values().map(String::as_str));
        let name = name.unwrap_or_else(|| invented_name(values_in_name()));
        let node = nodes.entry(name.clone()).or_insert_with(|| Node::of(&name, environment, is_named));
        for (variable, value) in values.iter().filter(|_| node.environment.as_deref() == environment) {
            set_variable(&mut node.profile, variable, value);
        }
    }
}

impl VariablePath {
    /// Returns a path with its variables, or `None` if it has none.
    fn of(path: &str) -> Option<VariablePath> {
        let interpolations: Vec<_> = INTERPOLATION.as_ref()?.find_iter(path).collect();
        if interpolations.len() > MAX_PARTS {
            return None;
        }
        let literals = path.len() - interpolations.iter().map(regex::Match::len).sum::<usize>();
        let (mut pattern, mut at, mut variables) = ("^".to_owned(), 0, Vec::new());
        for interpolation in &interpolations {
            let name = variable(interpolation.as_str());
            pattern += &regex::escape(&path[at..interpolation.start()]);
            // The name of a class may have parts.
            let is_class = ["role", "class"].iter().any(|part| name.contains(part));
            pattern += if is_class { "(.+?)" } else { "([^/]+?)" };
            variables.push(name.to_owned());
            at = interpolation.end();
        }
        // Hiera 3 adds the extension itself.
        pattern += &regex::escape(&path[at..]);
        let pattern = Regex::new(&(pattern + r"(?:\.yaml|\.eyaml|\.json)?$")).ok()?;
        let is_shallow = variables.iter().all(|name| name.split('.').count() <= MAX_PARTS);
        (is_shallow && !variables.is_empty()).then_some(VariablePath { pattern, variables, literals })
    }

    fn is_of_nodes(&self) -> bool {
        self.variables.iter().any(|name| is_of_node(name))
    }

    /// Returns the variables that lead to a file, or `None` if no values do.
    fn values(&self, file: &str) -> Option<BTreeMap<&str, String>> {
        let captured = self.pattern.captures(file)?;
        let mut values = BTreeMap::new();
        for (name, value) in self.variables.iter().zip(captured.iter().skip(1)) {
            let value = value?.as_str();
            if values.insert(name.as_str(), value.to_owned()).is_some_and(|known| known != value) {
                return None;
            }
        }
        Some(values)
    }
}

fn is_of_node(variable: &str) -> bool {
    NAME_VARIABLES.contains(&bare(variable)) || HOSTNAME_VARIABLES.contains(&bare(variable))
}

/// Returns a variable without the hash of facts.
fn bare(variable: &str) -> &str {
    variable.strip_prefix("facts.").unwrap_or(variable)
}

/// Returns the node that a file is named after, or `None` if the file is for several.
fn name_of(values: &BTreeMap<&str, String>) -> Option<String> {
    let first_of = |names: &[&str]| {
        let mut of_node = values.iter().filter(|(name, _)| names.contains(&bare(name)));
        of_node.next().map(|(_, name)| name.to_lowercase())
    };
    first_of(&NAME_VARIABLES).or_else(|| first_of(&HOSTNAME_VARIABLES))
}

/// Returns an invented name for a node.
fn invented_name<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let parts: Vec<String> = values.map(|value| value.to_lowercase().replace(['/', ':', ' ', '.'], "-")).collect();
    ["guess"].into_iter().chain(parts.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

/// Returns the profile of a node of which only the name is known, with the facts derived from it.
fn profile(name: &str) -> Hash {
    let (host, domain) = name.split_once('.').unwrap_or((name, ""));
    let mut networking = Hash::from_iter([("fqdn", Value::from(name)), ("hostname", Value::from(host))]);
    let mut facts = Hash::from_iter([("fqdn", Value::from(name)), ("hostname", Value::from(host))]);
    if !domain.is_empty() {
        networking.insert("domain", Value::from(domain));
        facts.insert("domain", Value::from(domain));
    }
    facts.insert("networking", Value::hash(networking));
    let name = Value::from(name);
    Hash::from_iter([("name", name), ("guessed", Value::Boolean(true)), ("facts", Value::hash(facts))])
}

/// Sets a variable that the path of a file names. Those that follow from the name of the node are set already.
fn set_variable(node: &mut Hash, variable: &str, value: &str) {
    let names: Vec<&str> = variable.split('.').collect();
    match names[..] {
        _ if is_of_node(variable) => {}
        ["facts" | "trusted" | "server_facts", _, ..] | ["environment"] => insert_at(node, &names, value),
        [_] => insert_at(node, &["variables", names[0]], value),
        _ => insert_at(node, &[&["facts"], &names[..]].concat(), value),
    }
}

fn insert_at(hash: &mut Hash, names: &[&str], value: &str) {
    match names {
        [] => {}
        [name] => _ = hash.insert(*name, Value::from(value)),
        [name, rest @ ..] => {
            let mut inner = hash.get(name).and_then(Value::as_hash).cloned().unwrap_or_default();
            insert_at(&mut inner, rest, value);
            hash.insert(*name, Value::hash(inner));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{datadirs, hierarchies};
    use crate::tree::MemoryTree;

    /// Returns the number of nodes that are guessed from ten files, for levels with these words in them.
    fn count(level: impl Fn(usize) -> String, levels: usize, comparisons: usize) -> usize {
        let levels: Vec<String> = (0..levels).map(|at| format!("- {{name: n{at}, {}}}\n", level(at))).collect();
        let levels = levels.concat();
        let mut tree = MemoryTree::new();
        tree.add("hiera.yaml", format!("version: 5\nhierarchy:\n{levels}").as_bytes());
        (0..10).for_each(|file| tree.add(&format!("data/nodes/n{file}.yaml"), b"a: 1\n"));
        let hierarchy = &hierarchies(&tree).unwrap().0[0];
        let datadirs = datadirs(&tree, hierarchy).unwrap();
        guessed_within(&tree, &[(None, hierarchy)], &datadirs, comparisons).unwrap().count
    }

    #[test]
    fn files_are_compared_with_paths_within_a_bound() {
        let node = || "path: 'nodes/%{trusted.certname}.yaml'".to_owned();
        let other = |at: usize| format!("path: 'x{at}/%{{a}}.yaml'");
        let first = |at: usize| if at == 0 { node() } else { other(at) };
        assert_eq!(count(first, 100, MAX_COMPARISONS), 10);
        // A file of another kind, hiera.yaml, is among them.
        assert!((4..=5).contains(&count(first, 100, 500)));
        assert_eq!(count(first, 100, 99), 1);
        // If there are more paths, only the first ones are compared, ...
        assert_eq!(count(first, 3000, MAX_COMPARISONS), 10);
        assert_eq!(count(|at| if at == 2500 { node() } else { other(at) }, 3000, MAX_COMPARISONS), 1);
        // ... and neither long ones nor those with many variables.
        let long =
            |at: usize| if at == 0 { format!("path: 'nodes/{}%{{a}}.yaml'", "./".repeat(5000)) } else { other(at) };
        assert_eq!(count(long, 2, MAX_COMPARISONS), 1);
        assert_eq!(count(|_| format!("path: 'nodes/{}.yaml'", "%{a}".repeat(1000)), 2, MAX_COMPARISONS), 1);
        // Many missing datadirs are taken as empty.
        let elsewhere = |at: usize| format!("path: 'nodes/%{{a}}.yaml', datadir: '/srv/{at}/%{{b}}/x'");
        assert_eq!(count(|at| if at == 0 { node() } else { elsewhere(at) }, 3000, MAX_COMPARISONS), 10);
        let deep = |at: usize| format!("path: 'nodes/%{{a}}.yaml', datadir: '/srv/{}'", "a/".repeat(50_000 + at));
        assert_eq!(count(|at| if at == 0 { node() } else { deep(at) }, 4, MAX_COMPARISONS), 10);
    }
}
