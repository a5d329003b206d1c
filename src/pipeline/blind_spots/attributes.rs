//! Finds changes of `.gitattributes`, by which a checkout has other files than the repository.
//!
//! Source: gitattributes(5). Ends of lines mean nothing to readers of data, and `export-*` concerns archives alone.

use std::collections::BTreeSet;

use super::{BlindSpot, DiffContext};
use crate::report::Remedy;
use crate::tree::{CONFIG_LIMIT, FileTree, Target, TreeError, follow, read_config};

/// The name of such files.
pub(super) const NAME: &str = ".gitattributes";

/// The attributes that have a checkout convert files.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

impl DiffContext<'_> {
    /// Returns a blind spot for files of attributes, of those changed, that have files converted in another way.
    pub(super) fn changed_attributes(&self, changed: &BTreeSet<String>) -> Result<Option<BlindSpot>, TreeError> {
        let mut files = Vec::new();
        for path in changed {
            let [before, after] = self.both_revisions().map(|revision| conversions(&*revision.environment.tree, path));
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
}

/// Returns the lines of a file of attributes that have files converted, as words.
fn conversions(tree: &dyn FileTree, path: &str) -> Result<Vec<Vec<String>>, TreeError> {
    let Target::File(_, id) = follow(tree, path)? else { return Ok(Vec::new()) };
    let content = match read_config(tree, path, id) {
        Err(error) if error.is_too_large => format!("* filter={CONFIG_LIMIT}").into_bytes(),
        content => content?,
    };
    let text = String::from_utf8_lossy(&content);
    let words = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    Ok(words.filter(|words| converts(words)).collect())
}

/// Returns true for a line that sets or unsets such an attribute, or defines a macro.
fn converts(words: &[String]) -> bool {
    let Some((pattern, attributes)) = words.split_first() else { return false };
    let is_one = |attribute: &String| {
        let name = attribute.trim_start_matches(['-', '!']);
        CONVERTING.contains(&name.split('=').next().unwrap_or(name))
    };
    !pattern.starts_with('#') && (pattern.starts_with("[attr]") || attributes.iter().any(is_one))
}
