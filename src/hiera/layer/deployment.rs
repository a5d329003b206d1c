//! The modules that files for deployment name: a Puppetfile, or the `.fixtures.yml` of a module's own tests.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::diagnostic::Place;
use crate::puppet::yaml;
use crate::value::{Hash, Value};

/// A module that is named somewhere, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredModule {
    /// Its name, without its author's.
    pub name: Arc<str>,
    /// The place where it is named.
    pub place: Place,
}

/// Returns the modules in the Puppetfile at `path`, as far as they are written plainly; it is a program in Ruby.
pub(super) fn in_puppetfile(content: &[u8], path: &str) -> Vec<DeclaredModule> {
    static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^\s*mod[\s(]+['"]([\w/-]+)['"]"#).ok());
    let content = String::from_utf8_lossy(content);
    let lines = (1u32..).zip(content.lines());
    let module = |(number, line): (u32, &str)| {
        let name = MODULE.as_ref()?.captures(line)?.get(1)?.as_str();
        Some(DeclaredModule { name: short(name), place: Place::line(path, number) })
    };
    lines.filter_map(module).collect()
}

/// Returns the modules in the `.fixtures.yml` at `path`.
pub(super) fn in_fixtures(content: &[u8], path: &str) -> Vec<DeclaredModule> {
    let parsed = yaml::parse(content);
    let Some(root) = parsed.value.as_hash() else { return Vec::new() };
    let mut found = Vec::new();
    let Some(at) = root.index_of_text("fixtures") else { return found };
    let (kinds, marks) = (root.get("fixtures").and_then(Value::as_hash), parsed.marks.children.get(at));
    let (Some(kinds), Some(marks)) = (kinds, marks) else { return found };
    for ((_, modules), marks) in kinds.iter().zip(marks.children.iter()) {
        for ((name, _), mark) in modules.as_hash().into_iter().flat_map(Hash::iter).zip(marks.children.iter()) {
            if let Some(name) = name.as_str() {
                found.push(DeclaredModule { name: short(name), place: Place::line(path, mark.line) });
            }
        }
    }
    found
}

/// Returns `ntp` of `puppetlabs-ntp` and `puppetlabs/ntp`.
fn short(name: &str) -> Arc<str> {
    name.rsplit(['/', '-']).next().unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(modules: &[DeclaredModule]) -> Vec<String> {
        modules.iter().map(|module| format!("{} {}", module.name, module.place)).collect()
    }

    #[test]
    fn a_puppetfile_names_modules() {
        let text = "forge 'https://forge.puppet.com'\n# mod 'no-no'\nmod 'puppetlabs-ntp', '9.0'\n\nmod \"acme/web\",\n  :git => 'x'\nmod('own')\n";
        assert_eq!(
            shown(&in_puppetfile(text.as_bytes(), "Puppetfile")),
            ["ntp Puppetfile:3", "web Puppetfile:5", "own Puppetfile:7"]
        );
    }

    #[test]
    fn fixtures_name_modules() {
        let text = "fixtures:\n  repositories:\n    stdlib: https://x\n    acme-web:\n      repo: y\n  symlinks:\n    own: '#{source_dir}'\n";
        assert_eq!(
            shown(&in_fixtures(text.as_bytes(), ".fixtures.yml")),
            ["stdlib .fixtures.yml:3", "web .fixtures.yml:4", "own .fixtures.yml:7"]
        );
        assert_eq!(in_fixtures(b"fixtures: [a]\n", "x"), []);
    }
}
