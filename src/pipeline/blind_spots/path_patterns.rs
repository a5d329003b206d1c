//! Patterns of the paths that a level may read, whatever the variables of a node are.

use std::collections::BTreeSet;

use crate::hiera::config::{LevelConfig, Locations, PlacedText};
use crate::hiera::hierarchy::{Datadir, join};
use crate::hiera::interpolation::Template;
use crate::hiera::layer::{Environment, Layer};
use crate::tree::folder_of;

/// Matches any text in a pattern.
const ANY: char = '\0';

/// A location of a level, as the texts around its variables and wildcards.
pub(super) struct PathPattern<'a> {
    pub(super) level: &'a LevelConfig,
    pub(super) declared: &'a PlacedText,
    /// The hiera.yaml that declares it.
    pub(super) config: &'a str,
    /// The fixed texts of the path in the repository; `None` if it is outside.
    pieces: Option<Vec<String>>,
}

impl PathPattern<'_> {
    /// Returns the variables in the path, as written.
    pub(super) fn variables(&self) -> Vec<String> {
        let templates = [&*self.level.datadir, &*self.declared.text].into_iter().filter_map(Template::parse);
        let mut found = Vec::new();
        for template in templates {
            found.extend(template.variables().map(str::to_owned));
        }
        if let Locations::MappedPaths([variable, name, _]) = &self.level.locations {
            found.retain(|found| *found != *name.text);
            found.push(variable.text.to_string());
        }
        found
    }

    /// Returns true if the level may read the file at `path` of the repository for some node.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| is_made_of(path, pieces))
    }
}

/// Returns the patterns of all locations of all layers.
pub(super) fn patterns(environment: &Environment) -> Vec<PathPattern<'_>> {
    let mut found = Vec::new();
    for layer in environment.layers() {
        let Ok(config) = &layer.config else { continue };
        for level in config.all_levels() {
            let declared: &[PlacedText] = match &level.locations {
                Locations::Paths(declared) | Locations::Globs(declared) => declared,
                Locations::MappedPaths(mapped) => &mapped[2..],
                Locations::Uris(_) | Locations::None => &[],
            };
            let is_glob = matches!(level.locations, Locations::Globs(_));
            for declared in declared {
                let pieces = path(environment, layer, level, declared)
                    .map(|path| pieces(&path, is_glob, level.version4.map_or("", |version| version.extension)));
                found.push(PathPattern { level, declared, config: &config.path, pieces });
            }
        }
    }
    found
}

/// Returns the folder of the repository that a level's datadir means, with variables as written, or `None` if it is
/// outside.
pub(super) fn datadir(environment: &Environment, layer: &Layer, level: &LevelConfig) -> Option<String> {
    in_repository(environment, layer, &join(&layer.root, &level.datadir))
}

/// Returns the datadirs inside the repository, as far as they do not depend on variables.
pub(in crate::pipeline) fn datadirs(environment: &Environment) -> BTreeSet<String> {
    let layers = environment.layers().filter_map(|layer| Some((layer, layer.config.as_ref().ok()?)));
    let levels = layers.flat_map(|(layer, config)| config.all_levels().map(move |level| (layer, level)));
    levels.filter_map(|(layer, level)| datadir(environment, layer, level)).map(|folder| fixed(&folder)).collect()
}

/// Returns true if `path` is below `folder`, at any depth. An empty folder is the root of the repository.
pub(in crate::pipeline) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the part of a folder's path before its first variable.
pub(super) fn fixed(folder: &str) -> String {
    let fixed = match folder.split_once("%{") {
        Some((fixed, _)) => folder_of(fixed),
        None => folder,
    };
    fixed.trim_end_matches('/').to_owned()
}

fn path(environment: &Environment, layer: &Layer, level: &LevelConfig, declared: &PlacedText) -> Option<String> {
    in_repository(environment, layer, &join(&join(&layer.root, &level.datadir), &declared.text))
}

/// Maps a path into the repository as the settings do. Returns `None` if it is outside.
fn in_repository(environment: &Environment, layer: &Layer, path: &str) -> Option<String> {
    let below = |from: &str| {
        path.strip_prefix(from.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (from, to) in &environment.options.datadirs {
        if let Some(rest) = below(from) {
            let Datadir::Folder(folder) = to else { return None };
            return Some(join(folder, rest.trim_start_matches('/')));
        }
    }
    let is_inside = !path.starts_with('/') && !path.starts_with("../") && layer.tree.root().is_empty();
    is_inside.then(|| path.to_owned())
}

/// Returns the texts between the variables of a path and, if it is a glob, around its wildcards.
fn pieces(path: &str, is_glob: bool, extension: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once("%{") {
        text.push_str(before);
        text.push(ANY);
        rest = behind.split_once('}').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    if !extension.is_empty() && !text.ends_with(extension) {
        text.push_str(extension);
    }
    if is_glob {
        let wildcard = text.find(['*', '?', '[', '{']);
        let last = text.rfind(['*', '?', ']', '}']);
        if let (Some(first), Some(last)) = (wildcard, last.filter(|last| Some(*last) >= wildcard)) {
            text.replace_range(first..=last, "\0");
        }
    }
    text.split(ANY).map(|piece| piece.strip_prefix("./").unwrap_or(piece).to_owned()).collect()
}

/// Returns true if `text` begins with the first piece, ends with the last one and has the others between them in this
/// order.
fn is_made_of(text: &str, pieces: &[String]) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|piece| piece == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, is_glob: bool, path: &str) -> bool {
        is_made_of(path, &pieces(pattern, is_glob, ""))
    }

    #[test]
    fn variables_match_any_text() {
        assert!(matches("data/nodes/%{trusted.certname}.yaml", false, "data/nodes/web01.yaml"));
        assert!(matches("data/%{facts.a}/%{facts.b}.yaml", false, "data/x/y/z.yaml"));
        assert!(!matches("data/nodes/%{trusted.certname}.yaml", false, "data/nodes/web01.json"));
        assert!(!matches("data/%{a}x%{b}.yaml", false, "data/y.yaml"));
        assert!(matches("data/common.yaml", false, "data/common.yaml"));
        assert!(!matches("data/common.yaml", false, "data/common.yaml2"));
        assert!(!matches("data/a%{x}a.yaml", false, "data/a.yaml"));
    }

    #[test]
    fn wildcards_match_any_text() {
        assert!(matches("data/%{role}/*.yaml", true, "data/web/a/b.yaml"));
        assert!(matches("data/{a,b}/x?.d/**/*.yaml", true, "data/a/x1.d/c/d.yaml"));
        assert!(!matches("data/*.yaml", true, "other/a.yaml"));
        assert!(!matches("data/*.yaml", false, "data/a.yaml"));
    }
}
