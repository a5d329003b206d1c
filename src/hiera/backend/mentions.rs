//! Finds references to other keys and variables in the values of data files, if they are visible there.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::Folder;
use crate::hiera::encrypted::may_be_encrypted;
use crate::hiera::interpolation::Template;
use crate::hiera::key::{LookupKey, is_plain, is_split};
use crate::tree::{Entry, FileTree, TreeError, child};
use crate::value::{Hash, Value};

/// The references in the value of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mentions {
    /// The root keys that it looks up.
    pub keys: BTreeSet<Arc<str>>,
    /// The variables that it reads, dotted access included.
    pub variables: BTreeSet<Arc<str>>,
    /// True if it may look up anything: it contains encrypted text, or builds text that is interpolated again.
    pub anything: bool,
}

/// The empty interpolation, and the maximum number of times that these are removed from a text.
const EMPTY_EXPRESSION: &str = "%{}";
const MAX_PASSES: usize = 3;

/// Returns true if a text may begin an interpolation that another text completes, since the result of a lookup is
/// interpolated again.
fn may_continue(text: &str) -> bool {
    text.ends_with('%') || text.rfind("%{").is_some_and(|start| !text[start..].contains('}'))
}

impl Mentions {
    /// Returns the references in each value of `hash`; values without any are left out.
    pub(super) fn of_all(hash: &Hash) -> Vec<(Arc<str>, Mentions)> {
        let entry_mentions = |(key, value): (&Value, &Value)| {
            let mut mentions = Mentions::default();
            mentions.add(value);
            mentions.is_some().then(|| (key.to_s().into(), mentions))
        };
        hash.iter().filter_map(entry_mentions).collect()
    }

    /// Returns the references in `value`.
    pub fn of(value: &Value) -> Mentions {
        let mut mentions = Mentions::default();
        mentions.add(value);
        mentions
    }

    /// Returns the references in the files that a folder covers, in any value. References that are assembled from
    /// pieces are not found.
    pub fn of_folder(tree: &dyn FileTree, folder: &Folder) -> Result<Mentions, TreeError> {
        let (mut mentions, mut pending) = (Mentions::default(), vec![folder.at.clone()]);
        let mut known = HashSet::new();
        while let Some(path) = pending.pop() {
            for (name, entry) in tree.list(&path)? {
                let path = child(&path, &name);
                match entry {
                    Entry::Folder if folder.has(&child(&path, "x")) => pending.push(path),
                    Entry::File(id) if folder.has(&path) && known.insert(id) => {
                        mentions.add_source(&String::from_utf8_lossy(&tree.read(id)?));
                    }
                    _ => {}
                }
            }
        }
        Ok(mentions)
    }

    /// Adds the references in the text of a file of any format.
    fn add_source(&mut self, source: &str) {
        self.anything |= may_be_encrypted(source);
        self.scan(source);
        if let Cow::Owned(reduced) = self.without_empty_expressions(source) {
            self.scan(&reduced);
        }
    }

    fn scan(&mut self, source: &str) {
        for (at, _) in source.match_indices('%') {
            let rest = &source[at..];
            let Some(inner) = rest.strip_prefix("%{") else {
                // The end of a text. Another one may be appended that completes a reference.
                self.anything |= rest[1..].chars().next().is_none_or(|next| "\"'\r\n,]}".contains(next));
                continue;
            };
            match inner.find('}').filter(|end| !inner[..*end].contains('\n')) {
                Some(end) => {
                    // Without the escapes of the quotes around the text, of either kind.
                    self.add_text(&rest[..end + 3].replace("\\\"", "\"").replace("''", "'"));
                }
                None => self.anything = true,
            }
        }
    }

    /// Adds the references of `others`.
    pub fn extend(&mut self, others: Mentions) {
        self.keys.extend(others.keys);
        self.variables.extend(others.variables);
        self.anything |= others.anything;
    }

    /// Returns true if all references here are among those of `others`.
    pub fn are_among(&self, others: &Mentions) -> bool {
        others.anything
            || (!self.anything && self.keys.is_subset(&others.keys) && self.variables.is_subset(&others.variables))
    }

