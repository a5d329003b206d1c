//! The folders that hold modules: what a modulepath means in the repository and outside of it.
//!
//! Source: `settings/environment_conf.rb` (`modulepath`, `absolute`, `expand_glob`).

use std::sync::Arc;

use super::environment_conf::{EnvironmentConf, expand_settings};
use super::loader::Loader;
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::hierarchy::{Datadir, join};
use crate::puppet::glob;
use crate::puppet::glob::GlobError;
use crate::tree::{FileTree, Target, TreeError, below, child, follow};

/// The default modulepath.
const DEFAULT: &str = "modules:$basemodulepath";

/// A folder that may hold modules.
pub(super) struct Folder {
    pub(super) tree: Arc<dyn FileTree>,
    pub(super) path: String,
}

/// Finds the folders of a modulepath.
pub(super) struct Folders<'l, 'a> {
    loader: &'l mut Loader<'a>,
    /// The file that names the modulepath, if the settings do not.
    place: Place,
    from_settings: bool,
    pub(super) found: Vec<Folder>,
    /// The reason for which Puppet cannot load any module.
    pub(super) fault: Option<LookupError>,
}

impl<'l, 'a> Folders<'l, 'a> {
    /// Returns the folders of the modulepath of the environment at `root`, as the settings or its environment.conf say.
    pub(super) fn find(
        loader: &'l mut Loader<'a>,
        root: &str,
        conf: &EnvironmentConf,
    ) -> Result<(Vec<Folder>, Option<LookupError>), TreeError> {
        let options = loader.options;
        let said = options.modulepath.as_ref().or(conf.modulepath.as_ref());
        let place = Place::file(child(root, "environment.conf"));
        let from_settings = options.modulepath.is_some();
        let mut folders = Folders { loader, place, from_settings, found: Vec::new(), fault: None };
        let text = said.map_or(DEFAULT, String::as_str);
        if said.is_some() && text.contains("$basemodulepath") && options.basemodulepath.is_empty() {
            folders.outside("$basemodulepath");
        }
        for part in expand_settings(text, &options.basemodulepath).split(':').filter(|part| !part.is_empty()) {
            folders.add(root, part, said.is_some())?;
        }
        Ok((folders.found, folders.fault))
    }

    fn add(&mut self, root: &str, part: &str, said: bool) -> Result<(), TreeError> {
        let Some(path) = expand(root, part) else {
            self.outside(part);
            return Ok(());
        };
        let (tree, path) = if path.starts_with('/') {
            let Some(place) = self.outside_folder(&path) else { return Ok(()) };
            place
        } else {
            (self.loader.tree.clone(), path)
        };
        if !glob::is_pattern(&path) {
            if said && !matches!(follow(&*tree, &path)?, Target::Folder(_)) {
                self.missing(&path);
            }
            self.found.push(Folder { tree, path });
            return Ok(());
        }
        match glob::glob_folders(&*tree, &path) {
            Ok(found) => self.found.extend(found.into_iter().map(|path| Folder { tree: tree.clone(), path })),
            Err(GlobError::Tree(error)) => return Err(error),
            Err(error) => {
                let place = self.place.clone();
                self.fault.get_or_insert_with(|| LookupError::unknown(error).at(place));
            }
        }
        Ok(())
    }

    /// Locates an absolute folder: where the settings map it, or on disk if the settings themselves name it.
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
                self.outside(path);
                None
            }
        }
    }

    fn outside(&mut self, part: &str) {
        let text = format!(
            "modules in {part} are outside the repository: their data is not searched; 'basemodulepath', 'modulepath' and 'datadirs' in hierad.yaml can say where they are"
        );
        self.loader.note("modules-outside", self.place.clone(), text);
    }

    fn missing(&mut self, path: &str) {
        let text = format!("{path} is in the modulepath and is no folder: no module is found there");
        self.loader.note("modulepath", self.place.clone(), text);
    }
}

/// Ruby's `File.expand_path`, in the repository or from the root of the disk: `..` takes a name away, whether it is
/// there or not. Nothing if the path leads out of the repository.
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
