//! Git's attributes, as far as they have files converted: a checkout has other files than the repository.
//!
//! Git reads `.gitattributes` in the folders of a path, and no links of that name. Of what it converts, ends of lines
//! mean nothing to readers of YAML and JSON, and `export-*` concerns archives alone.
//!
//! Source: gitattributes(5), `attr.c`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::Regex;

use super::{BlobId, CONFIG_LIMIT, Entry, FileTree, TreeError, child, git_pattern, read_config};

/// The name of files of attributes.
pub const ATTRIBUTES: &str = ".gitattributes";

/// The attributes that have a checkout convert files.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The ends of the names of files whose ends of lines mean nothing.
const WITHOUT_LINES: [&str; 4] = [".yaml", ".yml", ".eyaml", ".json"];

/// The attributes of paths of a tree, as far as they have files converted.
#[derive(Debug, Default)]
pub struct Attributes {
    macros: Option<Macros>,
    /// The lines that say what is converted, by folder.
    known: HashMap<String, Vec<Line>>,
}

impl Attributes {
    /// Returns the attributes by which a checkout converts the file at `path` of `tree`, as `NAME=VALUE`. It must be
    /// asked of one tree alone.
    pub fn converting(&mut self, tree: &dyn FileTree, path: &str, id: BlobId) -> Result<Vec<String>, TreeError> {
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in [""].into_iter().chain(folders) {
            let inner = path[folder.len()..].trim_start_matches('/');
            // Those of one repository do not count in another that lies in it.
            if !set.is_empty() && tree.commit_at(folder)?.is_some() {
                set.clear();
            }
            for line in self.lines_in(tree, folder)? {
                for (name, value) in line.settings.iter().filter(|_| line.pattern.is_match(inner)) {
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
            let content = tree.read(id)?;
            if !content.windows(3).any(|three| three == b"$Id") {
                set.remove("ident");
            }
        }
        let is_plain = WITHOUT_LINES.iter().any(|end| path.ends_with(end));
        set.retain(|name, value| name != "eol" || value == "crlf" && is_text && !is_plain);
        Ok(set.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    fn lines_in(&mut self, tree: &dyn FileTree, folder: &str) -> Result<&[Line], TreeError> {
        if !self.known.contains_key(folder) {
            let macros = match self.macros.take() {
                Some(macros) => macros,
                None => Macros::of(tree)?,
            };
            let found = lines(tree, &child(folder, ATTRIBUTES));
            let found = found.map(|found| found.iter().filter_map(|words| Line::of(words, &macros)).collect());
            self.macros = Some(macros);
            self.known.insert(folder.to_owned(), found?);
        }
        Ok(self.known.get(folder).map_or(&[], Vec::as_slice))
    }
}

/// Returns the lines of a file of attributes, each as its words, that have files converted, or not.
pub fn converting_lines(tree: &dyn FileTree, path: &str) -> Result<Vec<Vec<String>>, TreeError> {
    let macros = Macros::of(tree)?;
    Ok(lines(tree, path)?.into_iter().filter(|words| macros.converts(words)).collect())
}

/// The value of an attribute that a line unsets; one that it leaves open has an empty value.
const UNSET: &str = "-";

/// A line of attributes: those that have files converted, macros expanded.
#[derive(Debug)]
struct Line {
    /// The pattern of the paths below the folder.
    pattern: Regex,
    settings: Vec<(String, String)>,
}

impl Line {
    /// Returns a line that may match something. One that begins with `!` is forbidden, and counts for nothing.
    fn of(words: &[String], macros: &Macros) -> Option<Line> {
        let (pattern, attributes) =
            words.split_first().filter(|(pattern, _)| !pattern.starts_with('!') && !pattern.starts_with("[attr]"))?;
        let mut settings = Vec::new();
        for attribute in attributes {
            macros.expand(attribute, &mut settings);
        }
        let pattern = git_pattern(pattern).filter(|_| !settings.is_empty())?;
        Some(Line { pattern, settings })
    }
}

/// The macros of a tree, which the file at its root defines: names for several attributes.
#[derive(Debug)]
struct Macros(BTreeMap<String, Vec<String>>);

impl Macros {
    fn of(tree: &dyn FileTree) -> Result<Macros, TreeError> {
        let define = |words: Vec<String>| {
            let name = words.first()?.strip_prefix("[attr]")?.to_owned();
            Some((name, words[1..].to_vec()))
        };
        Ok(Macros(lines(tree, ATTRIBUTES)?.into_iter().filter_map(define).collect()))
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
    let words = text.lines().map(words);
    Ok(words.filter(|words| words.first().is_some_and(|first| !first.starts_with('#'))).collect())
}

/// Returns the words of a line, of which the first may be in quotes.
fn words(line: &str) -> Vec<String> {
    let (quoted, rest) = match line.trim_start().strip_prefix('"').and_then(unquoted) {
        Some((pattern, rest)) => (Some(pattern), rest),
        None => (None, line),
    };
    quoted.into_iter().chain(rest.split_whitespace().map(str::to_owned)).collect()
}

/// Returns the text up to the closing quote, and what follows it.
///
/// Source: git's `quote.c` (`unquote_c_style`).
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut pattern, mut bytes, mut at) = (Vec::new(), text.bytes().enumerate(), None);
    while let Some((place, byte)) = bytes.next() {
        match byte {
            b'"' => {
                at = Some(place + 1);
                break;
            }
            b'\\' => match bytes.next()?.1 {
                b'n' => pattern.push(b'\n'),
                b't' => pattern.push(b'\t'),
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().map(|(_, digit)| digit & 7);
                    pattern.push((first & 7) << 6 | digit()? << 3 | digit()?);
                }
                other => pattern.push(other),
            },
            byte => pattern.push(byte),
        }
    }
    Some((String::from_utf8_lossy(&pattern).into_owned(), &text[at?..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn converting(lines: &str, path: &str) -> Vec<String> {
        let tree = MemoryTree::from_fixture(&format!("-- .gitattributes\n{lines}\n"));
        Attributes::default().converting(&tree, path, BlobId::of(b"")).unwrap()
    }

    #[test]
    fn patterns_match_as_in_git() {
        for (pattern, path) in [
            ("*.yaml", "data/a.yaml"),
            ("data/*.yaml", "data/a.yaml"),
            ("/data/**/a.yaml", "data/x/y/a.yaml"),
            ("*.[yY]aml", "a.Yaml"),
            ("[!b].yaml", "data/a.yaml"),
            ("[[:lower:]_-].yaml", "a.yaml"),
            ("\"data/a b.yaml\"", "data/a b.yaml"),
            ("\"data/\\303\\270.yaml\"", "data/\u{f8}.yaml"),
            ("a\\*.yaml", "a*.yaml"),
            ("data/a?.yaml", "data/ab.yaml"),
        ] {
            assert_eq!(converting(&format!("{pattern} filter=x"), path), ["filter=x"], "{pattern}");
        }
        for (pattern, path) in [
            ("*.[jJ]pg", "a.yaml"),
            ("\"some pictures/*\"", "data/a.yaml"),
            ("data/", "data/a.yaml"),
            ("data", "data/a.yaml"),
            ("x/*.yaml", "data/a.yaml"),
            ("!*.yaml", "a.yaml"),
            ("[", "a.yaml"),
            ("data[!a]a.yaml", "data/a.yaml"),
            ("a\\*.yaml", "ab.yaml"),
        ] {
            assert_eq!(converting(&format!("{pattern} filter=x"), path), [""; 0], "{pattern}");
        }
    }
}
