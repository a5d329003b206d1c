//! The settings file that is being checked, with its folder, and with lines for messages.

use std::path::{Path, PathBuf};

use super::SettingsError;
use super::origin::Origin;
use super::raw::OneOrMany;
use crate::pattern::nearest;
use crate::puppet::document::{Marks, Parsed};
use crate::puppet::yaml;
use crate::value::Value;

/// A settings file. Paths in it are relative to its folder.
pub(crate) struct SourceFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) origin: &'a Origin,
    pub(crate) lines: Lines,
}

impl SourceFile<'_> {
    /// Makes the error of the setting that `names` lead to.
    pub(crate) fn invalid(&self, names: &[&str], text: impl Into<String>) -> SettingsError {
        SettingsError::Invalid {
            path: self.path.into(),
            line: self.lines.find(names.iter().copied()),
            text: text.into(),
        }
    }

    /// Resolves a path in the settings relative to their folder.
    pub(crate) fn path(&self, path: Option<String>) -> Option<PathBuf> {
        path.map(|path| self.folder.join(path))
    }

    /// Resolves a list of paths in the same way.
    pub(crate) fn paths(&self, paths: OneOrMany) -> Vec<PathBuf> {
        paths.into_vec().into_iter().map(|path| self.folder.join(path)).collect()
    }

    /// Returns true if the file has this setting, which judges the tree, and it applies. From a file of the tree it
    /// does not: that of the base revision applies instead.
    pub(crate) fn judges(&self, setting: &str) -> bool {
        *self.origin == Origin::Trusted && self.lines.mentions(setting)
    }

    /// Returns the path of a program. One with a slash is relative to the settings; the system finds the others.
    pub(crate) fn program(&self, program: &str) -> String {
        let beside = std::path::absolute(self.folder.join(program)).ok().filter(|_| program.contains('/'));
        beside.map_or_else(|| program.to_owned(), |path| path.display().to_string())
    }
}

/// The lines of the settings in the file.
pub(crate) struct Lines(pub(crate) Parsed);

impl Lines {
    pub(crate) fn of(text: &str) -> Lines {
        Lines(yaml::parse(text.as_bytes()))
    }

    /// Returns true if the file has this setting at the top level.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.0.value.get(name).is_some()
    }

    /// Returns the line of a setting, given by the names that lead to it.
    pub(crate) fn find<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<usize> {
        let (_, marks) = self.value_and_marks(names)?;
        usize::try_from(marks.line).ok().filter(|line| *line > 0)
    }

    /// Returns the value of a setting, read like data.
    pub(crate) fn value<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<&Value> {
        Some(self.value_and_marks(names)?.0)
    }

    /// Returns the value and the marks of a setting. List items are named by their positions.
    fn value_and_marks<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<(&Value, &Marks)> {
        let (mut value, mut marks) = (&self.0.value, &self.0.marks);
        for name in names {
            let at = match value {
                Value::Array(_) => name.parse().ok()?,
                _ => value.as_hash()?.index_of_text(name)?,
            };
            marks = marks.children.get(at)?;
            value = if let Value::Array(items) = value { items.get(at)? } else { value.get(name)? };
        }
        Some((value, marks))
    }

    /// Returns the line that serde's error is about. The error's own line is sometimes that of the whole setting, so
    /// the names at the start of its text win.
    pub(crate) fn of_error(&self, error: &serde_yaml::Error) -> Option<usize> {
        let text = error.to_string();
        let names = text
            .split_once(": ")
            .map_or("", |(names, _)| names)
            .split(['.', '['])
            .map(|name| name.trim_end_matches(']'));
        let unknown = text.split_once("unknown field `").and_then(|(_, rest)| Some(rest.split_once('`')?.0));
        let outer: Vec<&str> = if text.starts_with("unknown field") { Vec::new() } else { names.collect() };
        unknown
            .and_then(|unknown| self.find(outer.iter().copied().chain([unknown])))
            .or_else(|| self.find(outer.iter().copied()).filter(|_| !outer.is_empty()))
            .or_else(|| error.location().map(|location| location.line()))
    }
}

/// Returns the text of serde's error, without the location, which ours has already. For an unknown name, it suggests
/// a similar one, if there is one, instead of listing all known names.
pub(crate) fn text_of(error: &serde_yaml::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    with_suggestion(text).unwrap_or_else(|| text.to_owned())
}

/// Returns the text with a suggested name, or `None` if it is about something else, or no name is similar.
fn with_suggestion(text: &str) -> Option<String> {
    let (start, known) = text.rsplit_once("`, expected ")?;
    let (_, name) = start.split_once("unknown field `").or_else(|| start.split_once("unknown variant `"))?;
    let known = || known.split('`').skip(1).step_by(2);
    // In a short name, two exchanged letters are a large part of it.
    let exchanged = || known().find(|known| name.len() == known.len() && strsim::osa_distance(name, known) == 1);
    let near = nearest(name, known(), 1).first().copied().or_else(exchanged)?;
    Some(format!("{start}`: did you mean `{near}`?"))
}
