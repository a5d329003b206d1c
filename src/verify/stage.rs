//! The temporary folder: the files of a revision as a Puppet environment, the layers around it, and Puppet's own
//! files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::Code;
use crate::app::Result;
use crate::app::settings::Settings;
use crate::app::{Workspace, absolute};
use crate::disk::{self, Choice};
use crate::hiera::backend::eyaml::{KeyChoice, KeyName, KeyNames};
use crate::hiera::layer::{Environment, GlobalConfig, HIERA_YAML, Root};
use crate::settings::{DatadirSetting, GlobalSetting};
use crate::tree::{Entry, FileTree, child, folder_of};
use crate::value::{Hash, Value};

/// The temporary folder.
pub(super) struct Stage {
    folder: TempDir,
}

/// The files for Puppet to read.
pub(super) struct Staged {
    /// The environments, by name if there are several.
    environments: BTreeMap<Root, Place>,
    /// An empty folder that stands for missing environments.
    empty_folder: PathBuf,
    /// The hiera.yaml of the global layer, if there is one.
    global: Option<PathBuf>,
    /// The folders that `$basemodulepath` stands for.
    basemodulepath: Vec<String>,
    /// The keys for encrypted data.
    keys: KeyChoice,
    /// The folders with everything that the layers of the commit may read, as in hierad.
    within: Vec<PathBuf>,
    /// True if the global layer is on disk and the user's own, so that it may read whatever it names.
    global_reads_all: bool,
    /// True if Hiera 3 accepts aliases in YAML.
    yaml_aliases: bool,
}

/// The place of an environment.
struct Place {
    /// Its folder.
    folder: PathBuf,
    /// The folder that Puppet sees it in. Ruby resolves a `..` at the start of a datadir before it follows links.
    parent: PathBuf,
}

/// The folders of the stage itself.
const OWN_FOLDERS: [&str; 5] = ["environments", "files", "global", "nothing", "tmp"];

impl Stage {
    pub(super) fn new() -> Result<Stage> {
        let stage = Stage { folder: disk::private_folder("hierad_verify_")? };
        for name in OWN_FOLDERS {
            fs::create_dir(stage.path(name))?;
        }
        Ok(stage)
    }

    /// Returns a path below the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the files of a revision, with the links that stay inside it, and the other files that the settings
    /// name. Mapped folders replace the written ones.
    pub(super) fn write(&self, revision: &Environment, workspace: &Workspace, code: Code) -> Result<Staged> {
        let settings = &workspace.settings;
        let writer = Writer { mapped: self.mapped(settings), code };
        match revision.own_module() {
            None => writer.folder(&*revision.tree, &self.path("files"))?,
            Some(module) => {
                let modules = self.path("files").join("modules");
                fs::create_dir_all(&modules)?;
                writer.folder(&*revision.tree, &modules.join(&**module))?;
                write_file(&self.path("files").join(HIERA_YAML), b"version: 5\nhierarchy: []\n")?;
            }
        }
        for environment in revision.roots() {
            self.put_in_place(settings, folder_of(&environment.options.hiera_config))?;
        }
        // A folder of the tree is below the first, unless a link leads out of it.
        let on_disk = |to: &DatadirSetting| matches!(to, DatadirSetting::Disk(_)).then(|| self.target(to));
        let targets = settings.datadirs.iter().filter_map(|(_, to)| on_disk(to));
        let roots = ["files", "global"].map(|name| self.path(name)).into_iter().chain(targets);
        let mut within: Vec<PathBuf> = roots.filter_map(|root| root.canonicalize().ok()).collect();
        drop_leaving_links(&self.path("files"), &within)?;
        let own_modules = settings.modulepath.iter().flatten().filter(|folder| folder.starts_with('/'));
        let modules = settings.basemodulepath.iter().map(|folder| PathBuf::from(absolute(folder)));
        let modules = modules.chain(own_modules.map(PathBuf::from));
        within.extend(modules.filter_map(|folder| folder.canonicalize().ok()));
        let place = |environment: &Environment| {
            let place = self.environment(&environment.options.hiera_config, settings, &writer)?;
            Ok((environment.name.clone(), place))
        };
        let global = workspace.global();
        Ok(Staged {
            environments: revision.roots().map(place).collect::<Result<_>>()?,
            empty_folder: self.path("nothing"),
            global: global.map(|global| self.global(global, &settings.global_hiera_config, &writer)).transpose()?,
            basemodulepath: settings.basemodulepath.iter().map(|folder| writer.placed(&absolute(folder))).collect(),
            keys: settings.eyaml.clone(),
            within,
            global_reads_all: global.is_some_and(|global| global.tree.is_some())
                && !matches!(settings.global_hiera_config, GlobalSetting::Repository { .. }),
            yaml_aliases: settings.hiera3_yaml_aliases,
        })
    }

