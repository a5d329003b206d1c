//! Suggests lines for the settings: folders for absolute datadirs, guessed from the ends of their paths, and
//! declarations of missing functions.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Subject;
use crate::hiera::LookupError;
use crate::hiera::config::LevelConfig;
use crate::hiera::layer::Environment;
use crate::report::Remedy;
use crate::tree::{FileTree, Target, follow};

/// Returns the folder of the repository with the same ending as the absolute `datadir` of a level. If several
/// datadirs end in the same folder, only the shortest one gets it.
pub fn folder_with_same_ending(environment: &Environment, datadir: &str) -> Option<String> {
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    let written: BTreeSet<String> =
        configs.flat_map(|config| config.all_levels()).flat_map(LevelConfig::folders).collect();
    let mut by_folder: BTreeMap<String, &str> = BTreeMap::new();
    for datadir in written.iter().filter(|datadir| datadir.starts_with('/')) {
        if let Some(folder) = longest_folder_ending(&*environment.tree, datadir) {
            let known = by_folder.entry(folder).or_insert(datadir);
            if datadir.len() < known.len() {
                *known = datadir;
            }
        }
    }
    let found = by_folder.into_iter().find(|(_, known)| *known == datadir);
    found
        .map(|(folder, _)| folder)
        .or_else(|| longest_folder_ending(&*environment.tree, datadir).filter(|_| !written.contains(datadir)))
}

/// Returns the longest end of `datadir` that is a folder of the tree, or `.` if it is the folder of an environment
/// itself.
fn longest_folder_ending(tree: &dyn FileTree, datadir: &str) -> Option<String> {
    let names: Vec<&str> = datadir.split('/').filter(|name| !name.is_empty()).collect();
    let plain = names.iter().rev().take_while(|name| !name.contains("%{")).count();
    let is_folder = |folder: &String| matches!(follow(tree, folder), Ok(Target::Folder(_)));
    let ends = (names.len() - plain..names.len()).map(|first| names[first..].join("/"));
    let is_environment = plain == 0 && names.last().is_some_and(|name| name.contains("environment"));
    ends.into_iter().find(is_folder).or_else(|| is_environment.then(|| ".".to_owned()))
}

/// Quotes a text as YAML on one line.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns the setting that remedies a failed lookup, or `None` if there is none.
pub fn fix_for_error(error: &LookupError) -> Option<Remedy> {
    error.subject.as_deref().and_then(fix_for)
}

/// Returns the remedy for this subject, or `None` if no setting helps.
pub fn fix_for(subject: &Subject) -> Option<Remedy> {
    match subject {
        Subject::Alias => Some(aliases()),
        Subject::Backend(name) => Some(fix_for_backend(name)),
        Subject::Converted => Some(Remedy::words(
            "look at what a checkout gives: hierad runs no filter of git, and keys that reach the file are unknown",
        )),
        Subject::Function(name) => Some(fix_for_function(name)),
        Subject::Method
        | Subject::Module(_)
        | Subject::Outside { .. }
        | Subject::Raised(_)
        | Subject::Secret
        | Subject::Variable(_) => None,
    }
}

/// Returns the remedy for an alias that Hiera 3 refuses.
pub fn aliases() -> Remedy {
    let words = "if Hiera 3 runs on a Ruby before 3.1, which accepts aliases, add to hierad.yaml";
    Remedy::with_yaml(words, "hiera3_yaml_aliases: true")
}

/// Returns the setting that declares the function `name`, which Puppet might run.
fn fix_for_function(name: &str) -> Remedy {
    let name = quoted(name);
    let yaml =
        format!("backends: {{{name}: {{not_found: true}}}}    # or values: FILE, command: [PROGRAM], or puppet: true");
    Remedy::with_yaml("declare in hierad.yaml what the function finds", yaml)
}

/// Returns the setting that declares the function or backend `name`.
fn fix_for_backend(name: &str) -> Remedy {
    let name = quoted(name);
    let yaml = format!("backends: {{{name}: {{not_found: true}}}}    # or values: FILE, or command: [PROGRAM]");
    Remedy::with_yaml("declare in hierad.yaml what the function finds", yaml)
}
