//! Patterns of the paths that a level may read, whatever values a node's variables have.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::hiera::backend::{DataFile, is_installed};
use crate::hiera::config::{LevelConfig, PlacedText};
use crate::hiera::hierarchy::Datadir;
use crate::hiera::layer::{Environment, Layer};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::pattern::is_made_of;
use crate::puppet::pathname::join;
use crate::tree::{Target, child, folder_of, follow};

/// Matches any text in a pattern.
const ANY: char = '\0';

/// A location of a level, as the texts around its variables and wildcards.
pub struct PathPattern<'a> {
    /// The level.
    pub level: &'a LevelConfig,
    /// The location as declared.
    pub declared: &'a PlacedText,
    /// The layer that has the level.
    pub layer: &'a Layer,
    /// The hiera.yaml that declares it.
    pub config: &'a str,
    /// The path in the repository, with its variables as written, or `None` if it is not in the repository.
    path: Option<String>,
    target: Pattern,
}

/// A path as the texts around its variable parts.
#[derive(PartialEq)]
enum Pattern {
    /// A path of the repository.
    Inside(Vec<String>),
    /// A path outside of the repository. It is not known where the repository is deployed, so the path may lead back
    /// into it: each end of the path is a pattern.
    Outside(Vec<EndPattern>),
    /// A path that is certainly elsewhere.
    Elsewhere,
}

/// An end of a path, which begins with a whole name.
#[derive(PartialEq)]
struct EndPattern {
    pieces: Vec<String>,
    /// True if it is a single name.
    is_name: bool,
}

impl EndPattern {
    fn matches(&self, path: &str) -> bool {
        // Otherwise any file would match `%{role}.yaml`.
        !(self.is_name && path.contains('/')) && is_made_of(path, &self.pieces)
    }
}

impl PathPattern<'_> {
    /// Returns the variables in the path, as written.
    pub fn variables(&self) -> Vec<&str> {
        self.level.variables_of(self.declared).map(|(name, _)| name).collect()
    }

    /// Returns the path in the repository, with `*` for each variable and for all wildcards, or `None` if it is not
    /// in the repository.
    pub fn inside(&self) -> Option<String> {
        let Pattern::Inside(pieces) = &self.target else { return None };
        Some(pieces.join("*"))
    }

    /// Returns the outside folder of the path, as written, or `None` if it is not written as outside. If the settings
    /// redirect another part of the datadir, that part of this path is returned.
    pub fn written_outside(&self, environment: &Environment) -> Option<String> {
        let (folder, rest) = self.level.located(&self.declared.text);
        let folder = match &*self.declared.text {
            path if path.starts_with('/') => folder_of(path).to_owned(),
            _ => join(&self.layer.root, &folder),
        };
        let is_in_part = environment.options.datadirs.iter().any(|(from, _)| is_below(from, &folder));
        let extension = extension(self.level);
        let part = match rest.split_once('/') {
            _ if !is_in_part || rest.starts_with('/') => folder,
            Some((part, _)) => child(&folder, part),
            None => child(&folder, rest) + extension,
        };
        part.starts_with('/').then_some(part)
    }

    /// Returns true if the path is on disk, in a folder that does not exist.
    pub fn is_missing_on_disk(&self, environment: &Environment) -> bool {
        let is_there = |folder: String| !matches!(follow(&*self.layer.tree, &fixed(&folder)), Ok(Target::Absent));
        let path = join(&join(&self.layer.root, &self.level.datadir), &self.declared.text);
        let is_on_disk = self.layer.tree.root() == "/" && datadir_setting(environment, &path).is_none();
        is_on_disk && self.written_outside(environment).is_some_and(|folder| !is_there(folder))
    }

    /// Returns true if the level reads the file at `path` of the repository for some possible node.
    pub fn matches(&self, path: &str) -> bool {
        self.target.is_read(path)
    }

    /// Returns true if the level reads the file at `path` of the repository for some possible node on which
    /// `variable`, as written, has this text.
    pub fn matches_where(&self, path: &str, (variable, text): (&str, &str)) -> bool {
        let Some(written) = self.path.as_ref().filter(|_| self.level.locations.mapped().is_none()) else {
            return self.matches(path);
        };
        let is_glob = self.level.locations.have_wildcards();
        is_made_of(path, &pieces(&with_value(written, variable, text), is_glob, extension(self.level)))
    }

    /// Returns the path that the level would read in place of `path`, if `path` has no extension, a different one of
    /// the same format, or letters in the wrong case. Here, a variable stands for a single name, which is below a
    /// folder.
    pub fn put_right(&self, path: &str) -> Option<String> {
        let Pattern::Inside(pieces) = &self.target else { return None };
        let [first, .., last] = &pieces[..] else { return correct_path(path, pieces.first()?, "") };
        let slashes = |text: &str| text.matches('/').count();
        let is_apart = slashes(path) == 0 || pieces.iter().map(|piece| slashes(piece)).sum::<usize>() != slashes(path);
        let right = correct_path(path, first, last).filter(|_| !is_apart)?;
        is_made_of(&right, pieces).then_some(right)
    }

    /// Returns true if the level is outside of the repository according to the settings.
    pub fn is_outside(&self) -> bool {
        matches!(self.target, Pattern::Outside(_))
    }

    /// Returns true if the level is outside of the repository according to the settings, and its paths end like
    /// `path`: it reads that file if the repository is deployed in the right place.
    pub fn ends_like(&self, path: &str) -> bool {
        self.target.ends_like(path)
    }
}

