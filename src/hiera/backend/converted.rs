//! Files that git converts at checkout: Puppet reads a different content from the one in the repository.
//!
//! A filter is a program on the machine that checks out, which hierad does not run, and a changed encoding makes a
//! different text. Such a file is unknown, along with all keys that are looked up in its level. `$Id$` is expanded as
//! git does it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ANOTHER_CONTENT, DataFile, Format};
use crate::puppet::document::FaultKind;
use crate::tree::{ATTRIBUTES, Attributes, BlobId, FileTree, IDENT, TreeError, with_ident};
use crate::value::Value;

/// The converted files of a tree that were asked for so far.
#[derive(Debug, Default)]
pub struct ConvertedFiles(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    attributes: Attributes,
    /// The attributes that have git convert a file, by its path.
    by_path: HashMap<String, Arc<[String]>>,
    /// Files that replace the converted ones, or `None` if the conversion makes no difference.
    replacements: HashMap<(String, BlobId, Format), Option<Arc<DataFile>>>,
}

impl ConvertedFiles {
    /// Returns the file to use instead of `file`, which is at `path` in the tree, with links followed. It is the same
    /// file, unless git converts it.
    pub fn instead_of(
        &self,
        tree: &dyn FileTree,
        (path, id): (&str, BlobId),
        file: Arc<DataFile>,
    ) -> Result<Arc<DataFile>, TreeError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { attributes, by_path, replacements } = &mut *known;
        let converting = if let Some(converting) = by_path.get(path) {
            converting.clone()
        } else {
            let found: Arc<[String]> = attributes.converting(tree, path, id)?.into();
            by_path.insert(path.to_owned(), found.clone());
            found
        };
        if converting.is_empty() {
            return Ok(file);
        }
        let replacement_key = (path.to_owned(), id, file.format());
        if let Some(replacement) = replacements.get(&replacement_key) {
            return Ok(replacement.clone().unwrap_or(file));
        }
        let replacement = replacement(tree, id, (&file, &converting))?.map(Arc::new);
        replacements.insert(replacement_key, replacement.clone());
        Ok(replacement.unwrap_or(file))
    }
}

/// Returns the replacement for a file with these attributes, or `None` if they make no difference.
fn replacement(
    tree: &dyn FileTree,
    id: BlobId,
    (file, converting): (&DataFile, &[String]),
) -> Result<Option<DataFile>, TreeError> {
    // An id in a comment makes no difference.
    let matters = |attribute: &&String| *attribute != IDENT || has_ident(file.value());
    let Some(attribute) = converting.iter().find(matters) else { return Ok(None) };
    if converting == [IDENT]
        && let Some(content) = with_ident(tree, id)?
    {
        return Ok(Some(DataFile::parse(&content, file.format())));
    }
    let text = format!("{ATTRIBUTES} has git convert the file ({attribute}), so that {ANOTHER_CONTENT}");
    Ok(Some(DataFile::unknown(file.format(), FaultKind::Converted, text)))
}

/// Returns true if a text in a value contains something that git may replace by the id of the file.
fn has_ident(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("$Id"),
        Value::Array(items) => items.iter().any(has_ident),
        Value::Hash(hash) => hash.iter().any(|(key, value)| has_ident(key) || has_ident(value)),
        _ => false,
    }
}
