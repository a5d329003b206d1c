//! Matches patterns with the names of keys, and of places in their values.

use std::iter;
use std::sync::Arc;

use crate::hiera::key::{any_matches, root_apart};
use crate::pattern::{Pattern, any};
use crate::value::ValuePath;

/// The places in the value of a key that patterns name. A pattern for a key or an entry also names all places in it.
pub(super) struct Names<'a> {
    patterns: &'a [Pattern],
    key: &'a str,
    /// The key as it is written in data, if it is looked up in another form.
    root: Option<Arc<str>>,
    extent: Extent,
}

/// The part of a value that patterns name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All places.
    All,
    /// Some places in it, perhaps.
    Below,
    /// No place.
    Nothing,
}

impl<'a> Names<'a> {
    pub(super) fn of(patterns: &'a [Pattern], key: &'a str) -> Names<'a> {
        let mut names = Names { patterns, key, root: root_apart(key), extent: Extent::Nothing };
        if any_matches(patterns, key) {
            names.extent = Extent::All;
        } else if names.forms().any(|key| patterns.iter().any(|pattern| may_be_below(pattern, key))) {
            names.extent = Extent::Below;
        }
        names
    }

    /// Returns the forms of the key that patterns may name.
    fn forms(&self) -> impl Iterator<Item = &str> {
        iter::once(self.key).chain(self.root.as_deref())
    }

    /// Returns true if no place can be named.
    pub(super) fn are_none(&self) -> bool {
        self.extent == Extent::Nothing
    }

    /// Returns true if each place must be looked at.
    pub(super) fn are_below(&self) -> bool {
        self.extent == Extent::Below
    }

    /// Returns true if a place inside this one may be named.
    pub(super) fn may_be_in(&self, path: &ValuePath) -> bool {
        let may_be = |key: &str| {
            let mut name = key.to_owned();
            path.0.iter().for_each(|segment| name.push_str(&ValuePath(vec![segment.clone()]).to_string()));
            self.patterns.iter().any(|pattern| may_be_below(pattern, &name))
        };
        self.extent == Extent::Below && self.forms().any(may_be)
    }

    /// Returns true if a place, or one around it, is named.
    pub(super) fn have(&self, path: &ValuePath) -> bool {
        match self.extent {
            Extent::All => true,
            Extent::Nothing => false,
            Extent::Below => self.forms().any(|key| {
                let mut name = key.to_owned();
                path.0.iter().any(|segment| {
                    name.push_str(&ValuePath(vec![segment.clone()]).to_string());
                    any(self.patterns, &name)
                })
            }),
        }
    }
}

/// Returns false if the beginning of a pattern shows that it names no place in the value of `key`.
fn may_be_below(pattern: &Pattern, key: &str) -> bool {
    let text = pattern.as_str();
    let beginning = text.split(['*', '?']).next().unwrap_or_default();
    let is_open = beginning.len() < text.len();
    // The key is followed by the step to an entry or an item.
    let is_step = |rest: &str| rest.starts_with(['.', '[']) || rest.is_empty() && is_open;
    text.starts_with("re:") || beginning.strip_prefix(key).is_some_and(is_step) || is_open && key.starts_with(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Segment;

    fn have(pattern: &str, key: &str, path: &[&str]) -> bool {
        let patterns = [pattern.parse().unwrap()];
        let path = ValuePath(path.iter().map(|name| Segment::Key((*name).into())).collect());
        Names::of(&patterns, key).have(&path)
    }

    #[test]
    fn what_is_below_a_named_place_is_named() {
        assert!(have("sshd::*", "sshd::config", &["Port"]));
        assert!(have("sshd::config.Port", "sshd::config", &["Port", "first"]));
        assert!(have("re:\\.Port$", "sshd::config", &["Port"]));
        assert!(have("*.Port", "sshd::config", &["Port"]));
        assert!(!have("sshd::config.Port", "sshd::config", &["Protocol"]));
        assert!(!have("sshd::config.Port", "ntp::config", &["Port"]));
        assert!(!have("sshd::config.Port", "sshd::config", &[]));
        assert!(have("sshd::conf*", "sshd::config", &["Port"]) && have("sshd::config*t", "sshd::config", &["Port"]));
        for pattern in ["sshd::config.Port", "ntp::configs", "ntp::conf"] {
            assert!(Names::of(&[pattern.parse().unwrap()], "ntp::config").are_none(), "{pattern}");
        }
    }
}
