//! A configuration resolved for one node: its files, in the order in which they are searched.
//!
//! Source: `HieraConfigV5#create_configured_data_providers` and `pops/lookup/location_resolver.rb`.

mod locations;
mod reads;
mod undefined;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::LookupError;
use super::backend::eyaml::Keys;
use super::backend::{Backend, Backends, ConvertedFiles, DataFile, DataFiles, Format, KeyQuota};
use super::config::{Config, FunctionKind, LevelConfig, PlacedText};
use super::interpolation::{Context, NameStack, Undefined, interpolate, interpolate_text};
use super::scope::Scope;
use crate::diagnostic::{Diagnostic, Place, Subject};
use crate::puppet::glob::glob_of_many;
use crate::puppet::pathname::join;
use crate::puppet::{Puppet, Ruby};
use crate::tree::{Astray, BlobId, ContentIds, FileTree, Target, TreeError, below, follow};
use crate::value::{Notation, Value};

pub use reads::{Data, Found, Reads};

/// The levels of one layer for one node.
#[derive(Debug, Clone, Default)]
pub struct Hierarchy {
    /// The levels, highest priority first.
    pub levels: Vec<Arc<Level>>,
    /// The levels of a module's `default_hierarchy`, if it has one.
    pub default_levels: Option<Vec<Arc<Level>>>,
    /// The findings about the hierarchy: variables that are undefined in a path, links that leave the repository.
    pub diagnostics: Vec<Diagnostic>,
}

impl Hierarchy {
    /// Returns the levels, followed by those of the `default_hierarchy`.
    pub fn all_levels(&self) -> impl Iterator<Item = &Level> {
        self.levels.iter().chain(self.default_levels.iter().flatten()).map(|level| &**level)
    }

    /// Assembles the hierarchy of `config` from its parts.
    pub fn assemble<'p>(
        config: &Config,
        parts: impl IntoIterator<Item = &'p HierarchyPart>,
    ) -> Result<Hierarchy, LookupError> {
        config.sound()?;
        let default_levels = config.default_hierarchy.as_ref().map(|_| Vec::new());
        let mut hierarchy = Hierarchy { default_levels, ..Hierarchy::default() };
        for (at, part) in parts.into_iter().enumerate() {
            let levels = part.levels.iter().flatten().cloned();
            part.levels.as_ref().map_err(Clone::clone)?;
            match &mut hierarchy.default_levels {
                Some(defaults) if at >= config.levels.len() => defaults.extend(levels),
                _ => hierarchy.levels.extend(levels),
            }
            hierarchy.diagnostics.extend(part.diagnostics.iter().cloned());
        }
        // Hiera 3 has a separate cache for each backend.
        if config.hiera3.is_none() {
            hierarchy.read_once(config);
        }
        Ok(hierarchy)
    }

    /// Has each file read in the format of the first level that uses it: Puppet caches files by path, whichever
    /// function asks next. In version 3, a datadir that is written differently makes a different path.
    fn read_once(&mut self, config: &Config) {
        let mut read: HashMap<(Option<&str>, Arc<str>), Arc<DataFile>> = HashMap::new();
        let levels = self.levels.iter_mut().chain(self.default_levels.iter_mut().flatten());
        for (level, written) in levels.zip(config.all_levels()) {
            let datadir = (config.version == 3).then_some(&*written.datadir);
            for at in 0..level.locations.len() {
                let Some((path, file)) = level.locations[at].file() else { continue };
                let first = read.entry((datadir, path.clone())).or_insert_with(|| file.clone());
                if !Arc::ptr_eq(first, file)
                    && let Location::Path { content: Content::File(_, file), .. } =
                        &mut Arc::make_mut(level).locations[at]
                {
                    *file = first.clone();
                }
            }
        }
    }
}

/// A part of a hierarchy that is resolved separately: a level or, in version 3, all levels.
#[derive(Debug, Clone)]
pub struct HierarchyPart {
    /// The levels, or the reason why there is no hierarchy. The reason of the first part that has one is reported.
    pub levels: Result<Vec<Arc<Level>>, LookupError>,
    /// The findings about this part.
    pub diagnostics: Vec<Diagnostic>,
}

impl HierarchyPart {
    /// Returns an empty part, for nodes of another environment.
    pub fn elsewhere() -> HierarchyPart {
        HierarchyPart { levels: Ok(Vec::new()), diagnostics: Vec::new() }
    }

    /// Returns the number of parts that the hierarchy of `config` has.
    pub fn count(config: &Config) -> usize {
        match config {
            Config { fault: Some(_), .. } => 0,
            Config { version: 3, .. } | Config { hiera3: Some(_), .. } => 1,
            _ => config.all_levels().count(),
        }
    }