impl Pattern {
    fn is_read(&self, path: &str) -> bool {
        matches!(self, Pattern::Inside(pieces) if is_made_of(path, pieces))
    }

    fn ends_like(&self, path: &str) -> bool {
        matches!(self, Pattern::Outside(ends) if ends.iter().any(|end| end.matches(path)))
    }
}

/// The data files whose root keys make up "every key": those that levels may read, whatever values a node's variables
/// have, and all others in their datadirs. If some levels are unknown, also those that look like data.
#[derive(PartialEq)]
pub struct Reach {
    patterns: Vec<Pattern>,
    is_partial: bool,
}

impl Reach {
    /// Returns the reach of the levels of all layers.
    pub fn of(environment: &Environment) -> Reach {
        let is_unknown = |layer: &Layer| layer.config.as_ref().map_or(true, |config| config.sound().is_err());
        let mut patterns: Vec<Pattern> = patterns(environment).into_iter().map(|pattern| pattern.target).collect();
        let is_blind = |root: &Environment| {
            root.fault.is_some() || root.modules_fault.is_some() || root.layer.is_none() && root.own_module().is_none()
        };
        let is_partial = environment.roots().any(is_blind)
            || environment.layers().any(is_unknown)
            || patterns.iter().any(|pattern| matches!(pattern, Pattern::Outside(_)));
        for (layer, level) in levels(environment) {
            for folder in folders(environment, layer, level).into_iter().filter_map(|(_, folder)| folder) {
                let pieces = pieces(&child(&folder, "%{}"), false, "");
                let is_root = pieces.iter().all(|piece| piece.trim_matches('/').is_empty());
                // The root of the repository is a datadir only for functions of the site.
                if !is_root || !is_installed(&level.function) {
                    patterns.push(Pattern::Inside(pieces));
                }
            }
        }
        Reach { patterns, is_partial }
    }

    /// Returns true if the data file at `path` is in reach.
    pub fn has(&self, path: &str, file: &DataFile) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_read(path) || pattern.ends_like(path))
            || self.is_partial && looks_like_data(path, file)
    }
}

/// The usual names of folders of data.
const DATA_FOLDERS: [&str; 4] = ["data", "hiera", "hieradata", "hiera-data"];

