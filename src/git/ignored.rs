//! The paths that the `.gitignore` files of a tree name.
//!
//! Source: gitignore(5), `dir.c`.

use std::collections::HashMap;

use regex::bytes::Regex;

use crate::tree::{Entry, FileTree, TreeError, child, git_pattern, read_config};

/// The name of the files that say what git ignores.
const FILE_NAME: &str = ".gitignore";

/// The maximum number of lines read from such a file, and the maximum length of a line.
const MAX_LINES: usize = 1000;
const MAX_LINE_LENGTH: usize = 1000;

/// The files of a tree that say what git ignores.
pub struct Ignored<'t> {
    tree: &'t dyn FileTree,
    /// The lines of each file, by its folder.
    known: HashMap<String, Vec<Line>>,
}

/// A line that says what is ignored, or what is not.
struct Line {
    pattern: Regex,
    is_folder: bool,
    is_ignored: bool,
}

impl<'t> Ignored<'t> {
    /// Makes the rules of a tree. Its files are read when they are needed.
    pub fn of(tree: &'t dyn FileTree) -> Ignored<'t> {
        Ignored { tree, known: HashMap::new() }
    }

    /// Returns the first part of a file's path that git ignores, with the file that says so; `None` if no part is
    /// ignored.
    pub fn part_of<'p>(&mut self, path: &'p str) -> Result<Option<(&'p str, String)>, TreeError> {
        let folders = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        for (part, is_folder) in folders.chain([(path, false)]) {
            if let Some(file) = self.ignores(part, is_folder)? {
                return Ok(Some((part, file)));
            }
        }
        Ok(None)
    }

    /// Returns the file that makes git ignore a path in a folder that it does not ignore. The last matching line
    /// wins, and files in inner folders override those in outer ones.
    fn ignores(&mut self, path: &str, is_folder: bool) -> Result<Option<String>, TreeError> {
        let outer = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in [""].into_iter().chain(outer).collect::<Vec<_>>().into_iter().rev() {
            let inner = path[folder.len()..].trim_start_matches('/');
            let lines = self.lines_in(folder)?.iter().rev();
            let mut matching =
                lines.filter(|line| (is_folder || !line.is_folder) && line.pattern.is_match(inner.as_bytes()));
            if let Some(line) = matching.next() {
                return Ok(line.is_ignored.then(|| child(folder, FILE_NAME)));
            }
        }
        Ok(None)
    }

    fn lines_in(&mut self, folder: &str) -> Result<&[Line], TreeError> {
        if !self.known.contains_key(folder) {
            let path = child(folder, FILE_NAME);
            let content = match self.tree.entry(&path)? {
                Some(Entry::File(id)) => read_config(self.tree, &path, id)?,
                _ => Vec::new(),
            };
            let text = String::from_utf8_lossy(&content);
            let lines = text
                .lines()
                .take(MAX_LINES)
                .filter(|line| line.len() <= MAX_LINE_LENGTH)
                .filter_map(Line::of)
                .collect();
            self.known.insert(folder.to_owned(), lines);
        }
        Ok(self.known.get(folder).map_or(&[], Vec::as_slice))
    }
}

impl Line {
    fn of(line: &str) -> Option<Line> {
        let line = line.trim_end();
        let (is_ignored, pattern) = line.strip_prefix('!').map_or((true, line), |pattern| (false, pattern));
        let plain = pattern.trim_end_matches('/');
        let is_rule = !plain.is_empty() && !line.starts_with('#');
        is_rule.then_some(Line { pattern: git_pattern(plain)?, is_folder: plain != pattern, is_ignored })
    }
}
