//! What the settings call fine: blind spots that are known and no reason to doubt a verdict.

use std::collections::BTreeMap;

use crate::pattern::Pattern;

/// The codes of blind spots of which the settings may accept some, and what is accepted of each: names of what it is about.
pub const CODES: [(&str, &str); 6] = [
    ("absent-module", "modules"),
    ("failing-keys", "keys"),
    ("outside-repository", "paths"),
    ("unnamed-folder", "files"),
    ("undefined-variable", "variables"),
    ("unreached-file", "files"),
];

/// For each code, the names that are accepted.
#[derive(Debug, Clone, Default)]
pub struct Accepted(pub BTreeMap<String, Vec<Pattern>>);

impl Accepted {
    /// Returns true if `name` is fine for a blind spot of the kind `code`.
    pub fn has(&self, code: &str, name: &str) -> bool {
        self.0.get(code).is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(name)))
    }
}

/// The line of the settings that accepts `names`.
pub(in crate::pipeline) fn line<'n>(code: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(crate::pipeline::suggestions::quoted).collect();
    format!("accept: {{{code}: [{}]}}", names.join(", "))
}
