//! Joins paths as Ruby's `Pathname` does.

/// Joins two paths as Ruby's `Pathname#+` does: an absolute `path` replaces `base`, each leading `..` of `path` takes
/// a name off the end of `base`, leading `.` are dropped, and all else stays as it is, doubled slashes included.
pub fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let (mut base, mut rest) = (base, path);
    loop {
        rest = without_dots(rest);
        let Some((before, last)) = chop(base) else { break };
        if last == "." {
            base = before;
        } else if last == ".." || !is_parent(rest) {
            break;
        } else {
            base = before;
            rest = rest[2..].trim_start_matches('/');
        }
    }
    // Nothing is above the root.
    while base.starts_with('/') && chop(base).is_none() && is_parent(rest) {
        rest = without_dots(rest[2..].trim_start_matches('/'));
    }
    let shown = if base.starts_with('/') && chop(base).is_none() { "/" } else { base.trim_end_matches('/') };
    let slash = if shown.is_empty() || rest.is_empty() || shown.ends_with('/') { "" } else { "/" };
    [shown, slash, rest].concat()
}

/// Returns a path without its last name, and that name, or `None` if there is no name.
fn chop(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_end_matches('/');
    let at = path.rfind('/').map_or(0, |at| at + 1);
    (!path.is_empty()).then(|| path.split_at(at))
}

fn is_parent(path: &str) -> bool {
    path == ".." || path.starts_with("../")
}

fn without_dots(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix('.').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        path = rest.trim_start_matches('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_joined_as_ruby_does() {
        assert_eq!(join("data", "../x.yaml"), "x.yaml");
        assert_eq!(join("", "data"), "data");
        assert_eq!(join("data", ""), "data");
        assert_eq!(join("data", "./a/../b.yaml"), "data/a/../b.yaml");
        assert_eq!(join("data", "/etc/x"), "/etc/x");
        assert_eq!(join("data", "../../x"), "../x");
        assert_eq!(join("/etc/code", "data/x.yaml"), "/etc/code/data/x.yaml");
        assert_eq!(join("a//b", "../x.yaml"), "a/x.yaml");
        assert_eq!(join("/a", "../../x"), "/x");
        assert_eq!(join("a//b/.", "c"), "a//b/c");
    }
}
