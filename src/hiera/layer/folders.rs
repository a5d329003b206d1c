//! The folders of a modulepath, in the repository and outside of it.
//!
//! Source: `settings/environment_conf.rb` (`modulepath`, `absolute`, `expand_glob`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::environment_conf::{EnvironmentConf, expand_settings};
use super::loader::Loader;
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::hierarchy::Datadir;
use crate::puppet::glob;
use crate::puppet::glob::{Found, GlobError};
use crate::puppet::pathname::join;
use crate::tree::{FileTree, Target, TreeError, below, child, follow};

/// The default modulepath.
const DEFAULT_MODULEPATH: &str = "modules:$basemodulepath";

/// The setting in the default that stands for folders outside the environment.
const BASE_VARIABLE: &str = "$basemodulepath";

/// A folder that may contain modules.
pub(super) struct Folder {
    pub(super) tree: Arc<dyn FileTree>,
    pub(super) path: String,
}

/// A modulepath as written, with its folders and modules outside the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModulePath {
    /// The folders, in the order in which they are searched: paths of the repository, and others as written.
    pub folders: Vec<String>,
    /// True if it is written somewhere, false for the default.
    is_written: bool,
    /// The folders and modules outside the repository that would be used if they exist, each with the reason why it
    /// is outside.
    pub outside: BTreeMap<String, String>,
}

impl ModulePath {
    /// Returns the folders and modules outside of the repository that are added, removed or lead elsewhere in
    /// `other`, and the folders among them that are searched earlier or later there. A base that is only part of the
    /// default is treated as empty.
    pub fn outside_moved<'a>(&'a self, other: &'a ModulePath) -> Vec<&'a str> {
        let names = self.outside.keys().chain(other.outside.keys()).map(String::as_str);
        let is_moved = |name: &&str| {
            let is_other = self.outside.get(*name) != other.outside.get(*name);
            is_other && (**name != *BASE_VARIABLE || self.is_written && other.is_written)
                || self.common(other).before(name) != other.common(self).before(name)
        };
        let mut moved: Vec<&str> = names.filter(is_moved).collect();
        moved.sort_unstable();
        moved.dedup();
        moved
    }

    /// Returns true if `folder` is searched first.
    pub fn begins_with(&self, folder: &str) -> bool {
        self.folders.first().is_some_and(|first| first == folder)
    }

    fn common<'a>(&'a self, other: &ModulePath) -> Common<'a> {
        Common(
            self.folders
                .iter()
                .map(String::as_str)
                .filter(|folder| other.folders.iter().any(|known| known == folder))
                .collect(),
        )
    }
}

/// The folders that two modulepaths have in common, in the order of one of them.
struct Common<'a>(Vec<&'a str>);

impl Common<'_> {
    /// Returns the folders that are searched before this one, in any order.
    fn before(&self, name: &str) -> Option<BTreeSet<&str>> {
        Some(self.0[..self.0.iter().position(|folder| *folder == name)?].iter().copied().collect())
    }
}

/// Finds the folders of a modulepath.
pub(super) struct Folders<'l, 'a> {
    loader: &'l mut Loader<'a>,
    /// The file that names the modulepath, if the settings do not.
    place: Place,
    from_settings: bool,
    pub(super) found: Vec<Folder>,
    /// The reason why Puppet cannot create the environment.
    pub(super) fault: Option<LookupError>,
    pub(super) module_path: ModulePath,
}

impl<'l, 'a> Folders<'l, 'a> {
    /// Returns the folders of the modulepath of the environment at `root`, from the settings or its environment.conf.
    pub(super) fn find(
        loader: &'l mut Loader<'a>,
        root: &str,
        conf: &EnvironmentConf,
    ) -> Result<(Vec<Folder>, ModulePath, Option<LookupError>), TreeError> {
        let options = loader.options;
        let configured = options.modulepath.as_ref().or(conf.modulepath.as_ref());
        let place = Place::file(child(root, "environment.conf"));
        let from_settings = options.modulepath.is_some();
        let module_path = ModulePath::default();
        let mut folders = Folders { loader, place, from_settings, found: Vec::new(), fault: None, module_path };
        let text = configured.map_or(DEFAULT_MODULEPATH, String::as_str);
        if text.contains(BASE_VARIABLE) && options.basemodulepath.is_empty() {
            folders.add_outside(BASE_VARIABLE, configured.is_some());
        }
        folders.module_path.is_written = configured.is_some();
        let written = text.split(':').filter(|part| !part.is_empty());
        let path = |part: &str| if part.contains('$') { None } else { expand(root, part) };
        folders.module_path.folders = written.map(|part| path(part).unwrap_or_else(|| part.to_owned())).collect();
        for part in expand_settings(text, &options.basemodulepath).split(':').filter(|part| !part.is_empty()) {
            folders.add(root, part, configured.is_some())?;
        }
        Ok((folders.found, folders.module_path, folders.fault))
    }