    /// Returns true if there are any references.
    pub fn is_some(&self) -> bool {
        self.anything || !self.keys.is_empty() || !self.variables.is_empty()
    }

    /// Returns `text` without empty interpolations, which people use to write a literal `%{`: `%%{}{HTTP_HOST}`
    /// becomes `%{HTTP_HOST}`, a reference if the text is interpolated again.
    fn without_empty_expressions<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            if !text.contains(EMPTY_EXPRESSION) {
                return text;
            }
            text = text.replace(EMPTY_EXPRESSION, "").into();
        }
        self.anything |= text.contains(EMPTY_EXPRESSION);
        text
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Hash(hash) => hash.iter().for_each(|(key, value)| {
                self.add(key);
                self.add(value);
            }),
            Value::Bytes(bytes) => self.anything |= bytes.contains(&b'%'),
            Value::Symbol(name) => self.anything |= name.contains('%'),
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        // For most texts, one look at each byte is enough.
        if !text.bytes().any(|byte| matches!(byte, b'%' | b'[')) {
            return;
        }
        self.anything |= may_be_encrypted(text);
        if !text.contains('%') {
            return;
        }
        let reduced = self.without_empty_expressions(text);
        self.anything |= may_continue(&reduced);
        if let Some(template) = Template::parse(&reduced) {
            self.anything |= template.literals().any(may_continue);
            self.add_template(&template);
        }
        if let (Cow::Owned(_), Some(template)) = (&reduced, Template::parse(text)) {
            self.add_template(&template);
        }
        self.anything |= text.contains("literal") && text.contains("%{");
    }

    fn add_template(&mut self, template: &Template<'_>) {
        for key in template.keys() {
            let root = if is_plain(key) { Ok(key.into()) } else { LookupKey::parse(key).map(|key| key.root) };
            match root {
                Ok(root) => _ = self.keys.insert(root),
                Err(_) => self.anything = true,
            }
        }
        for name in template.variables() {
            self.anything |= !is_split(name);
            self.variables.insert(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{ContentId, ContentIds, MemoryTree};

    fn mentioned(files: &str) -> Mentions {
        let tree = MemoryTree::from_fixture(files);
        let id: ContentId = tree.content_id("data", &ContentIds::default()).unwrap();
        let folder = Folder { path: "data".into(), at: "data".into(), id, only: Some("common".into()) };
        Mentions::of_folder(&tree, &folder).unwrap()
    }

    #[test]
    fn references_are_found_in_the_text_of_files() {
        let found = mentioned(concat!(
            "-- data/common.yaml\na: \"%{lookup('x::y')} and %{role}\"\n",
            "-- data/common/b/c.yaml\nd: '%{alias(''e.f'')}'\ng: \"%{hiera(\\\"h\\\")} 50% more\"\n",
            "-- data/other.yaml\na: \"%{lookup('z')}%\"\n",
        ));
        let keys = |mentions: &Mentions| mentions.keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found_keys = keys(&found);
        assert!(["e", "h", "x::y"].iter().all(|key| found_keys.iter().any(|found| found == key)), "{found_keys:?}");
        assert!(!found_keys.contains(&"z".to_owned()) && found.variables.contains("role") && !found.anything);
        let of = |text: &str| Mentions::of(&Value::from(text));
        assert!(of("%{lookup('x::y.z')}%{role}").are_among(&found));
        for other in ["%{lookup('z')}", "%{other}", "%{lookup('x::y')}%", "%{literal('%')}"] {
            assert!(!of(other).are_among(&found), "{other}");
        }
        let found = mentioned("-- data/common.yaml\na: \"http://%%{}{HOST}/\"\n");
        assert!(found.variables.contains("HOST") && !found.anything);
        assert!(of("http://%%{}{HOST}/").are_among(&found) && !of("%%{}{OTHER}").are_among(&found));
        for odd in
            ["a: \"%%%%{}{}{}{}\"\n", "a: 50%\n", "a: \"%{x\"\n", "a: '%'\n", "a: ENC[x]\n", "a: \"%{literal('%')}\"\n"]
        {
            assert!(mentioned(&format!("-- data/common.yaml\n{odd}")).anything, "{odd}");
        }
    }
}
