//! Reads settings files, and finds the settings that need trust.

use std::path::{Path, PathBuf};

use super::SettingsError;
use super::keys;
use super::origin::Origin;
use super::raw::OneOrMany;
use super::raw::profiles::ProfileEntry;
use super::source::{Lines, SourceFile, text_of};
use crate::disk;
use crate::pattern::nearest;
use crate::puppet::{json, yaml};
use crate::value::Value;

/// The maximum size of a settings file, in bytes.
pub const MAX_SETTINGS_SIZE: u64 = 1 << 20;

/// The maximum depth of nested collections.
const MAX_DEPTH: usize = 200;

/// Returns the names of the settings that judge the tree.
fn judging_names() -> impl Iterator<Item = &'static str> {
    keys::Settings::RULES.iter().filter(|(_, rule)| *rule == "judging").map(|(name, _)| *name)
}

/// A settings file that was read.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The path; paths in the file are relative to its folder.
    pub path: PathBuf,
    /// The content.
    pub text: String,
    /// The origin.
    pub origin: Origin,
}

/// A setting as written in a file.
#[derive(Debug)]
pub struct Written {
    /// The name.
    pub setting: &'static str,
    /// The line, counted from 1, if it is known.
    pub line: Option<usize>,
    /// The value, as JSON.
    pub value: String,
}

impl SettingsFile {
    /// Reads a file that commits cannot write.
    pub fn trusted(path: &Path) -> Result<SettingsFile, SettingsError> {
        let content = disk::read_regular(path, MAX_SETTINGS_SIZE);
        SettingsFile::new(path, content, Origin::Trusted)
    }

    /// Makes a settings file from the content read at `path`.
    pub fn new(path: &Path, content: std::io::Result<Vec<u8>>, origin: Origin) -> Result<SettingsFile, SettingsError> {
        let failed = |source| SettingsError::Read { path: path.into(), source };
        let text = String::from_utf8(content.map_err(failed)?).map_err(|_| failed(invalid("it is not UTF-8")))?;
        // Checked first: serde's reader, which has the same grammar, is slow with many open collections, and reads
        // all documents.
        match yaml::form(text.as_bytes(), MAX_DEPTH) {
            yaml::Form::Plain => {}
            yaml::Form::Deep => return Err(failed(invalid("it nests too deeply"))),
            yaml::Form::Several => return Err(failed(invalid("it has more than one document"))),
        }
        Ok(SettingsFile { path: path.into(), text, origin })
    }

    /// Returns the words of all commands in the file, programs and arguments.
    pub fn commands(&self) -> Result<Vec<String>, SettingsError> {
        let (raw, _) = self.parse()?;
        let backends = raw.backends.into_values();
        let backends = backends.filter_map(|backend| backend.command.or(backend.ruby.map(OneOrMany::One)));
        let sinks = raw.sinks.into_values().filter_map(|sink| sink.command);
        let sources = raw.profiles.0.into_iter().filter_map(|entry| match entry {
            ProfileEntry::Path(_) => None,
            ProfileEntry::Source(source) => Some(OneOrMany::Many(source.commands().collect())),
        });
        Ok(backends.chain(sinks).chain(sources).flat_map(OneOrMany::into_vec).collect())
    }

    /// Returns the settings of a file of the tree that would apply only if it were trusted.
    pub fn privileges(&self) -> Result<Vec<Written>, SettingsError> {
        let (raw, source) = self.parse()?;
        let Origin::Tree(place) = &self.origin else { return Ok(Vec::new()) };
        let refused = raw.confined(&source, place).1;
        let mut privileges: Vec<Written> = Vec::new();
        let judging = judging_names().filter(|name| source.lines.mentions(name));
        for setting in refused.iter().map(|refusal| refusal.setting).chain(judging) {
            if privileges.iter().all(|known| known.setting != setting) {
                privileges.push(written_setting(&source.lines, setting));
            }
        }
        Ok(privileges)
    }

    /// Returns the settings of the file that apply at least in part, including those that judge the tree.
    pub fn counting(&self) -> Result<Vec<Written>, SettingsError> {
        let (raw, source) = self.parse()?;
        let refused = match &self.origin {
            Origin::Tree(place) => raw.confined(&source, place).1,
            Origin::Trusted => Vec::new(),
        };
        let counts = |name: &str| !refused.iter().any(|refusal| refusal.is_whole && refusal.setting == name);
        let names = keys::Settings::RULES.iter().map(|(name, _)| *name);
        Ok(names
            .filter(|name| source.lines.mentions(name) && counts(name))
            .map(|name| written_setting(&source.lines, name))
            .collect())
    }

    /// Returns false if the file is known to have no policies, whatever else is wrong with it, not even under a
    /// misspelled name.
    pub fn may_have_policies(&self) -> bool {
        let known = || keys::Settings::RULES.iter().map(|(name, _)| *name);
        let is_known = |name: &str| known().any(|known| known == name);
        let is_meant = |name: &str| nearest(&name.to_lowercase(), known(), 1) == ["policies"];
        let may_be = |name: &str| name == "policies" || !is_known(name) && is_meant(name);
        let settings = serde_yaml::from_str::<Option<serde_yaml::Mapping>>(&self.text);
        let names = |settings: &serde_yaml::Mapping| settings.keys().filter_map(|name| name.as_str()).any(may_be);
        settings.map_or(true, |settings| settings.as_ref().is_some_and(names))
    }