    /// Resolves the part `number` of `config`, which is in the folder `root`, for the node with `scope`.
    pub fn resolve(config: &Config, number: usize, root: &str, scope: &dyn Scope, source: Source<'_>) -> HierarchyPart {
        let mut resolver = Resolver::new(config, root, scope, source);
        let levels = match config.all_levels().nth(number) {
            Some(level) => {
                resolver.level(level).map(|level| resolver.existing(level).into_iter().map(Arc::new).collect())
            }
            None => Ok(Vec::new()),
        };
        HierarchyPart { levels, diagnostics: resolver.diagnostics }
    }
}

/// One level.
#[derive(Debug, Clone)]
pub struct Level {
    /// Its name.
    pub name: Arc<str>,
    /// Its place in hiera.yaml.
    pub place: Place,
    /// The kind of its function.
    pub kind: FunctionKind,
    /// The name of its function.
    pub function: Arc<str>,
    /// The implementation of its function.
    pub backend: Backend,
    /// Its locations, or a single [`Location::Whole`] if it has none.
    pub locations: Vec<Location>,
    /// The interpolated options.
    pub options: Value,
    /// The part of the tree that a bridged function reads.
    pub reads: Option<Found>,
}

/// A place of a level's data.
#[derive(Debug, Clone)]
pub enum Location {
    /// The function is called without a location.
    Whole,
    /// A path.
    Path {
        /// As written in hiera.yaml.
        original: Arc<str>,
        /// As resolved: relative if it is in the repository, else absolute.
        path: Arc<str>,
        /// Its content.
        content: Content,
    },
    /// A URI, which always exists.
    Uri {
        /// As written in hiera.yaml.
        original: Arc<str>,
        /// As resolved.
        uri: Arc<str>,
    },
}

impl Location {
    /// Returns true if it is a path at which nothing exists.
    pub fn is_absent(&self) -> bool {
        matches!(self, Location::Path { content: Content::Absent, .. })
    }

    /// Returns the path and the data file of a built-in function, or `None` if there is none.
    pub fn file(&self) -> Option<(&Arc<str>, &Arc<DataFile>)> {
        match self {
            Location::Path { path, content: Content::File(_, file), .. } => Some((path, file)),
            _ => None,
        }
    }

    /// Returns the path or the URI, as resolved, or `None` if the location is neither.
    pub fn place(&self) -> Option<&Arc<str>> {
        match self {
            Location::Whole => None,
            Location::Path { path: place, .. } | Location::Uri { uri: place, .. } => Some(place),
        }
    }
}

/// The content of a path.
#[derive(Debug, Clone)]
pub enum Content {
    /// Nothing.
    Absent,
    /// A file that is not the data file of a built-in function.
    Other,
    /// A data file.
    File(BlobId, Arc<DataFile>),
    /// Something that cannot be read: a folder, a dangling link.
    Unreadable(LookupError),
}

/// The folder that replaces a datadir outside the repository.
#[derive(Clone)]
pub enum Datadir {
    /// A folder of the repository's tree.
    Folder(String),
    /// A folder on disk.
    Disk(String),
    /// No folder: nothing is there.
    None,
}

/// The surroundings of a hierarchy, apart from the node.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The repository's files.
    pub repository: &'a dyn FileTree,
    /// The folder of the environment in the repository.
    pub environment: &'a str,
    /// The files around the layer's hiera.yaml: the repository's, or others with absolute paths.
    pub layer: &'a dyn FileTree,
    /// The disk, for datadirs that the settings redirect there.
    pub disk: &'a dyn FileTree,
    /// Parsed files.
    pub files: &'a DataFiles,
    /// The limit on the number of their keys.
    pub quota: &'a KeyQuota,
    /// The files of the repository that differ in a checkout.
    pub converted: &'a ConvertedFiles,
    /// Paths as written in the settings, and the folders that replace them; relative ones start at the repository's
    /// root.
    pub datadirs: &'a [(String, Datadir)],
    /// Declared functions.
    pub backends: &'a Backends,
    /// The folders of the modules in the repository, by name.
    pub modules: &'a BTreeMap<Arc<str>, String>,
    /// The known ids of folders in the repository.
    pub contents: &'a ContentIds,
    /// The keys of encrypted data.
    pub keys: &'a Keys,
    /// The version of Puppet.
    pub puppet: Puppet,
    /// The Ruby that runs Puppet.
    pub ruby: Ruby,
}

