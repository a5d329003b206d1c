//! Reads node profiles from files.
//!
//! [`ProfileFiles`] is a [`ProfileSource`] over files, folders and globs. It finds the files, divides them into chunks
//! that threads parse in parallel, and stores the parsed profiles in the [`Cache`] for the next run. A file that
//! changes after it was first read is an error, so that all profiles are from the same state.

mod cached;
mod chunks;
mod file;
mod find;
mod line_chunks;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foldhash::fast::RandomState;

use crate::disk::SMALL;
use crate::node::{
    Batch, Form, NodeProfile, ProfileError, ProfilePlace, ProfileReader, ProfileSource, ReadProfiles, Wanted,
};
use crate::pipeline::cache::Cache;
use crate::value::Selection;
use crate::workers::Workers;

pub use find::{check_there, files, files_in_tree};

use chunks::{Chunk, Chunks};
use file::ProfileFile;
use find::ProfilePath;

/// A failure to find the files of node profiles.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct FindError(pub(in crate::inventory) String);

/// The environment of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentOfNodes {
    /// The one that the profile names, or else this one.
    Declared(Arc<str>),
    /// This one, whatever their profile names.
    Fixed(Arc<str>),
}

/// Node profiles in files, in the state in which they are first read.
pub struct ProfileFiles {
    /// The paths that were searched.
    paths: Vec<PathBuf>,
    /// The top of the tree that nothing may lead out of.
    within: Option<PathBuf>,
    /// The files that lead out of it or of their folder.
    refused: Vec<ProfileError>,
    files: Vec<ProfileFile>,
    /// The numbers of the files at each path. Paths may share files.
    at_paths: Vec<Vec<u32>>,
    are_small: OnceLock<bool>,
    environment: EnvironmentOfNodes,
    workers: Workers,
    cache: Option<Arc<Cache>>,
}

impl ProfileFiles {
    /// Finds the profiles at `paths`: files, folders and globs. A file at several paths is read once. The parsed
    /// profiles are stored in `cache`.
    pub fn find(
        paths: &[PathBuf],
        environment: EnvironmentOfNodes,
        workers: Workers,
        cache: Option<Arc<Cache>>,
    ) -> Result<ProfileFiles, FindError> {
        ProfileFiles::find_within(None, paths, environment, workers, cache)
    }

    /// Finds the profiles at `paths`. If they must stay within a tree, links that lead out of it or of their named
    /// folder become errors, and are not read.
    pub fn find_within(
        within: Option<&Path>,
        paths: &[PathBuf],
        environment: EnvironmentOfNodes,
        workers: Workers,
        cache: Option<Arc<Cache>>,
    ) -> Result<ProfileFiles, FindError> {
        let ProfileFileList { files, at_paths, refused } = found(within, paths)?;
        let (paths, within) = (paths.to_vec(), within.map(Path::to_owned));
        let are_small = OnceLock::new();
        Ok(ProfileFiles { paths, within, refused, files, at_paths, are_small, environment, workers, cache })
    }

    /// Returns true if the files are small enough that their contents are compared, too.
    fn are_small(&self) -> bool {
        let sizes = || self.files.iter().filter_map(ProfileFile::stamp).map(|stamp| stamp.size());
        *self.are_small.get_or_init(|| sizes().sum::<u64>() <= SMALL)
    }

