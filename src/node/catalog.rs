//! The classes in the catalog of a node.

use std::sync::Arc;

use crate::value::Value;

/// The names of the classes in a node's last catalog: what Puppet applied, and no part of any lookup.
///
/// They are one text, so that the nodes of a fleet cost little, and nodes with the same classes have equal texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CatalogClasses(Arc<str>);

/// The character between two names, which no name has.
const SEPARATOR: char = '\n';

impl CatalogClasses {
    /// Makes the classes of some names, in any case: Puppet's catalogs have `Apache::Mod`.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> CatalogClasses {
        let plain = |name: &str| name.strip_prefix("::").unwrap_or(name).to_lowercase().replace(SEPARATOR, "");
        let mut names: Vec<String> = names.into_iter().map(plain).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        CatalogClasses(names.join("\n").into())
    }

    /// Reads a list of names, or returns `None` if the value is none.
    pub(super) fn of_value(value: &Value) -> Option<CatalogClasses> {
        let names: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
        Some(CatalogClasses::of(names?))
    }

    /// Returns the classes that one text has, as [`text`](CatalogClasses::text) gives it.
    pub(super) fn of_text(text: &str) -> CatalogClasses {
        CatalogClasses(text.into())
    }

    /// Returns all names as one text; equal classes have equal texts.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the names, in lower case and in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split(SEPARATOR).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_puppet_writes_them_in_code() {
        let classes = CatalogClasses::of(["Ntp", "Apache::Mod::Ssl", "::apache", "ntp", ""]);
        assert_eq!(classes.names().collect::<Vec<_>>(), ["apache", "apache::mod::ssl", "ntp"]);
        assert_eq!(CatalogClasses::of_text(classes.text()), classes);
        assert_eq!(CatalogClasses::default().names().count(), 0);
        let list = |items: &[Value]| CatalogClasses::of_value(&Value::array(items.to_vec()));
        assert_eq!(list(&["Ntp".into()]), Some(CatalogClasses::of(["ntp"])));
        assert_eq!((list(&[1_i64.into()]), CatalogClasses::of_value(&"ntp".into())), (None, None));
    }
}
