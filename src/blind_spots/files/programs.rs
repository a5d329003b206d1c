//! Finds changes of files that decide values without being data: type aliases, functions, and keys of encrypted data.

use std::collections::BTreeSet;

use super::changed::ChangedFiles;
use crate::blind_spots::levels::keys_not_allowed;
use crate::blind_spots::{DiffContext, accept, wording};
use crate::fleet::Revision;
use crate::hiera::backend::eyaml::NoKey;
use crate::hiera::backend::{DataFile, is_own};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::report::BlindSpot;
use crate::tree::TreeError;
use crate::value::Value;

/// Folders of a module, or an environment, with type aliases.
const TYPES: [&str; 1] = ["types/"];

/// Folders of a module, or an environment, with functions.
const FUNCTIONS: [&str; 2] = ["functions/", "lib/puppet/functions/"];

impl DiffContext<'_> {
    /// Returns a blind spot for changed programs that levels and conversions may use.
    pub(crate) fn changed_programs(&self, files: &ChangedFiles) -> Result<Option<BlindSpot>, TreeError> {
        const CODE: &str = "unlisted-keys";
        let both = self.both_revisions();
        let is_in = |path: &str, folders: &[&str]| both.iter().any(|revision| is_program(revision, path, folders));
        let mut of_types: Vec<String> = files.others.iter().filter(|path| is_in(path, &TYPES)).cloned().collect();
        if !(of_types.is_empty() || has_aliases(both[0])? || has_aliases(both[1])?) {
            of_types.clear();
        }
        let of_functions = files.others.iter().filter(|path| is_in(path, &FUNCTIONS));
        let of_functions = of_functions.filter(|_| both.iter().any(|revision| asks_functions(revision)));
        let mut found: Vec<String> = of_types.into_iter().chain(of_functions.cloned()).collect();
        found.retain(|file| !self.accepted.has(CODE, file));
        let Some(first) = found.first() else { return Ok(None) };
        let short = if found.len() == 1 { first.clone() } else { wording::count(found.len(), "file") };
        let names = wording::some(found.iter().map(String::as_str));
        Ok(Some(BlindSpot {
            code: CODE,
            headline: format!("{short} may decide values"),
            message: format!(
                "{names} may decide values: levels ask functions, or options convert to type aliases, and hierad runs neither"
            ),
            fix: Some(accept::remedy(
                "look at what they change or, if that is nothing, add to hierad.yaml",
                CODE,
                found.iter().map(String::as_str),
            )),
            files: found,
            ..BlindSpot::default()
        }))
    }

    /// Returns a blind spot for changed keys of encrypted data that hierad must not read: other names of keys, or
    /// other files with the same names.
    pub(crate) fn other_keys(&self, files: &ChangedFiles) -> Option<BlindSpot> {
        let [before, after] = self.both_revisions().map(key_names);
        let ends =
            |name: &str, path: &str| name.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let replaced: BTreeSet<&String> =
            files.others.iter().filter(|path| before.union(&after).any(|name| ends(name, path))).collect();
        if replaced.is_empty() && before == after {
            return None;
        }
        let names: BTreeSet<String> = before.union(&after).cloned().collect();
        Some(BlindSpot {
            code: keys_not_allowed::NOT_ALLOWED,
            headline: "encrypted data has other keys, which are not allowed".to_owned(),
            message: format!("encrypted data has other keys than before: {}", keys_not_allowed::text()),
            fix: Some(keys_not_allowed::fix(&names)),
            files: replaced.into_iter().cloned().collect(),
            ..BlindSpot::default()
        })
    }
}

/// Returns true if a path is a program in one of these folders of a module or of the environment.
fn is_program(revision: &Revision, path: &str, folders: &[&str]) -> bool {
    let mut roots = revision.environment.roots().flat_map(|root| {
        let modules = root.module_folders.values().map(String::as_str);
        modules.chain([crate::tree::folder_of(&root.options.hiera_config)])
    });
    let is_inner = |root: &str| {
        let inner = path.strip_prefix(root).map(|inner| inner.trim_start_matches('/'));
        inner.is_some_and(|inner| folders.iter().any(|folder| inner.starts_with(folder)))
    };
    [".pp", ".rb"].iter().any(|end| path.ends_with(end)) && roots.any(is_inner)
}

/// Returns true if options convert to a type whose name belongs to a module.
fn has_aliases(revision: &Revision) -> Result<bool, TreeError> {
    let environment = &revision.environment;
    let names_alias = |options: &Value| {
        let text = options.inspect();
        text.contains("convert_to") && text.contains("::")
    };
    for path in revision.reached_files() {
        let Some(file) = super::changed::data_file(environment, &path)? else { continue };
        let options = DataFile::content(&file).and_then(|content| content.get(LOOKUP_OPTIONS)).cloned();
        if options.as_ref().is_some_and(names_alias) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a level asks one of the site's own functions whose answers no settings declare.
fn asks_functions(revision: &Revision) -> bool {
    let environment = &revision.environment;
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    let mut levels = configs.flat_map(|config| config.all_levels());
    levels.any(|level| is_own(&level.function, &environment.options.backends))
}

/// Returns the names of keys that levels of encrypted data name and that are not allowed.
fn key_names(revision: &Revision) -> BTreeSet<String> {
    let names = revision.keyless_levels().into_keys().filter_map(|(_, _, why)| match why {
        NoKey::NotAllowed(names) => Some(names),
        NoKey::NotWanted | NoKey::NotReadable => None,
    });
    names.flatten().collect()
}
