//! The addresses of views, which other tools may link to.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters of a name that stand in an address as they are, so that people can read it: `:` in keys, and those
/// that are never encoded.
const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The repository and the revision that a view is about, which all of its links keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// The repository, or `None` for the only one.
    pub repository: Option<String>,
    /// The branch or another revision, or `None` for the default.
    pub revision: Option<String>,
}

impl Address {
    /// Returns the address of a view, with its parameters. Those that are empty are left out.
    pub fn to(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let own = [("repository", self.repository.as_deref()), ("rev", self.revision.as_deref())];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let all = parameters.iter().copied().chain(own).filter(|(_, value)| !value.is_empty());
        let all: Vec<String> = all.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if all.is_empty() { path.to_owned() } else { format!("{path}?{}", all.join("&")) }
    }

    /// Returns the address of a node, or of one of its keys.
    pub fn node(&self, name: &str, key: Option<&str>) -> String {
        self.to(&node_path(name), &[("key", key.unwrap_or_default())])
    }

    /// Returns the address of a key across all nodes.
    pub fn key(&self, key: &str) -> String {
        self.to(&format!("/keys/{}", encoded(key)), &[])
    }

    /// Returns the address of the nodes that have the value of a key at a position, from 1, behind one of them.
    pub fn holders(&self, key: &str, position: usize, after: &str) -> String {
        self.to(&format!("/keys/{}", encoded(key)), &[("value", &position.to_string()), ("after", after)])
    }

    /// Returns the address of a data file.
    pub fn file(&self, path: &str) -> String {
        self.to(&file_path(path), &[])
    }

    /// Returns the address of a commit.
    pub fn commit(&self, id: &str) -> String {
        self.to(&commit_path(id), &[])
    }

    /// Returns the address of the comparison of two revisions.
    pub fn diff(&self, from: &str, to: &str) -> String {
        Address { revision: None, ..self.clone() }.to("/diff", &[("from", from), ("to", to)])
    }

    /// Returns the address of a line of a data file.
    pub fn line(&self, path: &str, line: Option<u32>) -> String {
        let line = line.map(|line| line.to_string()).unwrap_or_default();
        self.to(&file_path(path), &[("line", &line)])
    }
}

/// Returns the address of a commit without parameters.
pub(super) fn commit_path(id: &str) -> String {
    format!("/commits/{}", encoded(id))
}

/// Returns the address of a node without parameters.
pub(super) fn node_path(name: &str) -> String {
    format!("/nodes/{}", encoded(name))
}

/// Returns the address of a data file without parameters.
pub(super) fn file_path(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(encoded).collect();
    // The path of a layer outside the repository begins with a slash.
    let path = if parts.iter().any(String::is_empty) { encoded(path) } else { parts.join("/") };
    format!("/files/{path}")
}

fn encoded(text: &str) -> String {
    // A browser takes these names in a path for steps.
    match text {
        "." | ".." => text.replace('.', "%2E"),
        _ => utf8_percent_encode(text, &PLAIN).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_are_one_part_of_an_address() {
        let address = Address { repository: None, revision: Some("feature/a b".to_owned()) };
        assert_eq!(address.key("nginx::port"), "/keys/nginx::port?rev=feature%2Fa%20b");
        assert_eq!(address.node("../x?y#z", Some("a&b")), "/nodes/..%2Fx%3Fy%23z?key=a%26b&rev=feature%2Fa%20b");
        assert_eq!(Address::default().file("data/../a b.yaml"), "/files/data/%2E%2E/a%20b.yaml");
        assert_eq!(Address::default().file("/etc/a.yaml"), "/files/%2Fetc%2Fa.yaml");
        assert_eq!(Address::default().key(".."), "/keys/%2E%2E");
        assert_eq!(Address::default().to("/nodes", &[("search", "")]), "/nodes");
    }
}
