//! The last catalog of a node, as far as it is known.

use std::sync::Arc;

use crate::value::Value;

/// A node's last catalog, as far as it is known: what Puppet applied. Lookups never see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalog {
    /// The names of the classes, in lower case, or `None` if they are not known.
    pub classes: Option<Names>,
    /// The keys that were looked up for it, or `None` if they are not known. Keys of class parameters may be missing.
    pub keys: Option<Names>,
}

impl Catalog {
    /// Returns true if nothing is known about the catalog.
    pub fn is_unknown(&self) -> bool {
        self.classes.is_none() && self.keys.is_none()
    }

    /// Replaces this catalog by `above`, unless nothing is known about `above`. The two may be from different times,
    /// so they are not mixed.
    pub fn overlay(&mut self, above: Catalog) {
        if !above.is_unknown() {
            *self = above;
        }
    }
}

/// Names, each once and in order.
///
/// They are stored as one string, which costs little memory per node. Equal lists of names are equal strings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Names(Arc<str>);

/// The character between two names. It occurs in no name.
const SEPARATOR: char = '\n';

impl Names {
    /// Converts class names from catalogs to those used in code, such as `Apache::Mod` to `apache::mod`.
    pub fn of_classes<'n>(names: impl IntoIterator<Item = &'n str>) -> Names {
        Names::of(names.into_iter().map(|name| name.strip_prefix("::").unwrap_or(name).to_lowercase()))
    }

    /// Collects names of keys.
    pub fn of_keys<'n>(names: impl IntoIterator<Item = &'n str>) -> Names {
        Names::of(names.into_iter().map(str::to_owned))
    }

    fn of(names: impl Iterator<Item = String>) -> Names {
        let mut names: Vec<String> =
            names.map(|name| name.replace(SEPARATOR, "")).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        Names(names.join("\n").into())
    }

    /// Converts the result of [`as_joined`](Names::as_joined) back to names.
    pub(super) fn from_joined(text: &str) -> Names {
        Names(text.into())
    }

    /// Returns all names as one text; equal names have equal texts.
    pub(super) fn as_joined(&self) -> &str {
        &self.0
    }

    /// Returns the names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(SEPARATOR).filter(|name| !name.is_empty())
    }

    /// Returns the names as a list.
    pub fn to_value(&self) -> Value {
        Value::array(self.iter().map(Value::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_puppet_writes_them_in_code() {
        let classes = Names::of_classes(["Ntp", "Apache::Mod::Ssl", "::apache", "ntp", ""]);
        assert_eq!(classes.iter().collect::<Vec<_>>(), ["apache", "apache::mod::ssl", "ntp"]);
        assert_eq!(Names::from_joined(classes.as_joined()), classes);
        assert_eq!(Names::default().iter().count(), 0);
        assert_eq!(Names::of_keys(["b.X", "a", "b.X"]).iter().collect::<Vec<_>>(), ["a", "b.X"]);
    }

    #[test]
    fn of_two_catalogs_the_later_one_counts() {
        let of = |classes: Option<&str>, keys: Option<&str>| Catalog {
            classes: classes.map(|name| Names::of_classes([name])),
            keys: keys.map(|name| Names::of_keys([name])),
        };
        let mut catalog = of(Some("a"), Some("k"));
        catalog.overlay(of(None, None));
        assert_eq!(catalog, of(Some("a"), Some("k")));
        catalog.overlay(of(Some("b"), None));
        assert_eq!((catalog.is_unknown(), catalog), (false, of(Some("b"), None)));
        assert!(of(None, None).is_unknown());
    }
}
