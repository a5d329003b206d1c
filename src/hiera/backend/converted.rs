//! Files that git converts at a checkout: Puppet reads another content than the repository holds.
//!
//! A filter is a program of whoever checks out, which hierad does not run, and another encoding is another text. Such a
//! file is unknown, with all keys that its level is searched for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ANOTHER_CONTENT, DataFile, Format};
use crate::puppet::document::FaultKind;
use crate::tree::{ATTRIBUTES, Attributes, BlobId, FileTree, TreeError};
use crate::value::Value;

/// The files of a tree that are converted, as far as somebody has asked.
#[derive(Debug, Default)]
pub struct ConvertedFiles(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    attributes: Attributes,
    /// The attributes by which files are converted, by path.
    by_path: HashMap<String, Arc<[String]>>,
    /// Files that take the place of those that are converted.
    unknown: HashMap<(String, BlobId, Format), Arc<DataFile>>,
}

impl ConvertedFiles {
    /// Returns the file that takes the place of `file`, which is what the tree holds at `path`, with links followed:
    /// the same, unless it is converted.
    pub fn instead_of(
        &self,
        tree: &dyn FileTree,
        (path, id): (&str, BlobId),
        file: Arc<DataFile>,
    ) -> Result<Arc<DataFile>, TreeError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { attributes, by_path, unknown } = &mut *known;
        let converting = if let Some(converting) = by_path.get(path) {
            converting.clone()
        } else {
            let found: Arc<[String]> = attributes.converting(tree, path, id)?.into();
            by_path.insert(path.to_owned(), found.clone());
            found
        };
        // Where an id stands in a comment alone, it means nothing.
        let counts = |attribute: &&String| !attribute.starts_with("ident=") || has_ident(file.value());
        let Some(attribute) = converting.iter().find(counts) else { return Ok(file) };
        let of_file = unknown.entry((path.to_owned(), id, file.format()));
        let text = || format!("{ATTRIBUTES} has git convert the file ({attribute}), so that {ANOTHER_CONTENT}");
        Ok(of_file.or_insert_with(|| Arc::new(DataFile::unknown(file.format(), FaultKind::Converted, text()))).clone())
    }
}

/// Returns true if a text in a value has what git puts the id of a file for.
fn has_ident(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("$Id"),
        Value::Array(items) => items.iter().any(has_ident),
        Value::Hash(hash) => hash.iter().any(|(key, value)| has_ident(key) || has_ident(value)),
        _ => false,
    }
}