    /// Records the hashes of the files that `of` selects, if the files are small.
    fn see_contents(&self, is_selected: impl Fn(&ProfileFile) -> bool + Sync) {
        if self.are_small() {
            let next = AtomicUsize::new(0);
            self.workers.at_most(self.files.len()).run("profiles", || {
                while let Some(file) = self.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_selected(file) {
                        file.see_content();
                    }
                }
            });
        }
    }

    /// Returns a cache name for the `wanted` parts of these files in their current state, or `None` if the state is
    /// ambiguous: a file cannot be read, or may still change unnoticed.
    fn name(&self, wanted: &Wanted) -> Option<String> {
        // The name contains `at_paths` because a path without files is an error, which the cache does not store.
        let mut name = format!("{:?} {} {:?}", self.environment, wanted.text(), self.at_paths);
        for file in &self.files {
            let real = file.real.as_os_str().as_encoded_bytes().escape_ascii();
            _ = write!(name, "\n{real} {:?} {:?}", file.form(), file.state()?);
        }
        Some(name)
    }

    /// Reads the files that may be read, from the cache if it has them.
    fn read_allowed(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let cache = self.cache.as_ref().filter(|_| !wanted.is_whole());
        // The hashes of whole files are recorded as they are read, unless the name needs them before.
        self.see_contents(|file| cache.is_some() || file.form() == Form::Lines);
        let Some((cache, name)) = cache.and_then(|cache| Some((cache, self.name(wanted)?))) else {
            return self.read_files(wanted, each);
        };
        cached::read(cache, &name, &self.workers, each).unwrap_or_else(|| {
            if !cache.keeps() {
                return self.read_files(wanted, each);
            }
            let keeper = cached::CacheWriter::default();
            let errors = self.read_files(wanted, &|batch| {
                keeper.add(&batch, wanted);
                each(batch);
            });
            if errors.is_empty() && self.is_current() {
                keeper.keep(cache, &name);
            }
            errors
        })
    }

    fn read_files(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let selection = wanted.of_document();
        let chunks = Mutex::new(Chunks::of(&self.files, self.workers.threads).enumerate());
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let errors: Mutex<BTreeMap<usize, Vec<ProfileError>>> = Mutex::default();
        let stage = self.workers.begin("reading node profiles", None);
        self.workers.run("profiles", || {
            while let Some((number, chunk)) = next() {
                let (profiles, faults) = self.read_chunk(chunk, (&selection, wanted));
                if !faults.is_empty() {
                    errors.lock().unwrap_or_else(PoisonError::into_inner).insert(number, faults);
                }
                stage.advance(profiles.len());
                each(Batch { number, profiles });
            }
        });
        let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        errors.into_values().flatten().chain(self.paths_without_profiles()).collect()
    }

    /// Returns errors for the paths without any profile or fault.
    fn paths_without_profiles(&self) -> impl Iterator<Item = ProfileError> {
        let has_content = |file: &u32| self.files[*file as usize].has_content.load(Ordering::Relaxed);
        let silent = self.paths.iter().zip(&self.at_paths).filter(move |(_, files)| !files.iter().any(has_content));
        silent.map(|(path, _)| ProfileError {
            path: path.to_string_lossy().into_owned(),
            line: None,
            text: "there is no node profile".to_owned(),
        })
    }

    /// Reads one chunk: its profiles with their places, and its errors.
    fn read_chunk(
        &self,
        chunk: Chunk,
        wanted: (&Selection, &Wanted),
    ) -> (Vec<(ProfilePlace, NodeProfile)>, Vec<ProfileError>) {
        let (mut profiles, mut errors) = (Vec::new(), Vec::new());
        let mut add = |file: usize, (found, faults): ReadProfiles| {
            if !found.is_empty() || !faults.is_empty() {
                self.files[file].has_content.store(true, Ordering::Relaxed);
            }
            let file = number_of(file);
            let place = |line| ProfilePlace { file, line };
            profiles.extend(found.into_iter().map(|(line, profile)| (place(line), self.in_environment(profile))));
            errors.extend(faults);
        };
        let failed = |error| (Vec::new(), vec![error]);
        match chunk {
            Chunk::Lines { file, lines_before, content } => {
                add(
                    file,
                    content.map_or_else(failed, |content| self.reader(file, wanted).lines(&content, lines_before)),
                );
            }
            Chunk::Files(files) => {
                for file in files {
                    let content = self.files[file].read(self.are_small());
                    add(file, content.map_or_else(failed, |content| self.reader(file, wanted).file(&content)));
                }
            }
        }
        (profiles, errors)
    }

    fn reader<'a>(&'a self, file: usize, (selection, wanted): (&'a Selection, &'a Wanted)) -> ProfileReader<'a> {
        let (EnvironmentOfNodes::Declared(environment) | EnvironmentOfNodes::Fixed(environment)) = &self.environment;
        ProfileReader::new(&self.files[file].shown, environment, selection).on(wanted)
    }

    /// Sets the environment of a profile.
    fn in_environment(&self, profile: NodeProfile) -> NodeProfile {
        match &self.environment {
            EnvironmentOfNodes::Declared(_) => profile,
            EnvironmentOfNodes::Fixed(environment) => NodeProfile { environment: environment.clone(), ..profile },
        }
    }
}