/// The files that a configuration leads to, for one node.
pub(super) struct Resolver<'a> {
    config: &'a Config,
    root: &'a str,
    scope: &'a dyn Scope,
    source: Source<'a>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(config: &'a Config, root: &'a str, scope: &'a dyn Scope, source: Source<'a>) -> Resolver<'a> {
        Resolver { config, root, scope, source, diagnostics: Vec::new() }
    }

    /// Returns the findings about everything that was resolved.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// Returns the way in which the Ruby formats values.
    pub(super) fn notation(&self) -> Notation {
        self.source.ruby.notation()
    }

    fn context<'c>(&'c self, stack: &'c NameStack<'c>, undefined: Undefined) -> Context<'c> {
        Context { scope: self.scope, resolver: None, stack, undefined, notation: self.notation() }
    }

    /// Returns the level, unless it is implied and its file does not exist.
    fn existing(&self, mut level: Level) -> Option<Level> {
        if self.config.implied {
            level.locations.retain(|location| !location.is_absent());
        }
        Some(level).filter(|level| !self.config.implied || !level.locations.is_empty())
    }

    fn level(&mut self, level: &LevelConfig) -> Result<Level, LookupError> {
        let stack = NameStack::default();
        let undefined = Undefined::in_data(self.source.puppet);
        let mut datadir = join(self.root, &level.datadir);
        if level.version4.is_none() {
            datadir = interpolate_text(&datadir, &self.context(&stack, undefined))
                .map_err(|e| self.blame(e, &level.place))?;
        }
        let has_path = level.locations.paths().is_some();
        let has_options = level.options.as_hash().is_some_and(|options| !options.is_empty());
        let backend = self.backend(level, has_path && !has_options);
        let locations = self.locations(level, &datadir, &backend)?;
        let options =
            interpolate(&level.options, &self.context(&stack, undefined)).map_err(|e| self.blame(e, &level.place))?;
        let reads = self.reads(&level.function.name, &backend, &datadir, &locations);
        Ok(Level {
            name: level.name.clone(),
            place: level.place.clone(),
            kind: level.function.kind,
            function: level.function.name.clone(),
            backend,
            locations,
            options,
            reads,
        })
    }

    /// Returns the backend of a level. `only_path` is true if its function is passed nothing but a path.
    pub(super) fn backend(&mut self, level: &LevelConfig, only_path: bool) -> Backend {
        let backend = Backend::of(&level.function, self.source.backends, only_path, &self.config.path);
        if matches!(backend, Backend::Absent) {
            let name = &level.function.name;
            let text =
                format!("the backend '{name}' of Hiera 3 counts as not installed: '{}' finds nothing", level.name);
            let warning = Diagnostic::warning("absent-backend", Some(level.place.clone()), text);
            self.diagnostics.push(warning.about(Subject::Backend(name.clone())));
        }
        backend
    }

    /// Has the configuration named in an error about an undefined variable or a method, as Puppet does. Other errors
    /// keep their text.
    pub(super) fn blame(&self, error: LookupError, place: &Place) -> LookupError {
        let error = match error.subject.as_deref() {
            Some(Subject::Variable(name)) => self.config.undefined_variable(name),
            Some(Subject::Method) => LookupError::bare(format!("{} (file: {})", &*error.text, self.config.path)),
            _ => error,
        };
        error.at(place.clone())
    }

    fn expand(
        &mut self,
        declared: &PlacedText,
        pattern: &str,
        backend: &Backend,
    ) -> Result<Vec<Location>, LookupError> {
        let (tree, pattern) = match self.mount(refuse_null_byte(declared, pattern)?) {
            Mount::Tree(tree, pattern) => (tree, pattern),
            Mount::Outside(_) if self.begins_with_empty_variables(declared, pattern) => return Ok(Vec::new()),
            Mount::Outside(why) => {
                self.warn_outside(declared, &why);
                return Ok(Vec::new());
            }
            Mount::Nothing => return Ok(Vec::new()),
        };
        let found = glob_of_many(tree, &pattern, self.config.glob_count())
            .map_err(|e| LookupError::from(e).at(declared.place.clone()))?;
        let original = PlacedText { text: pattern.as_str().into(), place: declared.place.clone() };
        found.outside.iter().for_each(|why| self.warn_outside(declared, why));
        found.paths.iter().map(|path| self.location_in(&original, tree, path, backend, true)).collect()
    }

    /// Returns the location at `path`, which is absolute or relative to the root of the repository.
    pub(super) fn location_at(
        &mut self,
        declared: &PlacedText,
        path: &str,
        backend: &Backend,
    ) -> Result<Location, LookupError> {
        match self.mount(refuse_null_byte(declared, path)?) {
            Mount::Tree(tree, path) => self.location_in(declared, tree, &path, backend, false),
            Mount::Outside(_) if self.begins_with_empty_variables(declared, path) => Ok(absent(declared, path)),
            Mount::Outside(why) => {
                self.warn_outside(declared, &why);
                Ok(absent(declared, path))
            }
            Mount::Nothing => Ok(absent(declared, path)),
        }
    }

    fn warn_outside(&mut self, declared: &PlacedText, astray: &Astray) {
        self.diagnostics.push(outside_repository(declared.place.clone(), astray));
    }

    /// Returns the location at `path` in `tree`. A path that a glob found exists even if it is a dangling link.
    fn location_in(
        &mut self,
        declared: &PlacedText,
        files: &dyn FileTree,
        path: &str,
        backend: &Backend,
        is_globbed: bool,
    ) -> Result<Location, LookupError> {
        let reads = match backend {
            Backend::Files(format) | Backend::Eyaml(format) => Some(format.read_by(self.source.ruby)),
            Backend::Declared(_) | Backend::Fails(_) | Backend::Absent => None,
        };
        let unread = |error: String| match reads {
            Some(_) => Content::Unreadable(LookupError::bare(error)),
            // The function decides what to do with a path that exists.
            None => Content::Other,
        };
        let content = match follow(files, path).map_err(|e| unreadable(&e))? {
            Target::File(real, id) => match reads {
                Some(format) => {
                    Content::File(id, self.parsed_file(files, (&real, id), format).map_err(|e| unreadable(&e))?)
                }
                None => Content::Other,
            },
            Target::Folder(_) => unread(format!("Is a directory @ io_fread - {path}")),
            Target::Dangling(_) if is_globbed => unread(format!("No such file or directory @ rb_file_s_stat - {path}")),
            Target::Loop(_) if is_globbed => {
                unread(format!("Too many levels of symbolic links @ rb_file_s_stat - {path}"))
            }
            Target::Absent => Content::Absent,
            // On disk, a dangling link leads nowhere.
            Target::Dangling(_) if !files.root().is_empty() => Content::Absent,
            // A deployment may put something there.
            Target::Dangling(why) | Target::Loop(why) | Target::Outside(why) => {
                self.warn_outside(declared, &why);
                Content::Absent
            }
        };
        Ok(Location::Path { original: declared.text.clone(), path: path.into(), content })
    }

    /// Returns the file at `path` of `files`, with links followed, as Puppet reads it.
    fn parsed_file(
        &self,
        files: &dyn FileTree,
        (path, id): (&str, BlobId),
        format: Format,
    ) -> Result<Arc<DataFile>, TreeError> {
        let file = self.source.quota.read(self.source.files, files, id, format)?;
        let is_in_repository = std::ptr::addr_eq(files, self.source.repository);
        if is_in_repository { self.source.converted.instead_of(files, (path, id), file) } else { Ok(file) }
    }

    /// Returns the tree that contains a path, and its place there. The settings take precedence. Otherwise an
    /// absolute path is in the files around the layer, and a relative one in the repository.
    fn mount(&self, path: &str) -> Mount<'a> {
        for (prefix, target) in self.source.datadirs {
            let stack = NameStack::default();
            let Ok(prefix) = interpolate_text(prefix, &self.context(&stack, Undefined::Empty)) else { continue };
            let Some(rest) = path.strip_prefix(prefix.trim_end_matches('/')) else { continue };
            if !rest.is_empty() && !rest.starts_with('/') {
                continue;
            }
            let rest = rest.trim_start_matches('/');
            return match target {
                Datadir::Folder(folder) => Mount::Tree(self.source.repository, join(folder, rest)),
                Datadir::Disk(folder) => Mount::Tree(self.source.disk, join(folder, rest)),
                Datadir::None => Mount::Nothing,
            };
        }
        if !path.starts_with('/') {
            return Mount::Tree(self.source.repository, path.to_owned());
        }
        if below(self.source.layer.root(), path).is_some() {
            return Mount::Tree(self.source.layer, path.to_owned());
        }
        Mount::Outside(Astray::new(path, "is an absolute path"))
    }
}

/// Returns the warning about a path in hiera.yaml that leads out of the repository.
pub(super) fn outside_repository(place: Place, astray: &Astray) -> Diagnostic {
    let how = astray.to_string();
    let text = format!("{how}: taken as absent");
    let subject = Subject::Outside { path: astray.path.as_str().into(), how: how.into() };
    Diagnostic::warning("outside-repository", Some(place), text).about(subject)
}

enum Mount<'a> {
    Tree(&'a dyn FileTree, String),
    Outside(Astray),
    Nothing,
}

fn absent(declared: &PlacedText, path: &str) -> Location {
    Location::Path { original: declared.text.clone(), path: path.into(), content: Content::Absent }
}

/// Returns `path`, unless it contains a NUL, which Ruby refuses.
fn refuse_null_byte<'p>(declared: &PlacedText, path: &'p str) -> Result<&'p str, LookupError> {
    if path.contains('\0') {
        return Err(LookupError::puppet("pathname contains null byte").at(declared.place.clone()));
    }
    Ok(path)
}

fn unreadable(error: &TreeError) -> LookupError {
    LookupError::unknown(error)
}