    fn add(&mut self, root: &str, part: &str, is_configured: bool) -> Result<(), TreeError> {
        let Some(path) = expand(root, part) else {
            self.add_outside(part, true);
            return Ok(());
        };
        let (tree, path) = if path.starts_with('/') {
            let Some(place) = self.outside_folder(&path) else { return Ok(()) };
            place
        } else {
            (self.loader.tree.clone(), path)
        };
        if !glob::is_pattern(&path) {
            match follow(&*tree, &path)? {
                Target::Loop(why) | Target::Outside(why) => self.add_leading_out(&path, why.to_string()),
                Target::File(..) | Target::Absent | Target::Dangling(_) if is_configured => self.note_missing(&path),
                Target::Folder(_) | Target::File(..) | Target::Absent | Target::Dangling(_) => {}
            }
            self.found.push(Folder { tree, path });
            return Ok(());
        }
        match glob::glob_folders(&*tree, &path) {
            Ok(Found { paths, outside }) => {
                self.found.extend(paths.into_iter().map(|path| Folder { tree: tree.clone(), path }));
                for why in outside {
                    self.add_leading_out(&path, why.to_string());
                }
            }
            Err(GlobError::Tree(error)) => return Err(error),
            Err(error) => {
                let place = self.place.clone();
                self.fault.get_or_insert_with(|| LookupError::from(error).at(place));
            }
        }
        Ok(())
    }

    /// Locates an absolute folder: where the settings redirect it, or on disk if the settings themselves name it.
    fn outside_folder(&mut self, path: &str) -> Option<(Arc<dyn FileTree>, String)> {
        let options = self.loader.options;
        let mapped = options.datadirs.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (rest.trim_start_matches('/'), to))
        });
        match mapped {
            Some((rest, Datadir::Folder(folder))) => Some((self.loader.tree.clone(), join(folder, rest))),
            Some((rest, Datadir::Disk(folder))) => Some((options.disk.clone(), join(folder, rest))),
            Some((_, Datadir::None)) => None,
            None if self.from_settings || options.basemodulepath.iter().any(|folder| below(folder, path).is_some()) => {
                Some((options.disk.clone(), path.to_owned()))
            }
            None => {
                self.add_outside(path, true);
                None
            }
        }
    }

    /// Records a folder outside of the repository, and reports it if the modulepath is written.
    fn add_outside(&mut self, part: &str, is_written: bool) {
        self.module_path.outside.insert(part.to_owned(), "outside of the repository".to_owned());
        if !is_written {
            return;
        }
        let text = format!(
            "modules in {part} are outside the repository: their data is not searched; 'basemodulepath', 'modulepath' and 'datadirs' in hierad.yaml can say where they are"
        );
        self.loader.note("modules-outside", self.place.clone(), text);
    }

    fn add_leading_out(&mut self, path: &str, why: String) {
        self.loader.note("modules-outside", self.place.clone(), format!("{why}: modules in {path} are not searched"));
        let known = self.module_path.outside.entry(path.to_owned()).or_default();
        *known = if known.is_empty() { why } else { format!("{known}, {why}") };
    }

    fn note_missing(&mut self, path: &str) {
        let text = format!("{path} is in the modulepath, but is not a folder: no module is found there");
        self.loader.note("modulepath", self.place.clone(), text);
    }
}

/// Works like Ruby's `File.expand_path`, in the repository or from the root of the disk: `..` removes a name, even if
/// nothing of that name exists. Returns `None` if the path leads out of the repository.
fn expand(root: &str, path: &str) -> Option<String> {
    let absolute = path.starts_with('/');
    let root = if absolute { "" } else { root };
    let mut names: Vec<&str> = root.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if absolute => _ = names.pop(),
            ".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    Some(format!("{}{}", if absolute { "/" } else { "" }, names.join("/")))
}
