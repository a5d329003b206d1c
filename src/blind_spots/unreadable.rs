//! Detects revisions of which nothing can be read: no level of any layer on any node, or every key fails.

use super::levels::variables::{self, plain};
use super::wording;
use crate::blind_spots::suggestions;
use crate::fleet::Revision;
use crate::hiera::LookupError;
use crate::hiera::layer::path_patterns::{self, PathPattern, patterns};
use crate::hiera::layer::roots::without_folder;
use crate::hiera::layer::{Environment, HIERA_YAML};
use crate::node::NodeSet;
use crate::report::{BlindSpot, Remedy};
use crate::tree::{FileTree, TreeError, files_called};
use crate::workers::Workers;

/// The remedy for a fault of the data.
const CORRECT_ADVICE: &str = "correct what the error names; `hierad check` says more";

/// Returns the remedy for a hiera.yaml that Puppet does not accept.
fn remedy_for_hiera_3() -> Remedy {
    Remedy::with_yaml("if Hiera 3 reads it, add to hierad.yaml", "hiera: by-version")
}

/// Returns the reason why nothing of a revision can be read, or `None` if something can be.
pub fn unreadable_revision(revision: &Revision, workers: &Workers) -> Option<BlindSpot> {
    if revision.fleet.is_empty() {
        return None;
    }
    let environment = &revision.environment;
    if revision.reads_data() {
        let error = revision.fault_of_every_key(workers)?;
        return Some(BlindSpot {
            code: "every-key-fails",
            headline: format!("every key fails{}", place_suffix(&error)),
            message: format!("every lookup fails on {}: {}", all_nodes_text(revision), in_words(&error)),
            fix: Some(suggestions::fix_for_error(&error).unwrap_or_else(|| Remedy::words(CORRECT_ADVICE))),
            nodes: revision.fleet.all(),
            ..BlindSpot::default()
        });
    }
    if let Some(error) = environment.layers().find_map(|layer| layer.config.as_ref().err()) {
        return Some(BlindSpot {
            code: "invalid-hiera-yaml",
            headline: format!("hiera.yaml cannot be used{}", place_suffix(error)),
            message: format!("hiera.yaml cannot be used, so nothing is looked up: {}", in_words(error)),
            fix: Some(fix_of_config(environment, error)),
            nodes: revision.fleet.all(),
            ..BlindSpot::default()
        });
    }
    if let Some(missing) = missing_folders(revision, None) {
        return Some(missing);
    }
    if environment.layers().next().is_none() {
        return Some(no_hiera_yaml(revision));
    }
    Some(no_level(revision))
}

/// Returns a blind spot if the settings name a hiera.yaml that neither revision has, although other layers have data.
pub(super) fn missing_layer(revisions: [&Revision; 2]) -> Option<BlindSpot> {
    lacks_layer(revisions).then(|| no_hiera_yaml(revisions[1]))
}

/// Returns a blind spot for nodes whose environments have no folder, if each environment has one. It is standing if
/// they had none in the revision `before`, either.
pub(super) fn missing_folders(revision: &Revision, before: Option<&Revision>) -> Option<BlindSpot> {
    let folders = revision.environment.folders()?;
    let missing = revision.nodes_without_folder();
    let (first, _) = missing.first_key_value()?;
    let nodes = NodeSet::union_of(revision.fleet.len(), missing.values().cloned());
    let headline = match missing.len() {
        1 => without_folder(first, &folders.folder(first)),
        count => {
            format!("{} environments, such as '{first}', have no folders in the repository", wording::number(count))
        }
    };
    let names = wording::some(missing.keys().map(|name| &**name));
    let node_share = wording::nodes_of(&nodes, revision.fleet.len());
    Some(BlindSpot {
        code: "no-hiera-yaml",
        message: format!("{headline}, so nothing is known about {node_share} ({names})"),
        headline,
        is_standing: before.is_some_and(|before| before.nodes_without_folder() == missing),
        fix: Some(Remedy::words("correct `environment` in the profiles, or `hiera_config` in hierad.yaml")),
        nodes,
        ..BlindSpot::default()
    })
}

/// Returns true if the settings name a hiera.yaml that neither revision has.
pub(super) fn lacks_layer(revisions: [&Revision; 2]) -> bool {
    let is_missing = |revision: &&Revision| {
        let environment = &revision.environment;
        environment.roots().all(|root| root.layer.is_none()) && environment.options.hiera_config != HIERA_YAML
    };
    revisions.iter().all(is_missing)
}

/// Returns the error's place, as in ` (data/common.yaml:12)`, if it is known.
fn place_suffix(error: &LookupError) -> String {
    error.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default()
}

/// Returns the error's text after its place.
fn in_words(error: &LookupError) -> String {
    let place = error.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}{}", error.text.visible().trim_end_matches([' ', ';', '\n']))
}

fn all_nodes_text(revision: &Revision) -> String {
    wording::nodes_of(&revision.fleet.all(), revision.fleet.len())
}

/// Returns the remedy for a hiera.yaml that cannot be used.
fn fix_of_config(environment: &Environment, error: &LookupError) -> Remedy {
    if environment.diagnostics.iter().any(|diagnostic| diagnostic.code == "hiera-3") {
        return remedy_for_hiera_3();
    }
    let correct = || Remedy::words("correct hiera.yaml; `hierad check` names the fault");
    suggestions::fix_for_error(error).unwrap_or_else(correct)
}

