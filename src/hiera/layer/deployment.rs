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
    /// All that is said of it, such as its version, in words parted by single blanks.
    pub declaration: Arc<str>,
}

/// Returns the modules in the Puppetfile at `path`, as far as they are written plainly; it is a program in Ruby.
pub(super) fn in_puppetfile(content: &[u8], path: &str) -> Vec<DeclaredModule> {
    static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^\s*mod[\s(]+['"]([\w/-]+)['"]"#).ok());
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().collect();
    let name = |line: &&str| Some(short(MODULE.as_ref()?.captures(line)?.get(1)?.as_str()));
    let named: Vec<(usize, Arc<str>)> = (0..).zip(&lines).filter_map(|(at, line)| Some((at, name(line)?))).collect();
    let ends = named.iter().skip(1).map(|(at, _)| *at).chain([lines.len()]);
    let module = |((start, name), end): (&(usize, Arc<str>), usize)| DeclaredModule {
        name: name.clone(),
        place: Place::line(path, u32::try_from(start + 1).unwrap_or(u32::MAX)),
        declaration: declaration(&lines[*start..end]),
    };
    named.iter().zip(ends).map(module).collect()
}

/// Returns the words of some lines, without comments.
fn declaration(lines: &[&str]) -> Arc<str> {
    let words = lines.iter().flat_map(|line| without_comment(line).split_whitespace());
    words.collect::<Vec<_>>().join(" ").into()
}

/// Returns what stands before a `#` that is in no quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            _ => {}
        }
    }
    line
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
        for ((name, from), mark) in modules.as_hash().into_iter().flat_map(Hash::iter).zip(marks.children.iter()) {
            if let Some(name) = name.as_str() {
                let (name, place) = (short(name), Place::line(path, mark.line));
                found.push(DeclaredModule { name, place, declaration: from.inspect().into() });
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
    fn a_declaration_is_all_that_is_said_of_a_module() {
        let text = "mod 'a', '1' # one\n\nmod 'b', # two\n  :git => 'x#y',\n  # of ours\n  :tag   => \"v1\"\nend\n";
        let modules = in_puppetfile(text.as_bytes(), "Puppetfile");
        let declarations: Vec<&str> = modules.iter().map(|module| &*module.declaration).collect();
        assert_eq!(declarations, ["mod 'a', '1'", "mod 'b', :git => 'x#y', :tag => \"v1\" end"]);
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
