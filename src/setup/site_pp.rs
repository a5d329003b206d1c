//! Finds the manifest whose node blocks set variables that levels use.
//!
//! A role that a manifest passes to a function of the site is not in the facts, but the data reveal it: if the
//! arguments of `role()` are the names of the files of `role/%{_role}.yaml`, the call stands for that variable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::datadirs::Mapped;
use super::hierarchies::{Hierarchy, base_folder};
use super::{MAX_COMPARISONS, MAX_PATH_LENGTH, MAX_PATHS};
use crate::hiera::interpolation;
use crate::puppet::manifest::{CallPattern, NodeBlocks};
use crate::puppet::pathname::join;
use crate::tree::{FileTree, TreeError, files_called, read_config};

/// A manifest whose node blocks set variables that levels use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitePpFound {
    /// The path of the manifest in the repository.
    pub file: String,
    /// The variables that blocks set to literals.
    pub variables: Vec<String>,
    /// A call that stands for another variable.
    pub call: Option<CallFound>,
}

/// A call that stands for a variable, according to the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFound {
    /// The call, with the variable in place of its argument.
    pub pattern: CallPattern,
    /// The text between the parts of a class's name in the variable.
    pub separator: &'static str,
    /// The number of different arguments that have a data file.
    pub with_data: usize,
    /// The number of different arguments.
    pub all: usize,
}

/// The texts that may stand for the `::` of a class's name in a path, the likeliest first.
const SEPARATORS: [&str; 5] = ["::", "/", "_", "-", "."];

/// A call is believed if at least one in this many of its arguments has a data file.
const BELIEVED_DIVISOR: usize = 4;

/// An interpolation.
pub(super) static INTERPOLATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"%\{[^}]*\}").ok());

/// Variables that Puppet sets itself.
const SET_BY_PUPPET: [&str; 4] = ["facts", "trusted", "server_facts", "environment"];

/// Returns the manifest with the most node blocks, at the top or below `manifests/`, if they set a variable that
/// paths of levels contain, or call a function that stands for one.
pub fn site_pp(
    tree: &dyn FileTree,
    hierarchy: &Hierarchy,
    datadirs: &[Mapped],
) -> Result<Option<SitePpFound>, TreeError> {
    let values = Values::of(tree, hierarchy, datadirs)?;
    if values.0.is_empty() {
        return Ok(None);
    }
    let Some((file, text)) = manifest(tree)? else { return Ok(None) };
    let blocks = NodeBlocks::parse(&text, None);
    let assigned: BTreeSet<&str> =
        blocks.blocks().iter().flat_map(|block| &block.assignments).map(|assignment| &*assignment.name).collect();
    let variables: Vec<String> = values.0.keys().filter(|name| assigned.contains(&***name)).cloned().collect();
    let others = values.0.iter().filter(|(name, _)| !assigned.contains(&***name));
    let calls = others.flat_map(|(name, values)| best_separators(&text, name, values));
    let call = calls.max_by_key(|call| call.with_data);
    Ok((!variables.is_empty() || call.is_some()).then_some(SitePpFound { file, variables, call }))
}

/// Returns the manifest with the most node blocks, with its text.
fn manifest(tree: &dyn FileTree) -> Result<Option<(String, String)>, TreeError> {
    let mut best: Option<(usize, String, String)> = None;
    for (path, text) in manifests(tree)? {
        let blocks = NodeBlocks::parse(&text, None).blocks().len();
        if blocks > best.as_ref().map_or(0, |(most, ..)| *most) {
            best = Some((blocks, path, text));
        }
    }
    Ok(best.map(|(_, path, text)| (path, text)))
}

/// Returns the manifests that Puppet reads before any class, with their texts.
pub(super) fn manifests(tree: &dyn FileTree) -> Result<impl Iterator<Item = (String, String)>, TreeError> {
    let files = files_called(
        tree,
        |name| name.strip_suffix(".pp").is_some(),
        |folder| super::SKIPPED_FOLDERS.contains(&folder),
    )?;
    let main_manifests = files.into_iter().filter(|(path, _)| path.starts_with("manifests/") || !path.contains('/'));
    Ok(main_manifests.filter_map(|(path, id)| {
        let text = String::from_utf8(read_config(tree, &path, id).ok()?).ok()?;
        Some((path, text))
    }))
}

/// Returns the calls that stand for a variable, each with the separator in the names of files.
fn best_separators(text: &str, variable: &str, values: &BTreeSet<String>) -> Vec<CallFound> {
    let found = |pattern: CallPattern| {
        let blocks = NodeBlocks::parse(text, Some(&pattern));
        let set = blocks.blocks().iter().flat_map(|block| &block.assignments).filter(|set| set.name == variable);
        let classes: BTreeSet<&str> = set.filter_map(|set| set.value.as_ref()?.as_str()).collect();
        let with_data =
            |separator: &str| classes.iter().filter(|class| values.contains(&class.replace("::", separator))).count();
        let rated = SEPARATORS.iter().rev().map(|separator| (with_data(separator), *separator));
        let (with_data, separator) = rated.max_by_key(|(with_data, _)| *with_data)?;
        let is_believed = with_data > 0 && with_data * BELIEVED_DIVISOR >= classes.len();
        is_believed.then_some(CallFound { pattern, separator, with_data, all: classes.len() })
    };
    CallPattern::in_blocks(text, variable).into_iter().filter_map(found).collect()
}

/// The values of variables for which there are data files, by variable.
struct Values(BTreeMap<String, BTreeSet<String>>);