    /// Turns the folder of an environment into one that Puppet can read.
    fn environment(&self, hiera_config: &str, settings: &Settings, writer: &Writer) -> Result<Place> {
        let (root, name) = hiera_config.rsplit_once('/').unwrap_or(("", hiera_config));
        let folder = self.path("files").join(root);
        fs::create_dir_all(&folder)?;
        if name != "hiera.yaml" && folder.join(name).is_file() {
            // Puppet accepts only one name for the environment's configuration.
            write_file(&folder.join("hiera.yaml"), &fs::read(folder.join(name))?)?;
        }
        let own = settings.modulepath.iter().flatten().map(|folder| writer.placed(folder));
        let own = settings.modulepath.is_some().then(|| own.collect());
        set_modulepath(&folder.join("environment.conf"), own, writer.code)?;
        Ok(Place { folder, parent: self.environments(root) })
    }

    /// Returns the parent folder of the environment, whose folder in the tree is `root`.
    fn environments(&self, root: &str) -> PathBuf {
        if root.is_empty() {
            return self.path("environments");
        }
        let parent = root.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.path("files").join(parent)
    }

    /// Returns the path at which Puppet reads the hiera.yaml of the global layer.
    fn global(&self, global: &GlobalConfig, setting: &GlobalSetting, writer: &Writer) -> Result<PathBuf> {
        let path = Path::new(&global.path);
        match (&global.tree, setting) {
            (None, _) => Ok(self.path("files").join(path)),
            (Some(tree), GlobalSetting::Repository { path, .. }) => {
                writer.folder(&**tree, &self.path("global"))?;
                Ok(self.path("global").join(path))
            }
            (Some(_), _) if writer.mapped.is_empty() => Ok(path.to_owned()),
            (Some(_), _) => writer.neighbours(path, &self.path("global")),
        }
    }

    /// Returns the folders named in hiera.yaml and environment.conf, with the folders that they are mapped to.
    fn mapped(&self, settings: &Settings) -> Vec<(String, String)> {
        let absolute = settings.datadirs.iter().filter(|(from, _)| from.starts_with('/'));
        absolute.map(|(from, to)| (from.clone(), self.target(to).display().to_string())).collect()
    }

    fn target(&self, setting: &DatadirSetting) -> PathBuf {
        match setting {
            DatadirSetting::Tree(folder) => self.path("files").join(folder.trim_start_matches("./")),
            DatadirSetting::Disk(folder) => PathBuf::from(absolute(folder)),
            DatadirSetting::None => self.path("nothing"),
        }
    }

    /// Replaces each relative path that the settings map by a link to the mapped folder.
    fn put_in_place(&self, settings: &Settings, root: &str) -> Result<()> {
        for (from, to) in settings.datadirs.iter().filter(|(from, _)| !from.starts_with('/')) {
            let Some(place) = self.place(from, root) else {
                return Err(format!("'{from}' under 'datadirs' is at no place that can be made for Puppet").into());
            };
            match fs::symlink_metadata(&place) {
                Ok(known) if known.is_dir() => fs::remove_dir_all(&place)?,
                Ok(_) => fs::remove_file(&place)?,
                Err(_) => fs::create_dir_all(place.parent().unwrap_or(&place))?,
            }
            if *to != DatadirSetting::None {
                link(&self.target(to), &place)?;
            }
        }
        Ok(())
    }