impl ProfileSource for ProfileFiles {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let mut errors = self.read_allowed(wanted, each);
        errors.extend(self.refused.iter().cloned());
        errors
    }

    fn is_current(&self) -> bool {
        let found = found(self.within.as_deref(), &self.paths).ok();
        let found = found.filter(|found| found.at_paths == self.at_paths && found.refused == self.refused);
        found.is_some_and(|found| self.files.iter().zip(&found.files).all(|(old, new)| old.is_same(new)))
    }

    fn has_changed(&self) -> bool {
        self.files.iter().any(|file| file.has_changed.load(Ordering::Relaxed))
    }

    fn path(&self, file: u32) -> String {
        self.files[file as usize].shown.clone()
    }

    fn declaration(&self, file: u32) -> usize {
        self.files[file as usize].path_number
    }
}

/// The profile files at some paths.
struct ProfileFileList {
    /// The files, each once.
    files: Vec<ProfileFile>,
    /// The numbers of the files at each path.
    at_paths: Vec<Vec<u32>>,
    /// The files that lead out of the tree or of their folder.
    refused: Vec<ProfileError>,
}

fn found(within: Option<&Path>, paths: &[PathBuf]) -> Result<ProfileFileList, FindError> {
    let mut numbers: HashMap<PathBuf, u32, RandomState> = HashMap::default();
    let mut found = ProfileFileList { files: Vec::new(), at_paths: Vec::new(), refused: Vec::new() };
    let mut search = find::Search::default();
    for (path_number, path) in paths.iter().enumerate() {
        let mut at_path = Vec::new();
        let (files, refused) = match within {
            Some(root) => find::confined(root, path, &mut search)?,
            None => find::by_user(path, &mut search)?,
        };
        found.refused.extend(refused.iter().map(leads_out));
        for file in files {
            let number = *numbers.entry(file.real.clone()).or_insert_with(|| {
                found.files.push(ProfileFile::new(file, path_number));
                number_of(found.files.len() - 1)
            });
            at_path.push(number);
        }
        found.at_paths.push(at_path);
    }
    Ok(found)
}

/// Returns the error for a file that is not read.
fn leads_out(file: &ProfilePath) -> ProfileError {
    ProfileError {
        path: file.path.to_string_lossy().into_owned(),
        line: None,
        text: "this leads out of its folder by a link, which a commit may have made: it is not read".to_owned(),
    }
}

/// Converts the number of a file; memory has no room for more files than fit into 32 bits.
fn number_of(file: usize) -> u32 {
    u32::try_from(file).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hiera::backend::DataFiles;

    fn source(path: &Path) -> ProfileFiles {
        let environment = EnvironmentOfNodes::Declared("production".into());
        let workers = Workers::of(1);
        ProfileFiles::find(&[path.to_owned()], environment, workers, None).unwrap()
    }

    #[test]
    fn contents_of_files_with_the_same_stamp_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.yaml");
        let wanted = Wanted::default();
        let at = |text: &str| {
            std::fs::write(&path, text).unwrap();
            source(&path)
        };
        let first = at("name: a\n");
        assert!(first.read(&wanted, &|_| ()).is_empty() && first.is_current());
        // An image of a file system may have another file at the same place with the same times.
        let second = at("name: b\n");
        second.files[0].set_state_of(&first.files[0]);
        second.see_contents(|_| true);
        assert_eq!(first.files[0].stamp(), second.files[0].stamp());
        assert_ne!(first.name(&wanted), second.name(&wanted), "the cache has it under another name");
        assert!(!first.files[0].is_same(&second.files[0]));
    }

    #[test]
    fn a_path_without_profiles_is_told_with_a_cache() {
        let (folder, cached) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [some, none] = ["some", "none"].map(|name| folder.path().join(name));
        for path in [&some, &none] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(some.join("n.yaml"), "name: n\n").unwrap();
        let errors = |paths: &[PathBuf]| {
            let cache = Arc::new(Cache::open(cached.path(), 1 << 20));
            let environment = EnvironmentOfNodes::Declared("production".into());
            let source = ProfileFiles::find(paths, environment, Workers::of(1), Some(cache.clone())).unwrap();
            let errors = source.read(&Wanted::default(), &|_| ());
            cache.save(&DataFiles::default());
            errors.len()
        };
        assert_eq!(errors(std::slice::from_ref(&some)), 0);
        assert_eq!(errors(&[some, none]), 1);
    }
}
