//! Lines for the settings: the folders that absolute datadirs stand for, guessed by how they end, and the functions that are
//! not there.

use std::collections::BTreeMap;

use crate::hiera::layer::Environment;
use crate::tree::{FileTree, Target, follow};

/// Returns the folder of the repository that the absolute `datadir` of a level, as written, ends like. Of several datadirs that end
/// like the same folder only the shortest has it.
pub fn folder_with_same_ending(environment: &Environment, datadir: &str) -> Option<String> {
    let mut by_folder: BTreeMap<String, &str> = BTreeMap::new();
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    for level in configs.flat_map(|config| config.all_levels()).filter(|level| level.datadir.starts_with('/')) {
        if let Some(folder) = ending(&*environment.tree, &level.datadir) {
            let known = by_folder.entry(folder).or_insert(&level.datadir);
            if level.datadir.len() < known.len() {
                *known = &level.datadir;
            }
        }
    }
    let found = by_folder.into_iter().find(|(_, known)| *known == datadir);
    found
        .map(|(folder, _)| folder)
        .or_else(|| ending(&*environment.tree, datadir).filter(|_| !is_written(environment, datadir)))
}

fn is_written(environment: &Environment, datadir: &str) -> bool {
    let mut configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    configs.any(|config| config.all_levels().any(|level| *level.datadir == *datadir))
}

/// The longest end of `datadir` that is a folder of the tree; `.` where the datadir is that of an environment itself.
fn ending(tree: &dyn FileTree, datadir: &str) -> Option<String> {
    let names: Vec<&str> = datadir.split('/').filter(|name| !name.is_empty()).collect();
    let plain = names.iter().rev().take_while(|name| !name.contains("%{")).count();
    let is_folder = |folder: &String| matches!(follow(tree, folder), Ok(Target::Folder(_)));
    let ends = (names.len() - plain..names.len()).map(|first| names[first..].join("/"));
    let is_environment = plain == 0 && names.last().is_some_and(|name| name.contains("environment"));
    ends.into_iter().find(is_folder).or_else(|| is_environment.then(|| ".".to_owned()))
}

/// Returns the data provider function that a lookup failed for want of, by the text of the failure.
pub fn missing_function(text: &str) -> Option<&str> {
    let rest = text
        .split_once("Unable to find '")
        .and_then(|(_, rest)| Some(rest.split_once("' function named '")?.1))
        .or_else(|| Some(text.split_once("the function '")?.1).filter(|rest| rest.contains("' is not supported")));
    Some(rest?.split_once('\'')?.0)
}

/// A text as YAML writes it on one line.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns what to put into the settings about a failure; None if they cannot help.
pub fn fix_for_error(error: &str) -> Option<String> {
    missing_function(error).map(fix_for_backend).or_else(|| alias_hint(error).map(str::to_owned))
}

/// Returns what to do about an alias that Hiera 3 refuses, where the text of a failure is about one.
pub fn alias_hint(text: &str) -> Option<&'static str> {
    let hint =
        "if Hiera 3 runs on a Ruby before 3.1, which takes aliases, put into hierad.yaml: hiera3_yaml_aliases: true";
    // Puppet itself takes them, and says "Unable to parse" before it.
    text.starts_with("Unknown alias: ").then_some(hint)
}

/// Returns what to put into the settings for the function or backend `name`.
pub fn fix_for_backend(name: &str) -> String {
    let name = quoted(name);
    format!(
        "say in hierad.yaml what the function finds: backends: {{{name}: {{not_found: true}}}}    # or values: FILE, or command: [PROGRAM]"
    )
}
