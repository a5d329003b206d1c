//! The files and backends that a revision reads: which files are data of some node, and whether anything is read at
//! all.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::diagnostic::Place;
use crate::fleet::levels::ResolvedLevels;
use crate::fleet::levels::class_levels::ClassLevels;
use crate::fleet::revision::Revision;
use crate::fleet::revision::replaced::ReadFile;
use crate::hiera::backend::eyaml::NoKey;
use crate::hiera::backend::{Backend, DataFile, DeclaredFunction, Folder, Runner};
use crate::hiera::hierarchy::{Content, Data, Level, Location};
use crate::hiera::scope::ENVIRONMENT;
use crate::node::NodeSet;
use crate::tree::{Target, TreeError, follow};
use crate::value::Value;

impl Revision {
    /// Returns true if files of the repository that differ at `paths` surely change no answer: all of them are data
    /// files, and no node's hierarchy leads to one, or would if it existed.
    pub fn is_unaffected_by(&self, paths: &BTreeSet<String>) -> bool {
        let environment = &self.environment;
        let runs_programs = environment.options.backends.values().any(|declared| {
            // A program may read any file.
            matches!(declared, DeclaredFunction::Command(_))
        });
        !environment.is_hiera3
            && !runs_programs
            && environment.quota.largest().is_none()
            && paths.iter().all(|path| environment.has_only_data_at(path))
            && self.levels.iter().all(|levels| levels.nodes_affected_by(paths).is_empty())
            && self.unassigned.as_ref().is_none_or(|unassigned| unassigned.is_unaffected_by(paths))
    }

    /// Returns true if names that no data has may fail on some node, as all do while a file or a `hiera.yaml` is
    /// broken.
    pub fn may_fail_for_all_names(&self) -> bool {
        let is_broken = |location: &Location| match location {
            Location::Path { content: Content::File(_, file), .. } => file.fault().is_some() || file.is_no_hash(),
            Location::Path { content: Content::Unreadable(_), .. } => true,
            _ => false,
        };
        let has_no_config = |layer| self.environment.layer_of(&layer).is_some_and(|layer| layer.config.is_err());
        self.environment.layer_ids().any(has_no_config)
            || self.classes().any(|(class, _)| class.part.levels.is_err() || class.locations().any(is_broken))
            || self.unassigned.as_ref().is_some_and(|unassigned| unassigned.may_fail_for_all_names())
    }

