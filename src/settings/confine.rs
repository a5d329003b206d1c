//! Decides which settings of files in the tree apply.
//!
//! Anybody who proposes a commit can write the files of the tree, so these may set only what concerns the tree and
//! the report. The row of each setting in `keys` names its rule, which is a method of `Refused`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::origin::TreeFolder;
use super::raw::profiles::{ProfileEntry, Profiles};
use super::raw::{self, OneOrMany};
use super::source::SourceFile;
use crate::disk;
use crate::visible::visible;

/// The variable in `modulepath` that only trusted settings define.
const BASE_MODULEPATH: &str = "$basemodulepath";

/// The maximum number of names in a message, and the maximum number of characters of one.
const MAX_NAMES: (usize, usize) = (5, 60);

/// A setting, or a whole file, that is ignored because of its origin. It displays as a message to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1, if it is known.
    pub line: Option<usize>,
    /// The name of the setting; empty for the whole file.
    pub setting: &'static str,
    /// The reason, without the place.
    pub text: String,
    /// True if the whole setting is ignored.
    pub is_whole: bool,
    /// True if reports may lack something without it.
    pub is_missed: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let path = self.path.display().to_string();
        write!(f, "{}{line}: {}", visible(&path), self.text)?;
        self.advice().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl Refusal {
    /// Returns what to do to make the setting apply; `None` for a whole file, whose text says it already.
    pub fn advice(&self) -> Option<&'static str> {
        let advice = "it may stand in .git/hierad.yaml or in a file outside of the tree that --config names, or run `hierad trust`";
        (!self.setting.is_empty()).then_some(advice)
    }
}

/// Returns true if all folders of a modulepath are inside the tree, or belong to trusted settings.
fn is_modulepath(place: &TreeFolder, path: &str) -> bool {
    let top = TreeFolder { root: place.root.clone(), folder: PathBuf::new() };
    path.split(':').all(|part| part == BASE_MODULEPATH || (!part.contains('$') && is_relative(&top, part)))
}

/// Returns true if links lead from an existing path out of the tree.
fn leads_out(root: &Path, path: &Path) -> bool {
    path.exists() && disk::real_below(root, path).is_err()
}

fn is_relative(place: &TreeFolder, path: &str) -> bool {
    !Path::new(path).is_absolute() && place.has(path)
}

/// Decides which settings of a file in the tree apply, and collects the refused ones. Each rule is a method that
/// takes a setting with its name and returns the part that applies.
pub(super) struct Refused<'a> {
    source: &'a SourceFile<'a>,
    place: &'a TreeFolder,
    pub(super) refusals: Vec<Refusal>,
}

