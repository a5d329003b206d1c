//! Node profiles in files.

mod find;
mod kept;
mod lines;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cache::Cache;
use crate::node::{Batch, NodeProfile, ProfileError, ProfileReader, ProfileSource, Wanted, is_lines};
use crate::value::Selection;
use crate::workers::Workers;
use find::Found;
use lines::Lines;

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

struct ProfileFile {
    path: PathBuf,
    /// The path that it has whoever asks.
    real: PathBuf,
    shown: Arc<str>,
    /// What it was when it was first read.
    stamp: OnceLock<Option<Stamp>>,
}

/// A file that was changed just now may change again and look the same: clocks of file systems are coarse.
const SETTLED: Duration = Duration::from_secs(2);

/// What tells a file from what it was before.
type Stamp = (u64, Option<SystemTime>);

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.len(), metadata.modified().ok())
}

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
}

/// The profile files at `paths`, each once.
fn found(paths: &[PathBuf]) -> Result<Vec<ProfileFile>, FindError> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for path in paths {
        let new = find::find(path)?.into_iter().map(ProfileFile::new);
        found.extend(new.filter(|file| seen.insert(file.real.clone())));
    }
    Ok(found)
}

impl ProfileFile {
    fn new(Found { path, real }: Found) -> ProfileFile {
        let shown = path.display().to_string().into();
        ProfileFile { path, real, shown, stamp: OnceLock::new() }
    }

    fn error(&self, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.shown.to_string(), line: 1, text: text.into() }
    }

    fn unreadable(&self, error: &io::Error) -> ProfileError {
        self.error(format!("cannot read the file: {error}"))
    }

    /// Opens the file, unless it has changed since it was first opened.
    fn open(&self) -> Result<File, ProfileError> {
        let file = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        let stamp = file.metadata().ok().as_ref().map(stamp);
        if *self.stamp.get_or_init(|| stamp) != stamp {
            return Err(self.error("the file has changed since it was read first"));
        }
        Ok(file)
    }

    /// The whole content.
    fn read(&self) -> Result<Vec<u8>, ProfileError> {
        let file = self.open()?;
        let size = self.stamp().and_then(|(size, _)| usize::try_from(size).ok()).unwrap_or_default();
        let mut content = Vec::new();
        // A byte more, so that the end shows without growing.
        let room = content.try_reserve_exact(size.saturating_add(1)).map_err(io::Error::from);
        // A file that is read by itself is asked for its size again.
        let read = room.and_then(|()| file.take(u64::MAX).read_to_end(&mut content));
        read.map_err(|error| self.unreadable(&error))?;
        Ok(content)
    }

    /// What the file was when it was first looked at.
    fn stamp(&self) -> Option<Stamp> {
        *self.stamp.get_or_init(|| self.path.metadata().ok().as_ref().map(stamp))
    }
}

/// The most files that are read one after the other.
const AT_ONCE: usize = 16;

/// What is read on its own.
enum Piece {
    /// Some files.
    Files(Range<usize>),
    /// Some lines of a file.
    Lines {
        file: usize,
        /// How many lines of the file are in front of them.
        before: u32,
        content: Result<Vec<u8>, ProfileError>,
    },
}

/// Gives out the files piece by piece.
struct Pieces<'a> {
    files: &'a [ProfileFile],
    next: usize,
    /// The file that is being read line by line.
    lines: Option<Lines>,
    /// How many files are given out at once.
    at_once: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(lines) = &mut self.lines {
                let file = self.next - 1;
                let before = lines.passed();
                match lines.next() {
                    Some(content) => {
                        let content = content.map_err(|error| self.files[file].unreadable(&error));
                        self.lines = self.lines.take().filter(|_| content.is_ok());
                        return Some(Piece::Lines { file, before, content });
                    }
                    None => self.lines = None,
                }
            }
            let file = self.next;
            if !is_lines(&self.files.get(file)?.shown) {
                let rest = self.files[file..].iter().take(self.at_once);
                self.next += rest.take_while(|file| !is_lines(&file.shown)).count();
                return Some(Piece::Files(file..self.next));
            }
            self.next += 1;
            match self.files[file].open() {
                Ok(opened) => self.lines = Some(Lines::new(opened)),
                Err(error) => return Some(Piece::Lines { file, before: 0, content: Err(error) }),
            }
        }
    }
}

impl ProfileFiles {
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
        match self.cache.as_ref().filter(|_| !wanted.is_whole()).and_then(|cache| Some((cache, self.name(wanted)?))) {
            Some((cache, name)) => kept::read(cache, &name, &self.workers, each).unwrap_or_else(|| {
                let keeper = kept::Keeper::default();
                let errors = self.read_files(wanted, &|batch| {
                    keeper.add(&batch, wanted);
                    each(batch);
                });
                if errors.is_empty() {
                    keeper.keep(cache, &name);
                }
                errors
            }),
            None => self.read_files(wanted, each),
        }
    }

    fn is_current(&self) -> bool {
        self.are_current()
    }
}

impl ProfileFiles {
    /// Whether there are the same files, none of which has changed.
    fn are_current(&self) -> bool {
        let is_same = |(old, new): (&ProfileFile, &ProfileFile)| old.real == new.real && old.stamp() == new.stamp();
        found(&self.paths).is_ok_and(|new| new.len() == self.files.len() && self.files.iter().zip(&new).all(is_same))
    }

    /// A name for what is `wanted` of these files as they are now; nothing if one of them may still change without a trace.
    fn name(&self, wanted: &Wanted) -> Option<String> {
        let mut name = format!("{:?} {}", self.environment, wanted.text());
        let settled = SystemTime::now().checked_sub(SETTLED)?;
        for file in &self.files {
            let (size, modified) = file.stamp()?;
            let modified = modified.filter(|modified| *modified < settled)?.duration_since(UNIX_EPOCH).ok()?;
            _ = write!(name, "\n{} {size} {}", file.real.display(), modified.as_nanos());
        }
        Some(name)
    }

    fn read_files(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let selection = wanted.of_document();
        let at_once = (self.files.len() / self.workers.threads / 4).clamp(1, AT_ONCE);
        let pieces = Pieces { files: &self.files, next: 0, lines: None, at_once };
        let pieces = Mutex::new(pieces.enumerate());
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let errors: Mutex<BTreeMap<usize, Vec<ProfileError>>> = Mutex::default();
        let stage = self.workers.begin("reading node profiles", None);
        self.workers.run("profiles", || {
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
}