    /// Returns the `paths` of the repository that the hierarchy of some node leads to.
    pub fn reached<'p>(&self, paths: &'p BTreeSet<String>) -> Result<BTreeSet<&'p str>, TreeError> {
        let mut found = BTreeSet::new();
        for levels in &self.levels {
            let classes = classes_of(levels, &levels.nodes_affected_by(paths));
            let class_paths: HashSet<&str, RandomState> = classes.iter().flat_map(|class| class.paths()).collect();
            let folders: Vec<&Folder> = classes.iter().flat_map(|class| class.folders()).collect();
            let is_read = |path: &str| class_paths.contains(path) || folders.iter().any(|folder| folder.has(path));
            found.extend(paths.iter().map(String::as_str).filter(|path| is_read(path)));
            // A path of the hierarchy may lead to the others through links.
            let others = paths.iter().filter(|path| !found.contains(path.as_str())).cloned().collect();
            let classes = classes_of(levels, &levels.nodes_affected_by(&others));
            let class_paths: HashSet<&str, RandomState> = classes.iter().flat_map(|class| class.paths()).collect();
            for path in class_paths.into_iter().filter(|path| !path.starts_with('/')) {
                if let Target::File(at, _) = follow(&*self.environment.tree, path)? {
                    found.extend(paths.get(&at).map(String::as_str));
                }
            }
        }
        Ok(found)
    }

    /// Returns true if a function in Ruby may read the file at `path` for some node. It may find other keys there
    /// than the root keys.
    pub fn functions_may_read(&self, path: &str) -> bool {
        let is_bridged = |declared: &DeclaredFunction| match declared {
            DeclaredFunction::Command(command) => matches!(command.runner, Runner::Bridge(_)),
            _ => false,
        };
        let has_bridge = self.environment.options.backends.values().any(is_bridged);
        has_bridge && self.any_class_at(path, |class| class.may_read(path))
    }

    /// Returns true if a level reads the file at `path` itself for some node.
    pub fn has_file_at(&self, path: &str) -> bool {
        self.any_class_at(path, |class| class.has_file_at(path))
    }

    fn any_class_at(&self, path: &str, matches: impl Fn(&ClassLevels) -> bool) -> bool {
        let changed = BTreeSet::from([path.to_owned()]);
        self.levels.iter().any(|levels| {
            let classes = classes_of(levels, &levels.nodes_affected_by(&changed));
            classes.iter().any(|class| matches(class))
        })
    }

    /// Returns the paths of all files that some node's hierarchy leads to.
    pub fn reached_files(&self) -> BTreeSet<Arc<str>> {
        let path = |location: &Location| match location {
            Location::Path { path, content: Content::File(..) | Content::Other, .. } => Some(path.clone()),
            _ => None,
        };
        self.classes().flat_map(|(class, _)| class.locations().filter_map(path)).collect()
    }

    /// Returns the data files that some node's hierarchy leads to; those with the same content once.
    pub fn distinct_files(&self) -> impl Iterator<Item = &Arc<DataFile>> {
        let mut seen: HashSet<usize, RandomState> = HashSet::default();
        let files = self.classes().flat_map(|(class, _)| class.files().map(|(_, file)| file));
        files.filter(move |file| seen.insert(Arc::as_ptr(file).addr()))
    }

    /// Returns the names of the levels that lead to the file at `path` on some node.
    pub fn levels_of_file(&self, path: &str) -> BTreeSet<Arc<str>> {
        let has_file = |level: &&Arc<Level>| {
            level.locations.iter().any(|location| location.file().is_some_and(|(other, _)| **other == *path))
        };
        self.classes().flat_map(|(class, _)| class.levels().filter(has_file).map(|level| level.name.clone())).collect()
    }

    /// Returns the paths of all data files that levels may read, and of those that some node's hierarchy leads to.
    pub fn data_files(&self) -> BTreeSet<Arc<str>> {
        let mut files = self.reached_files();
        files.extend(self.repository_keys.files().map(Arc::from));
        files
    }

    /// Returns the nodes whose environments have no folder, by environment; empty if there is only one environment.
    pub fn nodes_without_folder(&self) -> BTreeMap<Arc<str>, NodeSet> {
        let mut missing = self.nodes_by_environment();
        missing.retain(|name, _| self.environment.root(&Some(name.clone())).is_none());
        missing
    }

    /// Returns the nodes by environment; empty if there is only one, so that profiles need not be read again for its
    /// name.
    pub fn nodes_by_environment(&self) -> BTreeMap<Arc<str>, NodeSet> {
        if self.environment.folders().is_none() {
            return BTreeMap::new();
        }
        let values = self.fleet.values_of(ENVIRONMENT, &self.fleet.all()).known.into_iter();
        values.map(|(value, nodes)| (value.as_ref().map(Value::to_s).unwrap_or_default().into(), nodes)).collect()
    }

    /// Returns the nodes on which no level of any layer could be read.
    pub fn nodes_without_data(&self) -> NodeSet {
        let mut rest = self.fleet.all();
        for levels in &self.levels {
            for (class, nodes) in levels.classes.iter().zip(levels.partition.classes()) {
                if class.reads_data() {
                    rest = rest.difference(nodes);
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        rest
    }

    /// Returns true if some level of some layer can be read on some node.
    pub fn reads_data(&self) -> bool {
        self.levels.iter().flat_map(|levels| &levels.classes).any(|class| class.reads_data())
    }

    /// Returns true if some level asks a command.
    pub(in crate::fleet) fn asks_commands(&self) -> bool {
        let mut levels = self.levels.iter().flat_map(|levels| &levels.classes).flat_map(|class| class.levels());
        levels.any(|level| level.asks_command())
    }

    /// Returns the levels of encrypted data that have files but no key here to decrypt them: their nodes by place,
    /// name and reason.
    pub fn keyless_levels(&self) -> BTreeMap<(Place, Arc<str>, NoKey), NodeSet> {
        let mut found: BTreeMap<_, NodeSet> = BTreeMap::new();
        let is_file = |location: &Location| location.file().is_some();
        for (class, nodes) in self.classes() {
            for level in class.levels() {
                let is_encrypted = matches!(level.backend, Backend::Eyaml(_)) && level.locations.iter().any(is_file);
                let reason = is_encrypted.then(|| self.environment.keys.missing_reason(&level.options)).flatten();
                if let Some(reason) = reason {
                    found.entry((level.place.clone(), level.name.clone(), reason)).or_default().union_with(nodes);
                }
            }
        }
        found
    }

    /// Returns the nodes for which each level has data at a location, or answers without one, by the level's place
    /// and name.
    pub fn nodes_by_level(&self) -> BTreeMap<(Place, Arc<str>), NodeSet> {
        let mut found: BTreeMap<_, NodeSet> = BTreeMap::new();
        for (class, nodes) in self.classes() {
            for level in class.levels().filter(|level| !level.locations.iter().all(Location::is_absent)) {
                found.entry((level.place.clone(), level.name.clone())).or_default().union_with(nodes);
            }
        }
        found
    }

    /// Returns the data files that functions in Ruby may read, by path.
    pub fn files_of_functions(&self) -> Result<BTreeMap<Arc<str>, ReadFile>, TreeError> {
        let mut folders: HashMap<&Folder, NodeSet, RandomState> = HashMap::default();
        for (class, nodes) in self.classes() {
            for folder in class.levels().filter_map(|level| level.data_read()).flat_map(Data::folders) {
                folders.entry(folder).or_default().union_with(nodes);
            }
        }
        let mut found: BTreeMap<Arc<str>, ReadFile> = BTreeMap::new();
        if folders.is_empty() {
            return Ok(found);
        }
        for (path, id) in &self.environment.data_files()?.files {
            for (_, nodes) in folders.iter().filter(|(folder, _)| folder.has(path)) {
                let read = match found.get_mut(&**path) {
                    Some(read) => read,
                    None => found
                        .entry(path.as_str().into())
                        .or_insert(ReadFile { file: self.environment.data_file(path, *id)?, nodes: NodeSet::new() }),
                };
                read.nodes.union_with(nodes);
            }
        }
        Ok(found)
    }

    /// Returns all classes of all resolved levels with their nodes.
    fn classes(&self) -> impl Iterator<Item = (&Arc<ClassLevels>, &NodeSet)> {
        self.levels.iter().flat_map(|levels| levels.classes.iter().zip(levels.partition.classes()))
    }
}

impl ClassLevels {
    /// Returns the existing paths, as the hierarchy names them.
    fn paths(&self) -> impl Iterator<Item = &str> {
        self.locations().filter_map(|location| match location {
            Location::Path { path, content: Content::File(..) | Content::Other | Content::Unreadable(_), .. } => {
                Some(&**path)
            }
            _ => None,
        })
    }

    /// Returns true if a level reads the file at `path` itself.
    fn has_file_at(&self, path: &str) -> bool {
        self.files().any(|(file, _)| **file == *path)
    }

    /// Returns true if a function in Ruby may read the file at `path`.
    fn may_read(&self, path: &str) -> bool {
        self.folders().any(|folder| folder.has(path))
    }

    /// Returns the folders in which a function in Ruby may read files.
    fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.levels().filter_map(|level| level.data_read()).flat_map(Data::folders)
    }

    /// Returns true if some level can be read.
    fn reads_data(&self) -> bool {
        let is_declared = |level: &Level| {
            matches!(level.backend, Backend::Declared(DeclaredFunction::Values(_) | DeclaredFunction::Command(_)))
        };
        let is_read = |location: &Location| {
            matches!(location, Location::Path { content: Content::File(..) | Content::Other, .. })
        };
        let is_absent = |level: &Level| matches!(level.backend, Backend::Absent);
        self.levels().any(|level| is_declared(level) || !is_absent(level) && level.locations.iter().any(is_read))
    }
}

/// Returns the classes of some of `nodes`.
fn classes_of<'l>(levels: &'l ResolvedLevels, nodes: &NodeSet) -> Vec<&'l Arc<ClassLevels>> {
    let (classes, partition) = (&levels.classes, &levels.partition);
    if nodes.len() < classes.len() {
        let numbers: BTreeSet<usize> = nodes.iter().map(|node| partition.class_of(node)).collect();
        return numbers.into_iter().map(|number| &classes[number]).collect();
    }
    let has_some = |of_class: &NodeSet| !of_class.intersection(nodes).is_empty();
    let classes = classes.iter().zip(partition.classes()).filter(|(_, of_class)| has_some(of_class));
    classes.map(|(class, _)| class).collect()
}
