//! Finds what git's attributes make of data: a checkout has other files than the repository.
//!
//! Git reads `.gitattributes` in the folders of a path, and no links of that name. Of what it converts, ends of lines
//! mean nothing to readers of YAML and JSON, and `export-*` concerns archives alone.
//!
//! Source: gitattributes(5), `attr.c`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use regex::Regex;

use super::{BlindSpot, DiffContext, accept, outside_levels, wording};
use crate::fleet::Revision;
use crate::git::patterns::regex;
use crate::report::Remedy;
use crate::tree::{BlobId, CONFIG_LIMIT, Entry, FileTree, Target, TreeError, child, follow, read_config};

/// The name of such files.
pub(super) const NAME: &str = ".gitattributes";

/// The attributes that have a checkout convert files.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The ends of the names of files whose ends of lines mean nothing.
const WITHOUT_LINES: [&str; 4] = [".yaml", ".yml", ".eyaml", ".json"];

impl DiffContext<'_> {
    /// Returns a blind spot for files of attributes, of those changed, that have files converted in another way.
    pub(super) fn changed_attributes(&self, changed: &BTreeSet<String>) -> Result<Option<BlindSpot>, TreeError> {
        let mut files = Vec::new();
        for path in changed {
            let [before, after] = self.both_revisions().map(|revision| {
                let tree = &*revision.environment.tree;
                let macros = Macros::of(tree)?;
                Ok(lines(tree, path)?.into_iter().filter(|words| macros.converts(words)).collect::<Vec<_>>())
            });
            if before? != after? {
                files.push(path.clone());
            }
        }
        let Some(first) = files.first() else { return Ok(None) };
        Ok(Some(BlindSpot {
            code: "changed-settings",
            headline: format!("{first} changes, which says how git converts files"),
            message: format!(
                "{first} has git convert files in another way, and data are read as the repository holds them"
            ),
            fix: Some(Remedy::words("look at what a checkout gives before and after")),
            files,
            ..BlindSpot::default()
        }))
    }

    /// Returns a blind spot for files that git converts and that are not the same on both sides: they themselves, or
    /// what is made of them. `changed` are those that nodes read, if nothing but files has changed.
    pub(super) fn converted_files(&self, changed: Option<&BTreeSet<String>>) -> Result<Option<BlindSpot>, TreeError> {
        const CODE: &str = outside_levels::OUTSIDE;
        let of = |revision: &Revision| {
            // All others are what they were, and there are many.
            let changed = changed.map(|paths| paths.iter().map(|path| path.as_str().into()).collect());
            converted(revision, changed.unwrap_or_else(|| read_paths(revision)))
        };
        let [before, after] = self.both_revisions().map(of);
        let (before, after) = (before?, after?);
        let paths: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
        let mut files: Vec<String> =
            paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(ToString::to_string).collect();
        files.retain(|file| !self.accepted.has(CODE, file));
        let Some(first) = files.first() else { return Ok(None) };
        let short = if files.len() == 1 { first.clone() } else { wording::count(files.len(), "file") };
        let names = wording::some(files.iter().map(String::as_str));
        Ok(Some(BlindSpot {
            code: CODE,
            headline: format!("git converts {short} as {NAME} says"),
            message: format!("git converts {names} as {NAME} says: nodes get what a checkout has, and it is not read"),
            fix: Some(Remedy::with_yaml(
                "look at what a checkout gives before and after or, if it is the same, put into hierad.yaml",
                accept::line(CODE, files.iter().map(String::as_str)),
            )),
            files,
            ..BlindSpot::default()
        }))
    }
}

/// Files that git converts, with what is there and what is done to it.
type Converted = BTreeMap<Arc<str>, (BlobId, Vec<String>)>;

/// Returns the paths of all files of data and configuration that are read.
fn read_paths(revision: &Revision) -> BTreeSet<Arc<str>> {
    let mut paths = revision.reached_files();
    let configs = revision.environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    paths.extend(configs.map(|config| config.path.clone()));
    paths
}

/// Returns those of some files that a checkout has otherwise than the repository, with what is there and what is done
/// to it.
fn converted(revision: &Revision, paths: BTreeSet<Arc<str>>) -> Result<Converted, TreeError> {
    let tree = &*revision.environment.tree;
    let mut attributes = Attributes { tree, macros: Macros::of(tree)?, known: HashMap::new() };
    let mut found = BTreeMap::new();
    for path in paths {
        let Target::File(real, id) = follow(tree, &path)? else { continue };
        let made = attributes.made_of(&real, id)?;
        if !made.is_empty() {
            found.insert(path, (id, made));
        }
    }
    Ok(found)
}

/// The attributes of paths of a tree.
struct Attributes<'t> {
    tree: &'t dyn FileTree,
    macros: Macros,
    /// The lines that say what is converted, by folder.
    known: HashMap<String, Vec<Line>>,
}

