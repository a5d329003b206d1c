//! Node profiles in files.

mod file;
mod find;
mod kept;
mod lines;
mod pieces;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::fast::RandomState;

use super::cache::Cache;
use crate::node::{Batch, NodeProfile, ProfileError, ProfileReader, ProfileSource, Wanted, is_lines};
use crate::value::Selection;
use crate::workers::Workers;
use file::ProfileFile;
use pieces::{Piece, Pieces};

pub use find::files;

/// The files of node profiles cannot be found.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct FindError(pub(super) String);

/// Which environment nodes are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentOfNodes {
    /// The one that their profile names, or else this one.
    Declared(Arc<str>),
    /// This one, whatever their profile names.
    Fixed(Arc<str>),
}

/// Node profiles in files: as they are when they are first read.
pub struct ProfileFiles {
    /// Where the files were looked for.
    paths: Vec<PathBuf>,
    files: Vec<ProfileFile>,
    environment: EnvironmentOfNodes,
    workers: Workers,
    cache: Option<Arc<Cache>>,
}

/// A file that was changed just now may change again and look the same: clocks of file systems are coarse.
const SETTLED: Duration = Duration::from_secs(2);

/// How long it takes to read a profile's file, about, in microseconds.
const A_FILE: usize = 100;

impl ProfileFiles {
    /// The profiles at `paths`: files, folders and globs. Two paths may mean the same file, which is read once. What is read is kept in
    /// `cache`.
    pub fn find(
        paths: &[PathBuf],
        environment: EnvironmentOfNodes,
        workers: Workers,
        cache: Option<Arc<Cache>>,
    ) -> Result<ProfileFiles, FindError> {
        Ok(ProfileFiles { paths: paths.to_vec(), files: found(paths)?, environment, workers, cache })
    }

    /// A name for what is `wanted` of these files as they are now; nothing if one of them may still change without a trace.
    fn name(&self, wanted: &Wanted) -> Option<String> {
        let mut name = format!("{:?} {}", self.environment, wanted.text());
        let settled = SystemTime::now().checked_sub(SETTLED)?;
        for file in &self.files {
            let (size, modified) = file.stamp()?;
            let modified = modified.filter(|modified| *modified < settled)?.duration_since(UNIX_EPOCH).ok()?;
            _ = write!(name, "\n{} {size} {}", file.real.to_string_lossy(), modified.as_nanos());
        }
        Some(name)
    }

    fn read_files(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let selection = wanted.of_document();
        let workers = self.workers_for_files();
        let pieces = Mutex::new(Pieces::of(&self.files, workers.threads).enumerate());
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let errors: Mutex<BTreeMap<usize, Vec<ProfileError>>> = Mutex::default();
        let stage = self.workers.begin("reading node profiles", None);
        workers.run("profiles", || {
            while let Some((number, piece)) = next() {
                let (profiles, faults) = self.piece(piece, &selection);
                if !faults.is_empty() {
                    errors.lock().unwrap_or_else(PoisonError::into_inner).insert(number, faults);
                }
                stage.advance(profiles.len());
                each(Batch { number, profiles });
            }
        });
        errors.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten().collect()
    }

    /// Who reads the files; what there is in one of lines nobody knows.
    fn workers_for_files(&self) -> Workers {
        let has_lines = self.files.iter().any(|file| is_lines(&file.shown));
        if has_lines { self.workers.clone() } else { self.workers.worth(self.files.len() * A_FILE) }
    }

    /// Reads one piece: profiles with their files, and what cannot be read.
    fn piece(&self, piece: Piece, selection: &Selection) -> (Vec<(Arc<str>, NodeProfile)>, Vec<ProfileError>) {
        let (mut profiles, mut errors) = (Vec::new(), Vec::new());
        let mut add = |file: usize, (found, faults): (Vec<NodeProfile>, Vec<ProfileError>)| {
            let path = &self.files[file].shown;
            profiles.extend(found.into_iter().map(|profile| (path.clone(), self.placed(profile))));
            errors.extend(faults);
        };
        let failed = |error| (Vec::new(), vec![error]);
        match piece {
            Piece::Lines { file, before, content } => {
                add(file, content.map_or_else(failed, |content| self.reader(file, selection).lines(&content, before)));
            }
            Piece::Files(files) => {
                for file in files {
                    let content = self.files[file].read();
                    add(file, content.map_or_else(failed, |content| self.reader(file, selection).file(&content)));
                }
            }
        }
        (profiles, errors)
    }

    fn reader<'a>(&'a self, file: usize, selection: &'a Selection) -> ProfileReader<'a> {
        let (EnvironmentOfNodes::Declared(environment) | EnvironmentOfNodes::Fixed(environment)) = &self.environment;
        ProfileReader::new(&self.files[file].shown, environment, selection)
    }

    /// A profile in the environment that it is in.
    fn placed(&self, profile: NodeProfile) -> NodeProfile {
        match &self.environment {
            EnvironmentOfNodes::Declared(_) => profile,
            EnvironmentOfNodes::Fixed(environment) => NodeProfile { environment: environment.clone(), ..profile },
        }
    }
}

impl ProfileSource for ProfileFiles {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let cache = self.cache.as_ref().filter(|_| !wanted.is_whole());
        let Some((cache, name)) = cache.and_then(|cache| Some((cache, self.name(wanted)?))) else {
            return self.read_files(wanted, each);
        };
        kept::read(cache, &name, &self.workers, each).unwrap_or_else(|| {
            let keeper = kept::Keeper::default();
            let errors = self.read_files(wanted, &|batch| {
                keeper.add(&batch, wanted);
                each(batch);
            });
            if errors.is_empty() {
                keeper.keep(cache, &name);
            }
            errors
        })
    }

    fn is_current(&self) -> bool {
        let is_same = |(old, new): (&ProfileFile, &ProfileFile)| old.real == new.real && old.stamp() == new.stamp();
        found(&self.paths).is_ok_and(|new| new.len() == self.files.len() && self.files.iter().zip(&new).all(is_same))
    }
}

/// The profile files at `paths`, each once.
fn found(paths: &[PathBuf]) -> Result<Vec<ProfileFile>, FindError> {
    let mut seen: HashSet<OsString, RandomState> = HashSet::default();
    let mut found = Vec::new();
    for path in paths {
        let new = find::find(path)?.into_iter().map(ProfileFile::new);
        found.extend(new.filter(|file| seen.insert(file.real.as_os_str().to_owned())));
    }
    Ok(found)
}