    /// Returns the place of a path of the repository. Returns `None` if it is below a link or outside of this folder,
    /// where nothing may be changed.
    fn place(&self, path: &str, root: &str) -> Option<PathBuf> {
        let mut place = self.path("files");
        // If the whole repository is the environment, there is a link to it in another folder, since Ruby resolves
        // `..` without following links.
        let above = if root.is_empty() { self.path("environments") } else { self.folder.path().to_owned() };
        for part in Path::new(path).components() {
            if place.is_symlink() {
                return None;
            }
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir if place == self.path("files") => place.clone_from(&above),
                Component::ParentDir if place == above => return None,
                Component::ParentDir => drop(place.pop()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        let is_own = |name: &&str| place == self.path(name);
        let is_free = place != above && !OWN_FOLDERS.iter().any(is_own);
        is_free.then_some(place)
    }
}

impl Staged {
    /// Returns the fields of each request about nodes of the environment called `name`.
    pub(super) fn request(&self, name: &str) -> Hash {
        let path = |path: &PathBuf| Value::from(path.display().to_string());
        let place = self.environments.get(&None).or_else(|| self.environments.get(&Some(name.into())));
        let (folder, parent) = place.map_or((&self.empty_folder, None), |place| (&place.folder, Some(&place.parent)));
        let mut request = Hash::from_iter([
            ("repo", path(folder)),
            ("yaml_aliases", self.yaml_aliases.into()),
            ("within", self.within.iter().map(path).collect()),
            ("global_reads_all", self.global_reads_all.into()),
            ("eyaml_allowed", Value::hash(allowed_keys(&self.keys))),
            ("basemodulepath", self.basemodulepath.iter().map(|folder| Value::from(folder.as_str())).collect()),
        ]);
        request.extend(parent.map(|parent| ("environmentpath", path(parent))));
        request.extend(self.global.as_ref().map(|global| ("global", path(global))));
        if let KeyChoice::Pair(keys) = &self.keys {
            request.insert("eyaml", Value::hash(eyaml_options(keys)));
        }
        request
    }
}

/// Returns the keys that may be read: files as globs, and variables.
fn allowed_keys(keys: &KeyChoice) -> Hash {
    let (files, variables): (Vec<String>, Vec<String>) = match keys {
        KeyChoice::Named(allowed) => {
            (allowed.files().map(str::to_owned).collect(), allowed.variables().map(str::to_owned).collect())
        }
        KeyChoice::Pair(KeyNames { private, public }) => {
            let files = [private, public].into_iter().filter_map(|key| key.file.as_deref());
            (files.map(literal).collect(), Vec::new())
        }
        KeyChoice::NoKeys => (Vec::new(), Vec::new()),
    };
    let texts = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Value>();
    Hash::from_iter([("files", texts(files)), ("variables", texts(variables))])
}

/// Returns a glob that matches only this path.
fn literal(path: &str) -> String {
    path.chars().flat_map(|sign| ['\\'].into_iter().filter(move |_| "\\*?[{".contains(sign)).chain([sign])).collect()
}

/// Returns the options that name a key pair.
fn eyaml_options(keys: &KeyNames) -> Hash {
    let mut options = Hash::new();
    for (kind, KeyName { file, variable, is_base64 }) in [("private", &keys.private), ("public", &keys.public)] {
        options.extend(file.as_ref().map(|file| (format!("pkcs7_{kind}_key"), Value::from(&**file))));
        let form = if *is_base64 { "b64_" } else { "" };
        options.extend(variable.as_ref().map(|name| (format!("pkcs7_{form}{kind}_key_env_var"), Value::from(&**name))));
    }
    options
}

/// Sets the modulepath in an environment.conf, before its other settings. Without code, only the modulepath is kept.
fn set_modulepath(path: &Path, folders: Option<Vec<String>>, code: Code) -> Result<()> {
    if folders.is_none() && !path.is_file() {
        return Ok(());
    }
    let content = if path.is_file() { fs::read(path)? } else { Vec::new() };
    let content = String::from_utf8_lossy(&content);
    let is_modulepath = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == "modulepath");
    let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
    if code == Code::Installed {
        lines.retain(|line| is_modulepath(line));
    }
    if let Some(folders) = folders {
        lines.retain(|line| !is_modulepath(line));
        lines.insert(0, format!("modulepath = {}", folders.join(":")));
    }
    lines.push(String::new());
    write_file(path, lines.join("\n").as_bytes())
}

/// Writes a file in place of whatever is there, never through a link.
fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    disk::create(path, content)?;
    Ok(())
}

