//! The programs in the tree that the settings run for profiles and backends. For both sides, the answers come from
//! the programs as checked out, even if a commit changes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::app::settings::Settings;
use crate::app::workspace::inside::path_below;
use crate::tree::{FileTree, Target, TreeError, changes, folder_of, follow};

/// The places in the tree that the words of commands name.
pub(super) struct TreePrograms(BTreeSet<String>);

impl TreePrograms {
    /// Returns the programs in these settings that are in the tree at `top`.
    pub(super) fn of(top: &Path, settings: &Settings) -> TreePrograms {
        let words: Vec<(&Path, &str)> = settings.commands().collect();
        let names = words.iter().flat_map(|(folder, word)| paths_in_word(word).map(|name| folder.join(name)));
        let names: BTreeSet<PathBuf> = names.collect();
        TreePrograms(names.iter().filter_map(|name| path_below(top, name)).filter(|place| !place.is_empty()).collect())
    }

    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the files that differ between two trees and may change the programs' answers: files that commands
    /// name, files in folders that they name, and files that lie beside a script among them or are mentioned in it.
    pub(super) fn changed(&self, before: &dyn FileTree, after: &dyn FileTree) -> Result<BTreeSet<String>, TreeError> {
        let mut changed = changes(before, after)?;
        let mut scripts = Vec::new();
        for place in &self.0 {
            for tree in [before, after] {
                scripts.extend(Script::at(tree, place)?);
            }
        }
        changed.retain(|path| {
            let is_named = self.0.iter().any(|place| is_at_or_below(path, place));
            is_named || scripts.iter().any(|script| script.may_read(path))
        });
        Ok(changed)
    }
}

/// A program that is a script: its text begins with `#!`.
struct Script {
    folder: String,
    /// The names in the text.
    names: BTreeSet<String>,
}

impl Script {
    /// Returns the script at a place of a tree, if there is one.
    fn at(tree: &dyn FileTree, place: &str) -> Result<Option<Script>, TreeError> {
        let Target::File(real, id) = follow(tree, place)? else { return Ok(None) };
        let content = tree.read(id)?;
        if !content.starts_with(b"#!") {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&content);
        let names = text.split(|c: char| !c.is_alphanumeric() && !"._-".contains(c));
        Ok(Some(Script { folder: folder_of(&real).to_owned(), names: names.map(str::to_owned).collect() }))
    }

    /// Returns true for a path in the script's folder, unless that is the top, which contains everything; and for a
    /// path that contains a name from the script's text.
    fn may_read(&self, path: &str) -> bool {
        let is_beside = !self.folder.is_empty() && is_at_or_below(path, &self.folder);
        is_beside || path.split('/').any(|name| self.names.contains(name))
    }
}

fn is_at_or_below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a word, and the paths in it, as a shell reads them.
fn paths_in_word(word: &str) -> impl Iterator<Item = &str> {
    let pieces = word.split(|c: char| c.is_whitespace() || "'\"=;|&<>()".contains(c));
    [word].into_iter().chain(pieces.filter(|piece| piece.contains('/'))).filter(|name| !name.is_empty())
}