impl<'a> Refused<'a> {
    /// Starts with a file of the tree of which nothing is refused yet.
    pub(super) fn new(source: &'a SourceFile<'a>, place: &'a TreeFolder) -> Refused<'a> {
        Refused { source, place, refusals: Vec::new() }
    }

    fn refuse(&mut self, setting: &'static str, text: String, is_whole: bool, is_missed: bool) {
        let line = self.source.lines.find([setting]);
        self.refusals.push(Refusal { path: self.source.path.into(), line, setting, text, is_whole, is_missed });
    }

    /// Takes a setting that concerns the tree and its reports.
    #[expect(clippy::unused_self, reason = "a rule like the others")]
    pub(super) fn tree<T>(&mut self, _: &'static str, value: T) -> T {
        value
    }

    /// Takes a setting that judges the tree: the caller uses that of the base revision.
    pub(super) fn judging<T>(&mut self, setting: &'static str, value: T) -> T {
        self.tree(setting, value)
    }

    /// Refuses a setting that reports do not depend on.
    pub(super) fn never<T: Default>(&mut self, setting: &'static str, value: T) -> T {
        drop(value);
        if self.source.lines.mentions(setting) {
            self.refuse(setting, format!("'{setting}' does not count from the tree"), true, false);
        }
        T::default()
    }

    /// Refuses a setting whose absence may change reports.
    pub(super) fn missed<T: Default>(&mut self, setting: &'static str, value: T) -> T {
        let count = self.refusals.len();
        let default = self.never(setting, value);
        self.refusals.iter_mut().skip(count).for_each(|refusal| refusal.is_missed = true);
        default
    }

    fn refuse_names(&mut self, setting: &'static str, what: &str, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let (most, length) = MAX_NAMES;
        let shown = names.iter().take(most).map(|name| name.chars().take(length).collect::<String>());
        let shown: Vec<String> = shown.map(|name| visible(&name).into_owned()).collect();
        let more = names.len().saturating_sub(most);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let text = format!("'{setting}' of the tree does not count for {what} ({}{more})", shown.join(", "));
        self.refuse(setting, text, false, true);
    }

    /// Refuses paths out of the tree, and sources that open a connection or run a program.
    pub(super) fn profiles(&mut self, setting: &'static str, Profiles(entries): Profiles) -> Profiles {
        let place = self.place;
        let (paths, sources): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.path().is_some());
        let is_inside = |entry: &ProfileEntry| entry.path().is_some_and(|path| place.has(path));
        let (inside, outside): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_inside);
        for (what, entries) in [("paths outside of it", outside), ("sources other than files", sources)] {
            self.refuse_names(setting, what, &entries.iter().map(ProfileEntry::name).collect::<Vec<_>>());
        }
        Profiles(inside)
    }

    /// Takes the folders of modules that are inside the tree.
    pub(super) fn modulepath(&mut self, setting: &'static str, list: OneOrMany) -> OneOrMany {
        let is_inside = |path: &String| is_modulepath(self.place, path);
        let (inside, outside): (Vec<_>, Vec<_>) = list.into_vec().into_iter().partition(is_inside);
        self.refuse_names(setting, "paths outside of it", &outside);
        OneOrMany::Many(inside)
    }

    /// Takes the entries with relative paths; `..` is refused in any file.
    pub(super) fn datadirs(
        &mut self,
        setting: &'static str,
        datadirs: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        self.keep_entries(setting, "paths outside of it", datadirs, |to| !Path::new(to).is_absolute())
    }

    fn keep_entries<T>(
        &mut self,
        setting: &'static str,
        what: &str,
        entries: BTreeMap<String, T>,
        is_allowed: impl Fn(&T) -> bool,
    ) -> BTreeMap<String, T> {
        let (allowed, refused): (BTreeMap<_, _>, BTreeMap<_, _>) =
            entries.into_iter().partition(|(_, value)| is_allowed(value));
        self.refuse_names(setting, what, &refused.into_keys().collect::<Vec<_>>());
        allowed
    }

    /// Takes functions without commands, whose files are inside the tree.
    pub(super) fn backends(
        &mut self,
        setting: &'static str,
        backends: BTreeMap<String, raw::Backend>,
    ) -> BTreeMap<String, raw::Backend> {
        let place = self.place;
        let backends = self.keep_entries(setting, "commands", backends, |backend| !backend.runs_code());
        let folder = self.source.folder;
        let is_inside = |backend: &raw::Backend| {
            let is_inside = |path: &str| place.has(path) && !leads_out(&place.root, &folder.join(path));
            backend.values.as_deref().is_none_or(is_inside)
        };
        self.keep_entries(setting, "files outside of it", backends, is_inside)
    }

    /// Takes a global layer that is in the inspected revision.
    pub(super) fn global(
        &mut self,
        setting: &'static str,
        raw: Option<raw::GlobalConfig>,
    ) -> Option<raw::GlobalConfig> {
        let inside = match &raw {
            None => return None,
            Some(raw::GlobalConfig::File(path)) if path == "none" => return raw,
            Some(raw::GlobalConfig::File(path)) => self.place.inside(Path::new(path)),
            Some(raw::GlobalConfig::InRepository(file)) if file.repo.is_none() => return raw,
            Some(raw::GlobalConfig::InRepository(_)) => None,
        };
        let Some(path) = inside.and_then(|path| Some(path.to_str()?.to_owned())) else {
            return self.missed(setting, raw);
        };
        Some(raw::GlobalConfig::InRepository(raw::RepositoryFile { repo: None, rev: None, path }))
    }
}