/// The names of folders whose files are not data, whatever they look like.
const OTHER_FOLDERS: [&str; 7] = ["examples", "files", "fixtures", "locales", "spec", "templates", "test"];

/// Returns true if the file at `path` has keys in Hiera's style, or any keys and is in a usual folder of data.
pub fn looks_like_data(path: &str, file: &DataFile) -> bool {
    let mut folders = folder_of(path).split('/');
    if folders.clone().any(|folder| OTHER_FOLDERS.contains(&folder)) {
        return false;
    }
    let is_key_of_hiera = |key: &Arc<str>| key.contains("::") || **key == *LOOKUP_OPTIONS;
    let is_in_folder = folders.any(|folder| DATA_FOLDERS.contains(&folder));
    file.keys().iter().any(is_key_of_hiera) || is_in_folder && !file.keys().is_empty()
}

/// Returns all readable levels with their layers.
fn levels(environment: &Environment) -> impl Iterator<Item = (&Layer, &LevelConfig)> {
    let layers = environment.layers().filter_map(|layer| Some((layer, layer.config.as_ref().ok()?)));
    layers.flat_map(|(layer, config)| config.all_levels().map(move |level| (layer, level)))
}

/// Returns the patterns of all locations of all layers.
pub fn patterns(environment: &Environment) -> Vec<PathPattern<'_>> {
    let mut found = Vec::new();
    for layer in environment.layers() {
        let Ok(config) = &layer.config else { continue };
        for level in config.all_levels() {
            let is_glob = level.locations.have_wildcards();
            for declared in level.locations.paths().unwrap_or_default() {
                let path = join(&join(&layer.root, &level.datadir), &declared.text);
                let (inside, extension) = (in_repository(environment, layer, &path), extension(level));
                let target = match &inside {
                    Some(path) => Pattern::Inside(pieces(path, is_glob, extension)),
                    None if may_lead_back(environment, &path) => Pattern::Outside(ends(&path, is_glob, extension)),
                    None => Pattern::Elsewhere,
                };
                found.push(PathPattern { level, declared, layer, config: &config.path, path: inside, target });
            }
        }
    }
    found
}

/// Returns the patterns of all locations in a repository for Hiera 3, which [`patterns`] leaves out.
pub fn patterns_of_hiera3(environment: &Environment) -> Vec<PathPattern<'_>> {
    let mut found = Vec::new();
    for layer in environment.layers() {
        let Ok(config) = &layer.config else { continue };
        let Some(hiera3) = &config.hiera3 else { continue };
        for (level, section) in config.levels.iter().zip(&hiera3.sections) {
            let (Ok(datadir), Ok(extension)) = (&section.datadir, &section.extension) else { continue };
            for declared in hiera3.hierarchy.iter().map(|source| &source.declared) {
                let path = format!("{}/{}.{extension}", datadir.trim_end_matches('/'), declared.text);
                let path = join(&layer.root, &path);
                let inside = in_repository(environment, layer, &path);
                let target = match &inside {
                    Some(path) => Pattern::Inside(pieces(path, false, "")),
                    None => Pattern::Outside(ends(&path, false, "")),
                };
                found.push(PathPattern { level, declared, layer, config: &config.path, path: inside, target });
            }
        }
    }
    found
}

/// Returns the folders of a level as written, each with the corresponding folder of the repository, or `None` if it
/// is outside.
pub fn folders(environment: &Environment, layer: &Layer, level: &LevelConfig) -> Vec<(String, Option<String>)> {
    let in_tree = |folder: &String| in_repository(environment, layer, &join(&layer.root, folder));
    level.folders().into_iter().map(|folder| (in_tree(&folder), folder)).map(|(path, folder)| (folder, path)).collect()
}

/// Returns the datadirs inside the repository, up to the first variable in each.
pub fn datadirs(environment: &Environment) -> BTreeSet<String> {
    levels(environment)
        .flat_map(|(layer, level)| folders(environment, layer, level))
        .filter_map(|(_, folder)| Some(fixed(&folder?)))
        .collect()
}