fn link(to: &Path, at: &Path) -> Result<()> {
    Ok(disk::link(to.to_str().ok_or("a path is not UTF-8")?, at)?)
}

/// Removes the links below `folder` that lead out of all `roots` or nowhere: hierad does not follow them either.
fn drop_leaving_links(folder: &Path, roots: &[PathBuf]) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        let kind = entry?;
        if kind.is_dir() {
            drop_leaving_links(&path, roots)?;
        } else if kind.is_symlink() {
            let target = path.canonicalize().ok();
            if !target.is_some_and(|target| roots.iter().any(|root| target.starts_with(root))) {
                fs::remove_file(&path)?;
            }
        }
    }
    Ok(())
}

struct Writer {
    mapped: Vec<(String, String)>,
    code: Code,
}

impl Writer {
    /// Returns the folder that `folder` is mapped to, or itself.
    fn placed(&self, folder: &str) -> String {
        self.mapped.iter().find(|(from, _)| from == folder).map_or(folder, |(_, to)| to).to_owned()
    }

    fn folder(&self, tree: &dyn FileTree, target: &Path) -> Result<()> {
        let git = child(tree.root(), ".git");
        disk::stage(tree, tree.root(), target, &mut |path, entry, at| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_code = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("rb"));
            Ok(match entry {
                _ if path == git || is_code && self.code == Code::Installed => Choice::Nothing,
                // Several names that are not UTF-8 may be read as the same one. No level can name them.
                _ if name.contains(char::REPLACEMENT_CHARACTER) && at.symlink_metadata().is_ok() => Choice::Nothing,
                Entry::File(id) => Choice::Content(self.content(name, tree.read(*id)?)),
                Entry::Folder | Entry::Link(_) | Entry::Submodule(_) => Choice::Entry,
            })
        })?;
        Ok(())
    }

    /// Writes the hiera.yaml at `path` to the same place below `target`, with links to its neighbours on disk and to
    /// those of its parent folders, since datadirs are relative to it.
    fn neighbours(&self, path: &Path, target: &Path) -> Result<PathBuf> {
        let (mut from, mut to) = (PathBuf::from("/"), target.to_owned());
        for part in path.components().filter(|part| matches!(part, Component::Normal(_))) {
            fs::create_dir_all(&to)?;
            // A folder that cannot be listed is passed through.
            for entry in fs::read_dir(&from).into_iter().flatten() {
                let entry = entry?;
                if entry.file_name() != part.as_os_str() {
                    link(&entry.path(), &to.join(entry.file_name()))?;
                }
            }
            from.push(part);
            to.push(part);
        }
        disk::create(&to, &self.content("hiera.yaml", fs::read(path)?))?;
        Ok(to)
    }

    fn content(&self, name: &str, content: Vec<u8>) -> Vec<u8> {
        if self.mapped.is_empty() || !(name.contains("hiera") || name == "environment.conf") {
            return content;
        }
        match String::from_utf8(content) {
            Ok(text) => self.mapped.iter().fold(text, |text, (from, to)| text.replace(from, to)).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }
}
