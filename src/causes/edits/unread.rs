//! The lines of files that no known node reads, as they are written. Nothing is looked up in such files, so nothing
//! else shows what a commit changes there, and nothing marks secrets: lines whose values may be secret are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diff::Diff;
use crate::fleet::Revision;
use crate::hiera::backend::DataFile;
use crate::hiera::encrypted::may_be_encrypted;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::puppet::regex::RubyRegex;
use crate::report::Side;
use crate::tree::TreeError;
use crate::value::{Hash, Value};

/// The maximum number of lines shown of all files together, and of characters shown of one line.
const MAX_LINES: usize = 1000;
const MAX_CHARACTERS: usize = 400;

/// The files that no known node reads.
pub(super) struct Unread<'a> {
    revisions: Diff<&'a Revision>,
    converted: Option<Converted>,
    /// The number of lines that may still be shown.
    left: usize,
}

impl<'a> Unread<'a> {
    pub(super) fn new(revisions: Diff<&'a Revision>) -> Unread<'a> {
        Unread { revisions, converted: None, left: MAX_LINES }
    }

    /// Returns a file, given its data and its content.
    pub(super) fn file<'f>(
        &'f mut self,
        file: &'f Diff<Option<Arc<DataFile>>>,
        contents: &'f Diff<Vec<u8>>,
    ) -> Result<UnreadFile<'f>, TreeError> {
        let converted = match &mut self.converted {
            Some(known) => known,
            none => none.insert(Converted::of(self.revisions)?),
        };
        // The file need not be among the data files: its folder may have any name.
        [&file.before, &file.after].into_iter().flatten().for_each(|file| converted.add(file, self.revisions.after));
        let texts = contents.as_ref().map(|content| content.split(|byte| *byte == b'\n').collect());
        Ok(UnreadFile { converted, file, texts, left: &mut self.left })
    }
}

/// A file that no known node reads.
pub(super) struct UnreadFile<'f> {
    converted: &'f Converted,
    file: &'f Diff<Option<Arc<DataFile>>>,
    texts: Diff<Vec<&'f [u8]>>,
    left: &'f mut usize,
}

impl UnreadFile<'_> {
    /// Returns a line below a root key as it is written, or `None` if it may be secret or too much has been shown.
    pub(super) fn line(&mut self, side: Side, number: u32, root: &str) -> Option<String> {
        let files = [&self.file.before, &self.file.after].into_iter().flatten();
        let mut values = files.filter_map(|file| file.content()?.get(root));
        if self.converted.has(root) || values.any(may_be_secret) {
            return None;
        }
        let text = side.pick(&self.texts).get(number as usize - 1)?;
        *self.left = self.left.checked_sub(1)?;
        Some(String::from_utf8_lossy(text).trim_end().chars().take(MAX_CHARACTERS).collect())
    }
}

/// Returns true if some text of a value is encrypted.
fn may_be_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.secrecy().is_some() || may_be_encrypted(text.as_str()),
        Value::Array(items) => items.iter().any(may_be_secret),
        Value::Hash(hash) => hash.iter().any(|(key, value)| may_be_secret(key) || may_be_secret(value)),
        value => value.secrecy().is_some(),
    }
}

/// The keys that the `lookup_options` of any data file convert, perhaps to `Sensitive` or an alias of it.
#[derive(Default)]
struct Converted {
    names: BTreeSet<String>,
    patterns: Vec<Arc<RubyRegex>>,
    /// True if the keys are not all known, so that any key may be among them.
    is_any: bool,
}

impl Converted {
    fn of(revisions: Diff<&Revision>) -> Result<Converted, TreeError> {
        let mut found = Converted::default();
        let mut seen = BTreeSet::new();
        for side in [Side::Before, Side::After] {
            let revision = side.pick(&revisions);
            let environment = &revision.environment;
            for (path, id) in &environment.data_files()?.files {
                if seen.insert(*id) {
                    let file = environment.data_file(path, *id)?;
                    found.add(&file, revision);
                }
            }
            // Other files may have any name, or be outside of the repository.
            let has_options = |_: &Arc<str>, file: &Arc<DataFile>| options(file).is_some();
            revision.files_read(&has_options).values().for_each(|read| found.add(&read.file, revision));
        }
        Ok(found)
    }

    fn add(&mut self, file: &DataFile, revision: &Revision) {
        let Some(options) = options(file) else { return };
        let Some(options) = options.as_hash() else {
            self.is_any = true;
            return;
        };
        for (key, _) in options.iter().filter(|(_, value)| converts(value)) {
            match key.as_str() {
                Some(name) if name.starts_with('^') => match revision.environment.store.regexes.get(&name.into()) {
                    Ok(pattern) => self.patterns.push(pattern),
                    Err(_) => self.is_any = true,
                },
                Some(name) => drop(self.names.insert(name.to_owned())),
                None => self.is_any = true,
            }
        }
    }

    fn has(&self, root: &str) -> bool {
        let matches = |pattern: &Arc<RubyRegex>| pattern.is_match(root).unwrap_or(true);
        self.is_any || self.names.contains(root) || self.patterns.iter().any(matches)
    }
}

fn options(file: &DataFile) -> Option<&Value> {
    file.content()?.get(LOOKUP_OPTIONS)
}

fn converts(options: &Value) -> bool {
    options.as_hash().is_none_or(|options: &Hash| options.get("convert_to").is_some())
}
