//! The blind spots and faults that the settings accept (`accept:`): they neither put a verdict in doubt nor fail a
//! check.

use std::collections::BTreeMap;

use crate::hiera::key::any_matches;
use crate::pattern::Pattern;
use crate::report::{Acceptable, Remedy};

/// The codes of blind spots that settings may accept, each with the kind of things that are accepted by name.
pub const CODES: [(&str, &str); 10] = [
    ("absent-module", "modules"),
    ("failing-keys", "keys"),
    ("merge-in-manifest", "keys"),
    ("other-version", "submodules and modules"),
    ("outside-repository", "paths"),
    ("read-otherwise", "files"),
    ("unlisted-keys", "files"),
    ("unnamed-folder", "files"),
    ("undefined-variable", "variables"),
    ("unreached-file", "files"),
];

/// Returns true if names of keys are accepted for blind spots with this code.
pub fn names_keys(code: &str) -> bool {
    CODES.iter().any(|(known, names)| *known == code && *names == "keys")
}

/// The accepted names, by code.
#[derive(Debug, Clone, Default)]
pub struct Accepted(pub BTreeMap<String, Vec<Pattern>>);

impl Accepted {
    /// Returns true if `name` is accepted for blind spots with this code.
    pub fn has(&self, code: &str, name: &str) -> bool {
        self.0.get(code).is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(name)))
    }

    /// Returns true if a key is accepted for blind spots with this code.
    pub fn has_key(&self, code: &str, key: &str) -> bool {
        self.0.get(code).is_some_and(|patterns| !patterns.is_empty() && any_matches(patterns, key))
    }
}

/// Returns the line of the settings that accepts `names`.
pub(crate) fn line<'n>(code: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(crate::blind_spots::suggestions::quoted).collect();
    format!("accept: {{{code}: [{}]}}", names.join(", "))
}

/// Returns a remedy with these words that also offers to accept `names`.
pub(crate) fn remedy<'n>(
    words: impl Into<String>,
    code: &'static str,
    names: impl IntoIterator<Item = &'n str>,
) -> Remedy {
    let names: Vec<String> = names.into_iter().map(ToOwned::to_owned).collect();
    let yaml = Some(line(code, names.iter().map(String::as_str)));
    Remedy { words: words.into(), yaml, accepts: Some(Acceptable { code, names }) }
}