/// Returns true if `path` is below `folder`, at any depth. An empty folder is the root of the repository.
pub fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns true if `path` is below one of `folders`, at any depth.
pub fn is_below_any(path: &str, folders: &BTreeSet<String>) -> bool {
    path.match_indices('/').any(|(at, _)| folders.contains(&path[..at])) || folders.contains("")
}

/// Returns the part of a folder's path before its first variable.
pub fn fixed(folder: &str) -> String {
    let fixed = match folder.split_once("%{") {
        Some((fixed, _)) => folder_of(fixed),
        None => folder,
    };
    fixed.trim_end_matches('/').to_owned()
}

/// Returns true if a path outside of the repository may lead back into it, since no setting redirects it.
fn may_lead_back(environment: &Environment, path: &str) -> bool {
    (path.starts_with('/') || path.starts_with("../")) && datadir_setting(environment, path).is_none()
}

/// Returns the settings' entry for the folder of a path, and the rest of the path.
fn datadir_setting<'e>(environment: &'e Environment, path: &'e str) -> Option<(&'e Datadir, &'e str)> {
    let below = |from: &str| {
        path.strip_prefix(from.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    environment.options.datadirs.iter().find_map(|(from, to)| Some((to, below(from)?.trim_start_matches('/'))))
}

/// Returns the place of a path in the repository, as mapped by the settings, or `None` if it is outside.
fn in_repository(environment: &Environment, layer: &Layer, path: &str) -> Option<String> {
    if let Some((to, rest)) = datadir_setting(environment, path) {
        let Datadir::Folder(folder) = to else { return None };
        return Some(join(folder, rest));
    }
    let is_inside = !path.starts_with('/') && !path.starts_with("../") && layer.tree.root().is_empty();
    is_inside.then(|| path.to_owned())
}

/// Returns the extension that version 4 adds to the paths of a level.
fn extension(level: &LevelConfig) -> &'static str {
    level.version4.map_or("", |version| version.extension)
}

/// Returns a path with `text` in place of a variable.
fn with_value(path: &str, variable: &str, text: &str) -> String {
    let plain = |name: &str| name.trim().trim_start_matches("::").to_owned();
    let (mut replaced, mut rest, name) = (String::new(), path, plain(variable));
    while let Some((before, after)) = rest.split_once("%{") {
        let (inner, after) = after.split_once('}').unwrap_or((after, ""));
        replaced += before;
        let as_written = ["%{", inner, "}"].concat();
        replaced += if plain(inner) == name { text } else { &as_written };
        rest = after;
    }
    replaced + rest
}

/// Returns the texts between the variables of a path and, for a glob, around its wildcards.
fn pieces(path: &str, is_glob: bool, extension: &str) -> Vec<String> {
    split(&with_wildcards(path, is_glob, extension))
}

/// Returns all ends of a path.
fn ends(path: &str, is_glob: bool, extension: &str) -> Vec<EndPattern> {
    let text = with_wildcards(path, is_glob, extension);
    let has_folders = is_glob && (path.contains("**") || path.contains('{'));
    let ends = text.match_indices('/').map(|(at, _)| &text[at + 1..]);
    ends.map(|end| EndPattern { pieces: split(end), is_name: !has_folders && !end.contains('/') }).collect()
}

/// Returns a path with [`ANY`] in place of each variable and, for a glob, of everything from its first wildcard to
/// the last.
fn with_wildcards(path: &str, is_glob: bool, extension: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("%{") {
        text.push_str(before);
        text.push(ANY);
        rest = after.split_once('}').map_or("", |(_, after)| after);
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
    without_parents(&text)
}

/// Returns a path without `.`, and without any `..` that follows a name.
fn without_parents(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match (name, names.last()) {
            (".", _) => {}
            ("..", Some(last)) if !["", ".."].contains(last) => _ = names.pop(),
            _ => names.push(name),
        }
    }
    names.join("/")
}

