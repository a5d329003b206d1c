//! One level of a hierarchy as declared.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Function, Locations, PlacedText};
use crate::diagnostic::Place;
use crate::hiera::interpolation::variables;
use crate::value::Value;

/// One entry of `hierarchy`, with the defaults filled in.
#[derive(Debug, Clone)]
pub struct LevelConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Its place.
    pub place: Place,
    /// The function that finds its data.
    pub function: Function,
    /// The folder that its paths are relative to, as written.
    pub datadir: Arc<str>,
    /// Its locations, as written.
    pub locations: Locations,
    /// The options of the function, as written: a hash.
    pub options: Value,
    /// The rules of version 4 where they differ.
    pub version4: Option<Version4>,
}

/// The ways to write the node's environment in paths.
const ENVIRONMENT_EXPRESSIONS: [&str; 3] = ["%{environment}", "%{::environment}", "%{server_facts.environment}"];

impl LevelConfig {
    /// Returns the folder of one of the level's paths, as written, and the rest of the path. The folder is the
    /// datadir, or that of the node's environment if the path leads there from the datadir.
    pub fn located<'p>(&self, path: &'p str) -> (String, &'p str) {
        let of_environment = |(at, _)| {
            let end = at + 1 + path[at + 1..].find('/')?;
            let name = path[..at].rsplit('/').next()?;
            (ENVIRONMENT_EXPRESSIONS.contains(&name) && !path[at..end].contains("%{")).then_some(end)
        };
        match path.match_indices('/').find_map(of_environment) {
            Some(end) if self.datadir.starts_with('/') => {
                (format!("{}/{}", self.datadir.trim_end_matches('/'), &path[..end]), &path[end + 1..])
            }
            _ => (self.datadir.to_string(), path),
        }
    }

    /// Returns the folders of the level's paths, as written.
    pub fn folders(&self) -> BTreeSet<String> {
        let paths = self.locations.paths().unwrap_or_default().iter().map(|path| &*path.text);
        let relative = paths.filter(|path| !path.starts_with('/'));
        let folders: BTreeSet<String> = relative.map(|path| self.located(path).0).collect();
        if folders.is_empty() { BTreeSet::from([self.datadir.to_string()]) } else { folders }
    }

    /// Returns the names of the variables in the level's paths, each with its place. Names may occur several times.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.variables_in(self.locations.templates())
    }

    /// Returns the names of the variables in one of the level's paths, each with its place.
    pub fn variables_of<'c>(&'c self, path: &'c PlacedText) -> impl Iterator<Item = (&'c str, &'c Place)> {
        self.variables_in(std::slice::from_ref(path))
    }

    fn variables_in<'c>(&'c self, paths: &'c [PlacedText]) -> impl Iterator<Item = (&'c str, &'c Place)> {
        let in_text = |text: &'c str, place| variables(text).into_iter().map(move |name| (name, place));
        let of_paths = paths.iter().flat_map(move |path| in_text(&path.text, &path.place));
        // The name for a mapped value is not a variable of a node.
        let mapped = self.locations.mapped();
        let is_mapped_name = move |name: &str| mapped.is_some_and(|mapped| mapped.name == name);
        let all = in_text(&self.datadir, &self.place).chain(of_paths).filter(move |(name, _)| !is_mapped_name(name));
        all.chain(mapped.map(|mapped| (&*mapped.variable.text, &mapped.variable.place)))
    }

    /// Returns true if another level finds the same data in the same files, wherever either of them is written.
    pub fn means_the_same(&self, other: &LevelConfig) -> bool {
        self.name == other.name
            && self.function == other.function
            && self.datadir == other.datadir
            && self.options == other.options
            && self.version4 == other.version4
            && self.locations.mean_the_same(&other.locations)
    }
}

/// Version 4's rules. It does not interpolate datadirs, adds an extension to paths, and treats undefined variables in
/// paths as errors where it does so in data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version4 {
    /// The extension that is added to each path.
    pub extension: &'static str,
}