impl Attributes<'_> {
    /// Returns what a checkout does to the file at `path`, in words.
    fn made_of(&mut self, path: &str, id: BlobId) -> Result<Vec<String>, TreeError> {
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in [""].into_iter().chain(folders) {
            let inner = path[folder.len()..].trim_start_matches('/');
            for line in self.lines_in(folder)? {
                for (name, value) in line.settings.iter().filter(|(_, value)| line.may_match(inner, value)) {
                    set.insert(name.clone(), value.clone());
                }
            }
        }
        let is_text = set.remove("text").is_none_or(|value| value != UNSET);
        set.retain(|_, value| ![UNSET, ""].contains(&&**value));
        if set.is_empty() {
            return Ok(Vec::new());
        }
        if set.contains_key("ident") {
            let content = self.tree.read(id)?;
            if !content.windows(3).any(|three| three == b"$Id") {
                set.remove("ident");
            }
        }
        let is_plain = WITHOUT_LINES.iter().any(|end| path.ends_with(end));
        set.retain(|name, value| name != "eol" || value == "crlf" && is_text && !is_plain);
        Ok(set.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    fn lines_in(&mut self, folder: &str) -> Result<&[Line], TreeError> {
        if !self.known.contains_key(folder) {
            let lines = lines(self.tree, &child(folder, NAME))?;
            let lines = lines.iter().filter_map(|words| Line::of(words, &self.macros)).collect();
            self.known.insert(folder.to_owned(), lines);
        }
        Ok(self.known.get(folder).map_or(&[], Vec::as_slice))
    }
}

/// The value of an attribute that a line unsets; one that it leaves open has an empty value.
const UNSET: &str = "-";

/// A line of attributes: those that have files converted, macros expanded.
struct Line {
    /// The pattern of the paths below the folder; nothing if it is not understood.
    pattern: Option<Regex>,
    settings: Vec<(String, String)>,
}

impl Line {
    fn of(words: &[String], macros: &Macros) -> Option<Line> {
        let (pattern, attributes) = words.split_first().filter(|(pattern, _)| !pattern.starts_with("[attr]"))?;
        let mut settings = Vec::new();
        for attribute in attributes {
            macros.expand(attribute, &mut settings);
        }
        (!settings.is_empty()).then(|| Line { pattern: regex(pattern), settings })
    }

    /// Returns true if it gives a path this value. What is not understood converts all files, and leaves none alone.
    fn may_match(&self, path: &str, value: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.is_match(path),
            None => ![UNSET, ""].contains(&value),
        }
    }
}

/// The macros of a tree, which the file at its root defines: names for several attributes.
struct Macros(BTreeMap<String, Vec<String>>);

impl Macros {
    fn of(tree: &dyn FileTree) -> Result<Macros, TreeError> {
        let define = |words: Vec<String>| {
            let name = words.first()?.strip_prefix("[attr]")?.to_owned();
            Some((name, words[1..].to_vec()))
        };
        Ok(Macros(lines(tree, NAME)?.into_iter().filter_map(define).collect()))
    }

    /// Returns true for a line that sets or unsets an attribute by which files are converted, or that defines such a
    /// macro.
    fn converts(&self, words: &[String]) -> bool {
        let mut settings = Vec::new();
        for attribute in words.iter().skip(1) {
            self.expand(attribute, &mut settings);
        }
        settings.iter().any(|(name, _)| CONVERTING.contains(&name.as_str()))
    }

    /// Adds the attributes by which files are converted of those that a word sets.
    fn expand(&self, attribute: &str, settings: &mut Vec<(String, String)>) {
        let mut pending = vec![attribute];
        let mut seen = BTreeSet::new();
        while let Some(attribute) = pending.pop() {
            let (name, value) = match attribute.split_once('=') {
                Some(pair) => pair,
                None => match attribute.strip_prefix(['-', '!']) {
                    Some(name) if attribute.starts_with('-') => (name, UNSET),
                    Some(name) => (name, ""),
                    None => (attribute, "set"),
                },
            };
            if CONVERTING.contains(&name) || ["eol", "text"].contains(&name) {
                settings.push((name.to_owned(), value.to_owned()));
            } else if name == "binary" && value == "set" {
                settings.push(("text".to_owned(), UNSET.to_owned()));
            } else if seen.insert(name) {
                pending.extend(self.0.get(name).into_iter().flatten().map(String::as_str));
            }
        }
    }
}

/// Returns the lines of a file of attributes as words, without comments.
fn lines(tree: &dyn FileTree, path: &str) -> Result<Vec<Vec<String>>, TreeError> {
    let Some(Entry::File(id)) = tree.entry(path)? else { return Ok(Vec::new()) };
    let content = match read_config(tree, path, id) {
        Err(error) if error.is_too_large => format!("* filter={CONFIG_LIMIT}").into_bytes(),
        content => content?,
    };
    let text = String::from_utf8_lossy(&content);
    let words = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    Ok(words.filter(|words| words.first().is_some_and(|first| !first.starts_with('#'))).collect())
}
