//! Finds what lies in other repositories and has another version after the commit: submodules, and modules that a
//! Puppetfile brings. Their data change with it, and nothing of them is read.

use std::collections::{BTreeMap, BTreeSet};

use super::changed_files::ChangedFiles;
use super::{DiffContext, accept, wording};
use crate::hiera::layer::Environment;
use crate::report::{BlindSpot, Remedy};
use crate::tree::{BlobId, Entry, child, folder_of};

/// The code of such blind spots.
const OTHER: &str = "other-version";

/// The most names that a suggested setting has.
const MOST_ACCEPTED: usize = 8;

impl DiffContext<'_> {
    /// Returns blind spots for the submodules and the modules of the Puppetfile that have another version.
    pub(super) fn other_versions(&self, files: &ChangedFiles) -> impl Iterator<Item = BlindSpot> {
        let submodules = files.submodules.iter().filter(|path| !self.accepted.has(OTHER, path));
        let submodules: Vec<(&str, String)> = submodules.map(|path| (path.as_str(), self.step(path))).collect();
        let modules = self.other_modules();
        [DiffContext::moved(&submodules), self.deployed(&modules)].into_iter().flatten()
    }

    /// Returns the commits that a submodule is moved from and to.
    fn step(&self, path: &str) -> String {
        let [before, after] = self.both_revisions().map(|revision| match revision.environment.tree.entry(path) {
            Ok(Some(Entry::Submodule(Some(id)))) => format!("{:.8}", BlobId(id).to_string()),
            Ok(Some(Entry::Submodule(None))) => "an unknown commit".to_owned(),
            _ => "none".to_owned(),
        });
        format!("{path}: {before} -> {after}")
    }

    fn moved(submodules: &[(&str, String)]) -> Option<BlindSpot> {
        let [(first, _), others @ ..] = submodules else { return None };
        let headline = match others {
            [] => format!("{first} is a submodule, and the commit moves it"),
            _ => format!("{} have other commits", wording::count(submodules.len(), "submodule")),
        };
        Some(BlindSpot {
            headline,
            message: format!(
                "the data of submodules are not read, and these have other commits: {}",
                listed(submodules.iter().map(|(_, step)| step.as_str()))
            ),
            ..spot(submodules.iter().map(|(path, _)| (*path).to_owned()), submodules.iter().map(|(path, _)| *path))
        })
    }

    /// Returns the modules of the Puppetfile that are declared in another way before, or not at all, or no longer; with
    /// both declarations. Those that lie in the repository on both sides are read.
    fn other_modules(&self) -> BTreeMap<&str, [&str; 2]> {
        let [before, after] = self.both_revisions().map(|revision| declared(&revision.environment));
        let is_here = |name: &str| {
            self.both_revisions().iter().all(|revision| revision.environment.module_folders.contains_key(name))
        };
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        let both = |name| [&before, &after].map(|side| side.get(name).copied().unwrap_or("none"));
        let other = names.into_iter().map(|name| (name, both(name))).filter(|(_, [before, after])| before != after);
        other.filter(|(name, _)| !is_here(name) && !self.accepted.has(OTHER, name)).collect()
    }

    fn deployed(&self, modules: &BTreeMap<&str, [&str; 2]>) -> Option<BlindSpot> {
        let (first, _) = modules.first_key_value()?;
        let file = child(folder_of(&self.revisions.after.environment.options.hiera_config), "Puppetfile");
        let steps: Vec<String> = modules.values().map(|[before, after]| format!("{before} -> {after}")).collect();
        let headline = match modules.len() {
            1 => format!("{file} has another version of the module '{first}'"),
            number => format!("{file} has other versions of {}", wording::count(number, "module")),
        };
        Some(BlindSpot {
            headline,
            message: format!(
                "data of modules that {file} brings are not read, and it has other versions: {}",
                listed(steps.iter().map(String::as_str)),
            ),
            ..spot([file.clone()], modules.keys().copied())
        })
    }
}

/// Returns the first of some texts, and the number of the others.
fn listed<'t>(texts: impl ExactSizeIterator<Item = &'t str>) -> String {
    const SHOWN: usize = 3;
    let rest = texts.len().saturating_sub(SHOWN);
    let more = (rest > 0).then(|| format!("and {} more", wording::number(rest)));
    let shown = texts.take(SHOWN).map(str::to_owned).chain(more);
    shown.collect::<Vec<_>>().join("; ")
}

/// Returns the modules of the Puppetfile with what it says of them.
fn declared(environment: &Environment) -> BTreeMap<&str, &str> {
    environment.deployed_modules.iter().map(|module| (&*module.name, &*module.declaration)).collect()
}

/// Returns a blind spot that concerns files, with the setting that accepts these names.
fn spot<'n>(files: impl IntoIterator<Item = String>, names: impl ExactSizeIterator<Item = &'n str>) -> BlindSpot {
    let advice = "look at what changes there";
    let fix = if names.len() > MOST_ACCEPTED {
        Remedy::words(advice)
    } else {
        let words = format!("{advice} or, if it has no data, put into hierad.yaml");
        Remedy::with_yaml(words, accept::line(OTHER, names))
    };
    BlindSpot { code: OTHER, fix: Some(fix), files: files.into_iter().collect(), ..BlindSpot::default() }
}