fn split(text: &str) -> Vec<String> {
    text.split(ANY).map(str::to_owned).collect()
}

/// The extensions of data files, by format.
const EXTENSIONS: [&[&str]; 3] = [&[".yaml", ".yml", ".eyaml"], &[".json"], &[".conf", ".hocon"]];

/// The extensions of files that are not data, whatever they contain.
const OTHER_ENDS: [&str; 20] = [
    "adoc", "bak", "crt", "disabled", "erb", "epp", "j2", "key", "md", "off", "old", "orig", "pem", "pp", "py", "rb",
    "rst", "sh", "tmpl", "txt",
];

/// Returns a path corrected to the extension and letter case of a level's path, whose ends are `first` and `last`.
/// Returns `None` if the path has an extension of another kind, or does not have these ends.
fn correct_path(path: &str, first: &str, last: &str) -> Option<String> {
    let end = if last.is_empty() { first } else { last };
    let kind = EXTENSIONS.iter().find(|kind| kind.iter().any(|extension| end.ends_with(extension)))?;
    let extension = kind.iter().find(|extension| end.ends_with(**extension))?;
    let lower = path.to_ascii_lowercase();
    let stem = match kind.iter().find_map(|extension| lower.strip_suffix(extension)) {
        Some(stem) => &path[..stem.len()],
        None if is_bare(path) => path,
        None => return None,
    };
    let right = format!("{stem}{extension}");
    let (head, tail) = (right.get(..first.len())?, right.get(right.len().checked_sub(last.len())?..)?);
    let is_like = head.eq_ignore_ascii_case(first) && tail.eq_ignore_ascii_case(last);
    let middle = right.get(first.len()..right.len() - last.len()).filter(|_| is_like)?;
    let right = format!("{first}{middle}{last}");
    // A path without variables stands for exactly one path.
    (right != path && (!last.is_empty() || middle.is_empty())).then_some(right)
}

/// Returns true if a file name seems to have no extension. Names of nodes contain dots, too.
pub fn is_bare(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let has_extension = |extension: &&str| name.to_ascii_lowercase().contains(extension);
    // README, LICENSE, Makefile.
    !name.starts_with(|c: char| c.is_ascii_uppercase() || c == '.')
        && name.chars().all(is_plain)
        && !EXTENSIONS.iter().flat_map(|kind| kind.iter()).any(has_extension)
        && name.rsplit_once('.').is_none_or(|(_, end)| !OTHER_ENDS.contains(&end))
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
        assert!(matches("data/./sub/../*.yaml", true, "data/a.yaml"));
        assert!(matches("data/%{role}/../a.yaml", false, "data/a.yaml"));
    }

    #[test]
    fn ends_are_those_of_a_repository_deployed_anywhere_on_the_path() {
        let ends_like =
            |pattern: &str, is_glob: bool, path: &str| ends(pattern, is_glob, "").iter().any(|end| end.matches(path));
        let nodes = "/etc/puppet/%{environment}/data/nodes/%{fqdn}.yaml";
        for path in ["test/data/nodes/a.yaml", "data/nodes/a.yaml", "nodes/a.yaml", "a.yaml", "nodes/a/b.yaml"] {
            assert!(ends_like(nodes, false, path), "{path}");
        }
        for path in [".gitlab-ci.yml", "spec/a.yaml", "hieradata/nodes/a.yaml", "data/common.yaml"] {
            assert!(!ends_like(nodes, false, path), "{path}");
        }
        assert!(ends_like("/srv/data/sub/../*.conf", true, "data/10.conf"));
        assert!(!ends_like("/srv/data/*.conf", true, "other/10.conf"));
        assert!(ends_like("/srv/data/**/*.conf", true, "any/10.conf"));
        assert!(ends_like("../%{environment}/data/a.yaml", false, "data/a.yaml"));
    }
}