impl Values {
    fn of(tree: &dyn FileTree, hierarchy: &Hierarchy, datadirs: &[Mapped]) -> Result<Values, TreeError> {
        let files = files_called(tree, |_| true, |folder| folder == ".git")?;
        let (mut values, mut left) = (BTreeMap::<String, BTreeSet<String>>::new(), MAX_COMPARISONS);
        for path in paths(hierarchy, datadirs) {
            for variable in bare_variables(&path) {
                let Some(rest) = left.checked_sub(files.len()) else { return Ok(Values(values)) };
                let Some(pattern) = pattern(&path, &variable) else { continue };
                left = rest;
                let captured = files.iter().filter_map(|(file, _)| pattern.captures(file)?.get(1));
                values.entry(variable).or_default().extend(captured.map(|value| value.as_str().to_owned()));
            }
        }
        Ok(Values(values))
    }
}

/// Returns the paths of levels in the repository, with their interpolations; if there are very many, the first ones.
pub(super) fn paths(hierarchy: &Hierarchy, datadirs: &[Mapped]) -> Vec<String> {
    let mapped: BTreeMap<&str, &Mapped> = datadirs.iter().map(|mapped| (&*mapped.datadir, mapped)).collect();
    let mut paths = Vec::new();
    for level in hierarchy.config.all_levels() {
        let declared = level.locations.plain_paths().unwrap_or_default();
        for (folder, rest) in declared.iter().map(|path| level.located(&path.text)) {
            let datadir = join(base_folder(&hierarchy.path), &folder);
            let datadir = match mapped.get(&*datadir) {
                Some(mapped) => mapped.folder.clone(),
                None => Some(datadir),
            };
            paths.extend(datadir.map(|datadir| join(&datadir, rest)).filter(|path| path.len() <= MAX_PATH_LENGTH));
            if paths.len() == MAX_PATHS {
                return paths;
            }
        }
    }
    paths
}

/// Returns the variables in a path that a manifest may set, which have no dots.
pub(super) fn bare_variables(path: &str) -> BTreeSet<String> {
    let names = interpolation::variables(path).into_iter().map(|name| name.trim_start_matches("::"));
    let is_bare = |name: &&str| {
        !name.is_empty()
            && !SET_BY_PUPPET.contains(name)
            && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
    };
    names.filter(is_bare).map(str::to_owned).collect()
}

/// Returns the name of the variable in an interpolation.
pub(super) fn variable(interpolation: &str) -> &str {
    interpolation.trim_start_matches("%{").trim_end_matches('}').trim().trim_start_matches("::")
}

/// Returns a pattern that matches the files of a path and captures the value of the variable `wanted`.
fn pattern(path: &str, wanted: &str) -> Option<Regex> {
    let (mut pattern, mut at) = ("^".to_owned(), 0);
    for interpolation in INTERPOLATION.as_ref()?.find_iter(path) {
        pattern += &regex::escape(&path[at..interpolation.start()]);
        pattern += if variable(interpolation.as_str()) == wanted { "(.+)" } else { "[^/]+" };
        at = interpolation.end();
    }
    // Hiera 3 adds the extension itself.
    pattern += &regex::escape(&path[at..]);
    Regex::new(&(pattern + r"(?:\.yaml|\.json)?$")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{datadirs, hierarchies};
    use crate::tree::MemoryTree;

    fn found(files: &str) -> Option<SitePpFound> {
        let tree = MemoryTree::from_fixture(files);
        let hierarchy = &hierarchies(&tree).unwrap().0[0];
        site_pp(&tree, hierarchy, &datadirs(&tree, hierarchy).unwrap()).unwrap()
    }

    /// Returns the call that is found, in one line.
    fn call(files: &str) -> Option<String> {
        let call = found(files)?.call?;
        Some(format!("{} by '{}', {} of {}", call.pattern, call.separator, call.with_data, call.all))
    }

    const ROLES: &str = "-- hiera.yaml\nversion: 5\nhierarchy:\n\
        - {name: node, path: 'nodes/%{::hostname}.yaml'}\n- {name: role, path: 'roles/%{facts.site}/%{::_role}.yaml'}\n\
        -- data/nodes/db1.yaml\na: 1\n-- data/roles/oslo/web/front.yaml\na: 1\n-- data/roles/bonn/db.yaml\na: 1\n";

    #[test]
    fn a_call_stands_for_the_variable_whose_files_are_called_as_its_arguments() {
        let manifest = "-- manifests/site.pp\nnode /^web/ { role(web::front) }\nnode db1 { role(db) firewall(db1) }\nnode default { role(other) }\n";
        assert_eq!(call(&(ROLES.to_owned() + manifest)).unwrap(), "role($_role) by '/', 2 of 3");
        let includes = "-- manifests/site.pp\nnode a { include base\n include role::db }\n";
        assert_eq!(call(&(ROLES.to_owned() + includes)).unwrap(), "include role::$_role by '::', 1 of 1");
        // There is no data for the arguments, or no node block.
        for none in ["-- manifests/site.pp\nnode a { role(x) }\n", "-- manifests/site.pp\nrole(db)\n", ""] {
            assert_eq!(found(&(ROLES.to_owned() + none)), None);
        }
    }

    #[test]
    fn literals_that_blocks_set_need_no_call() {
        let manifest = "-- manifests/nodes.pp\nnode a { $_role = 'db' $other = 1 }\n-- manifests/x.pp\nclass x { }\n";
        let found = found(&(ROLES.to_owned() + manifest)).unwrap();
        let expected =
            SitePpFound { file: "manifests/nodes.pp".to_owned(), variables: vec!["_role".to_owned()], call: None };
        assert_eq!(found, expected);
    }
}