    /// Reads the file as it is written, except for parts that are read like data.
    pub(crate) fn parse(&self) -> Result<(keys::Settings, SourceFile<'_>), SettingsError> {
        let lines = Lines::of(&self.text);
        // A file of comments alone is null to serde and means no settings.
        let invalid = |error: serde_yaml::Error| SettingsError::Invalid {
            path: self.path.clone(),
            line: lines.of_error(&error),
            text: text_of(&error),
        };
        let raw: Option<keys::Settings> = serde_yaml::from_str(&self.text).map_err(invalid)?;
        // Maps by name take the last of two entries with a name, where this is an error.
        serde_yaml::from_str::<serde_yaml::Value>(&self.text).map_err(invalid)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((raw.unwrap_or_default(), SourceFile { path: &self.path, folder, origin: &self.origin, lines }))
    }

    /// Checks the settings file of one of several `repositories`: it must not have settings that belong to the
    /// daemon.
    pub fn check_repository_settings(&self) -> Result<(), SettingsError> {
        let lines = Lines::of(&self.text);
        let found = keys::DAEMON_SETTINGS.into_iter().find_map(|key| Some((key, lines.find([key])?)));
        let Some((key, line)) = found else { return Ok(()) };
        let text =
            format!("'{key}' is the daemon's: it belongs in the settings with 'repositories' that name this file");
        Err(SettingsError::Invalid { path: self.path.clone(), line: Some(line), text })
    }
}

fn written_setting(lines: &Lines, setting: &'static str) -> Written {
    let value = lines.0.value.get(setting).map(json::compact).unwrap_or_default();
    Written { setting, line: lines.find([setting]), value }
}

/// Returns true if this setting judges the tree. From a file of the tree, such a setting applies as in the revision
/// before.
pub fn is_judging(setting: &str) -> bool {
    judging_names().any(|name| name == setting)
}

/// Returns the settings of a file that judge the tree, for comparison.
pub fn judging(content: &[u8]) -> Vec<Option<Value>> {
    if has_anchors(content) {
        return vec![Some(as_text(content))];
    }
    let parsed = yaml::parse(content);
    judging_names().map(|name| parsed.value.get(name).cloned()).collect()
}

/// Returns the settings of a file that do not judge the tree, for comparison; `None` if the file as a whole cannot be
/// read, or may refer to values repeatedly.
pub fn not_judging(content: &[u8]) -> Option<Vec<Option<Value>>> {
    if has_anchors(content) {
        return None;
    }
    let parsed = yaml::parse(content);
    let names = keys::Settings::RULES.iter().map(|(name, _)| *name).filter(|name| !is_judging(name));
    parsed.fault.is_none().then(|| names.map(|name| parsed.value.get(name).cloned()).collect())
}

/// Returns true if a document may refer to a value repeatedly: comparing two such documents could take forever.
pub(crate) fn has_anchors(content: &[u8]) -> bool {
    content.contains(&b'&')
}

fn as_text(content: &[u8]) -> Value {
    Value::from(String::from_utf8_lossy(content).into_owned())
}

fn invalid(text: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::MAX_DEPTH;
    use crate::puppet::yaml::{Form, form};

    #[test]
    fn depth_is_that_of_the_reader() {
        let form = |text: &str| form(text.as_bytes(), MAX_DEPTH);
        let deep = |open: &str| format!("a: {}", open.repeat(300));
        for hostile in ["[", "{a: ", "[ #]\n", "[\"]\",", "[']',", "- ", "[{a: ", "[ # }}\n"].map(deep) {
            let hostile = if hostile.starts_with("a: - ") { hostile.replacen("a: ", "", 1) } else { hostile };
            assert_eq!(form(&hostile), Form::Deep, "{hostile:.40}");
            for before in ["x: 1\n---\n", "x: 1\n...\n", "%YAML 1.1\n---\nx: !!float y\n...\n%TAG !e! x\n---\n"] {
                assert_eq!(form(&format!("{before}{hostile}")), Form::Several, "{before}{hostile:.40}");
            }
        }
        for honest in [
            "a: [b, c]\n".repeat(5000),
            format!("a: '{}'\n", "[".repeat(1000)),
            format!("# {}\n", "[{".repeat(1000)),
            format!("a: {}{}", "[".repeat(199), "]".repeat(199)),
        ] {
            assert_eq!(form(&honest), Form::Plain, "{honest:.40}");
        }
    }

    #[test]
    fn documents_are_counted_as_the_reader_does() {
        for text in [
            "",
            "# x\n",
            "a: 1\n",
            "---\na: 1\n",
            "%YAML 1.1\n---\na: 1\n...\n",
            "a: 1\n...\n...\n# x\n",
            "a: |\n  ---\n  ...\n",
            "a: 1\n---\n",
            "---\n---\n",
            "a: 1\n...\nb: 1\n",
            "a: 1\n... # x\n--- b\n",
            "--- a\n--- b\n",
            "--- |\n a\n--- b\n",
            "a: 1\n...\n%YAML 1.1\n--- b\n",
        ] {
            let read = serde_yaml::from_str::<serde_yaml::Value>(text);
            let several = read.is_err_and(|error| error.to_string().contains("more than one document"));
            assert_eq!(form(text.as_bytes(), MAX_DEPTH) == Form::Several, several, "{text:?}");
        }
    }
}