fn no_hiera_yaml(revision: &Revision) -> BlindSpot {
    let environment = &revision.environment;
    let path = &environment.options.hiera_config;
    let is_ignored = environment.diagnostics.iter().find(|diagnostic| diagnostic.code == "hiera-version-3");
    let others = hiera_yamls(&*environment.tree).unwrap_or_default();
    let others: Vec<&String> = others.iter().filter(|other| *other != path).collect();
    let fix = match (&others[..], is_ignored) {
        (_, Some(_)) => remedy_for_hiera_3(),
        ([], None) => {
            Remedy::with_yaml("name it with --hiera-config PATH, or add to hierad.yaml", "hiera_config: PATH")
        }
        (found, None) => {
            let lines = found.iter().map(|path| format!("hiera_config: {}", suggestions::quoted(path)));
            Remedy::settings(lines.collect::<Vec<_>>().join("    # or "))
        }
    };
    let fault = match is_ignored {
        Some(diagnostic) => diagnostic.text.clone(),
        None => format!("there is no {path} in this repository"),
    };
    let data = if revision.reads_data() { "only data of other layers" } else { "no data" };
    BlindSpot {
        code: "no-hiera-yaml",
        headline: fault.clone(),
        message: format!("{fault}, so {data} can be read on {}", all_nodes_text(revision)),
        fix: Some(fix),
        nodes: revision.fleet.all(),
        files: others.into_iter().cloned().collect(),
        ..BlindSpot::default()
    }
}

const NO_LEVEL_READ: &str = "no-level-read";

/// The headline of a revision of which no level is read, without the nodes.
const NO_LEVEL: &str = "no level of the hierarchy could be read";

/// Returns the headline of such a blind spot, for callers that list its nodes separately.
pub fn without_nodes(spot: &BlindSpot) -> &str {
    if spot.code == NO_LEVEL_READ { NO_LEVEL } else { &spot.headline }
}

fn no_level(revision: &Revision) -> BlindSpot {
    let count = wording::number(revision.fleet.len());
    let all = format!("{count} of {count} nodes");
    let environment = &revision.environment;
    let outside = written_outside(environment);
    let fixes: Vec<String> = outside
        .iter()
        .map(|(datadir, folder)| {
            let folder = folder.as_deref().map_or_else(|| "none".to_owned(), suggestions::quoted);
            format!("{}: {folder}", suggestions::quoted(datadir))
        })
        .collect();
    let (why, fix) = if let (true, Some((name, nodes))) = (fixes.is_empty(), missing_variable(revision)) {
        let node_share = wording::nodes_of(&nodes, revision.fleet.len());
        let lack = if nodes.len() == 1 { "lacks" } else { "lack" };
        (
            format!("{node_share} {lack} the variable '{name}', which paths of levels need"),
            variables::fix(&name, nodes.len() == revision.fleet.len()),
        )
    } else if fixes.is_empty() {
        let text = "none of the files that its levels lead to is there".to_owned();
        let words = "correct the datadirs and paths of hiera.yaml, or the facts in the profiles; `hierad check` shows what each level looks for";
        (text, Remedy::words(words))
    } else {
        let names: Vec<&str> = outside.iter().map(|(datadir, _)| datadir.as_str()).collect();
        let (first, rest) = (names[0], names.len() - 1);
        let others = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        let folder_hint = match &outside[0].1 {
            Some(folder) => format!("; it ends like the folder {folder}/ here"),
            None => String::new(),
        };
        let text = format!("datadir {first}{others} is outside of this repository{folder_hint}");
        (text, Remedy::settings(format!("datadirs: {{{}}}", fixes.join(", "))))
    };
    let headline = format!("{NO_LEVEL} on {all}");
    BlindSpot {
        code: NO_LEVEL_READ,
        message: format!("{headline}: {why}"),
        headline,
        fix: Some(fix),
        nodes: revision.fleet.all(),
        ..BlindSpot::default()
    }
}

/// Returns the variable of paths that most nodes lack, by its plain name, with these nodes.
fn missing_variable(revision: &Revision) -> Option<(String, NodeSet)> {
    let patterns = patterns(&revision.environment);
    let variables = patterns.iter().flat_map(PathPattern::variables);
    let missing = variables.map(|name| (plain(name).to_owned(), revision.fleet.nodes_without(name)));
    missing.filter(|(_, nodes)| !nodes.is_empty()).max_by_key(|(_, nodes)| nodes.len())
}

/// Returns the absolute datadirs that no setting maps, each with the folder of the repository that has the same ending.
fn written_outside(environment: &Environment) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for layer in environment.layers() {
        let Ok(config) = &layer.config else { continue };
        let folders = config.all_levels().flat_map(|level| path_patterns::folders(environment, layer, level));
        for (datadir, mapped) in folders.filter(|(datadir, _)| datadir.starts_with('/')) {
            if mapped.is_none() && !found.iter().any(|(known, _)| *known == datadir) {
                let folder = suggestions::folder_with_same_ending(environment, &datadir);
                found.push((datadir, folder));
            }
        }
    }
    found
}

/// Returns a few files of the tree whose names end in `hiera.yaml`.
fn hiera_yamls(tree: &dyn FileTree) -> Result<Vec<String>, TreeError> {
    const MAX_FILES: usize = 3;
    let is_hidden = |name: &str| name.starts_with('.');
    let found = files_called(tree, |name| name.ends_with("hiera.yaml"), is_hidden)?;
    let mut found: Vec<String> = found.into_iter().map(|(path, _)| path).collect();
    found.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    found.truncate(MAX_FILES);
    Ok(found)
}
