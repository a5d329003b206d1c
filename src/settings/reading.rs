//! The part of a settings file that says how the tree is read, to compare it between two revisions.

use super::SettingsError;
use super::files::{SettingsFile, has_anchors};
use super::keys;
use super::source::SourceFile;
use crate::value::Value;

/// The settings of a file that say how the tree is read, in the form in which they take effect. Settings that judge
/// the tree, or are for whoever runs hierad, are not part of it.
#[derive(Debug, Default, PartialEq)]
pub struct Reading {
    settings: keys::Settings,
    /// Settings that are read as data.
    data: Vec<Option<Value>>,
}

impl SettingsFile {
    /// Returns the settings that say how the tree is read.
    pub fn reading(&self) -> Result<Reading, SettingsError> {
        let (raw, source) = self.parse()?;
        Ok(Reading::of(raw.reading(), &source, &self.text))
    }
}

impl Reading {
    fn of(mut settings: keys::Settings, source: &SourceFile<'_>, text: &str) -> Reading {
        settings.manifests = settings.manifests.filter(|are_read| !are_read);
        let as_data = |name: &str, is_there| source.lines.value([name]).filter(|_| is_there).cloned();
        // Comparing values that a document refers to repeatedly could take forever.
        let data = if has_anchors(text.as_bytes()) {
            vec![Some(Value::from(text.to_owned()))]
        } else {
            let (options, variables) = (settings.lookup_options.is_some(), settings.variables.is_some());
            vec![as_data("lookup_options", options), as_data("variables", variables)]
        };
        Reading { settings, data: if data.iter().all(Option::is_none) { Vec::new() } else { data } }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::{Origin, TreeFolder};

    fn reading(text: &str) -> Reading {
        let origin = Origin::Tree(TreeFolder { root: "/".into(), folder: "".into() });
        let file = SettingsFile::new(Path::new("/hierad.yaml"), Ok(text.into()), origin);
        file.and_then(|file| file.reading()).unwrap()
    }

    #[test]
    fn settings_that_are_obeyed_otherwise_are_told_apart() {
        for (one, other) in [
            ("environment: on", "environment: yes"),
            ("environment: 010", "environment: 8"),
            ("environment: 1_0", "environment: 10"),
            ("environment: 1.0", "environment: 1.00"),
            ("environment: 0x1f", "environment: 31"),
            ("environment: 1:30", "environment: 90"),
            ("hiera_config: 0o7", "hiera_config: 7"),
            ("hiera_config: no", "hiera_config: off"),
            ("datadirs: {data: on}", "datadirs: {data: yes}"),
            ("datadirs: {010: a}", "datadirs: {8: a}"),
            ("modulepath: 2026-01-01", "modulepath: 2026-1-1"),
            ("backends: {a: {values: on}}", "backends: {a: {values: yes}}"),
            ("profiles: [a, b]", "profiles: [b, a]"),
            ("variables: {a: x, b: y}", "variables: {b: y, a: x}"),
            ("variables: {a: x}", "variables: {a: y}"),
            ("lookup_options: {a: {merge: deep}}", "lookup_options: {a: {merge: hash}}"),
            ("puppet: 7", ""),
            ("ruby: 3.4", ""),
            ("hiera: 3", ""),
            ("manifests: false", ""),
            ("variables: &a {a: x}", "variables: {a: x}"),
        ] {
            assert_ne!(reading(one), reading(other), "{one} | {other}");
        }
    }

    #[test]
    fn settings_that_are_obeyed_alike_are_not() {
        for (one, other) in [
            ("environment: 'on'", "environment: on # as ever"),
            ("{profiles: [nodes], puppet: 7}", "\"puppet\": 7\nprofiles:\n- nodes\n"),
            ("", "# nothing"),
            ("", "variables:\nlookup_options:\nmodulepath: []\n"),
            ("", "policies: []\nwaivers: []\naccept: {}\ncheck: {}\nbranches: [main]\nkeep_reports: 1\n"),
            ("profiles: nodes", "profiles: [nodes]"),
            ("manifests: true", ""),
            ("modulepath: a", "modulepath: [a]"),
            ("eyaml: {allowed_keys: a}", "eyaml: {allowed_keys: [a]}"),
            ("variables: {a: x}", "variables:\n  a: 'x'\n"),
        ] {
            assert_eq!(reading(one), reading(other), "{one} | {other}");
        }
    }
}
