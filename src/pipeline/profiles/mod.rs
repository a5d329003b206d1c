//! Node profiles in files.

mod find;
mod lines;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use crate::node::{Batch, NodeProfile, ProfileError, ProfileReader, ProfileSource, Wanted, is_lines};
use crate::value::Selection;
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
    files: Vec<ProfileFile>,
    environment: EnvironmentOfNodes,
    threads: NonZeroUsize,
}

struct ProfileFile {
    path: PathBuf,
    shown: Arc<str>,
    /// What it was when it was first read.
    stamp: OnceLock<Option<Stamp>>,
}

/// What tells a file from what it was before.
type Stamp = (u64, Option<SystemTime>);

impl ProfileFiles {
    /// The profiles at `paths`: files, folders and globs. Two paths may mean the same file, which is read once.
    pub fn find(
        paths: &[PathBuf],
        environment: EnvironmentOfNodes,
        threads: NonZeroUsize,
    ) -> Result<ProfileFiles, FindError> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for path in paths {
            let new = files(path)?.into_iter().filter(|file| seen.insert(file.canonicalize().unwrap_or(file.clone())));
            found.extend(new.map(ProfileFile::new));
        }
        Ok(ProfileFiles { files: found, environment, threads })
    }
}

impl ProfileFile {
    fn new(path: PathBuf) -> ProfileFile {
        let shown = path.display().to_string().into();
        ProfileFile { path, shown, stamp: OnceLock::new() }
    }

    fn error(&self, text: impl Into<String>) -> ProfileError {
        ProfileError { path: self.shown.to_string(), line: 1, text: text.into() }
    }

    /// Opens the file, unless it has changed since it was first opened.
    fn open(&self) -> Result<File, ProfileError> {
        let failed = |error: io::Error| self.error(format!("cannot read the file: {error}"));
        let file = File::open(&self.path).map_err(failed)?;
        let stamp = file.metadata().ok().map(|metadata| (metadata.len(), metadata.modified().ok()));
        if *self.stamp.get_or_init(|| stamp) != stamp {
            return Err(self.error("the file has changed since it was read first"));
        }
        Ok(file)
    }
}

/// A part of a file that is read on its own.
struct Piece {
    number: usize,
    file: usize,
    /// How many lines of the file are in front of it.
    before: u32,
    content: Result<Vec<u8>, ProfileError>,
}

/// Gives out the files piece by piece.
struct Pieces<'a> {
    files: &'a [ProfileFile],
    next: usize,
    /// The file that is being read line by line.
    lines: Option<Lines>,
    number: usize,
}

impl Pieces<'_> {
    /// The next piece; of a whole file what it takes to read it.
    fn next(&mut self) -> Option<(Piece, Option<File>)> {
        loop {
            if let Some(lines) = &mut self.lines {
                let file = self.next - 1;
                let before = lines.passed();
                match lines.next() {
                    Some(content) => {
                        let content = content.map_err(|e| self.files[file].error(format!("cannot read the file: {e}")));
                        self.lines = self.lines.take().filter(|_| content.is_ok());
                        return Some((self.piece(file, before, content), None));
                    }
                    None => self.lines = None,
                }
            }
            let file = self.files.get(self.next)?;
            self.next += 1;
            match file.open() {
                Err(error) => return Some((self.piece(self.next - 1, 0, Err(error)), None)),
                Ok(opened) if is_lines(&file.shown) => self.lines = Some(Lines::new(opened)),
                Ok(opened) => return Some((self.piece(self.next - 1, 0, Ok(Vec::new())), Some(opened))),
            }
        }
    }

    fn piece(&mut self, file: usize, before: u32, content: Result<Vec<u8>, ProfileError>) -> Piece {
        self.number += 1;
        Piece { number: self.number, file, before, content }
    }
}

impl ProfileFiles {
    /// Reads one piece.
    fn piece(&self, piece: &Piece, selection: &Selection) -> (Vec<NodeProfile>, Vec<ProfileError>) {
        let content = match &piece.content {
            Ok(content) => content,
            Err(error) => return (Vec::new(), vec![error.clone()]),
        };
        let path = &self.files[piece.file].shown;
        let (EnvironmentOfNodes::Declared(environment) | EnvironmentOfNodes::Fixed(environment)) = &self.environment;
        let reader = ProfileReader::new(path, environment, selection);
        let (mut profiles, errors) =
            if is_lines(path) { reader.lines(content, piece.before) } else { reader.file(content) };
        if let EnvironmentOfNodes::Fixed(environment) = &self.environment {
            for profile in &mut profiles {
                profile.environment = environment.clone();
            }
        }
        (profiles, errors)
    }
}

impl ProfileSource for ProfileFiles {
    fn read(&self, wanted: &Wanted, each: &(dyn Fn(Batch) + Sync)) -> Vec<ProfileError> {
        let selection = wanted.of_document();
        let pieces = Mutex::new(Pieces { files: &self.files, next: 0, lines: None, number: 0 });
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let errors: Mutex<Vec<(usize, ProfileError)>> = Mutex::default();
        let work = || {
            while let Some((mut piece, file)) = next() {
                if let Some(mut file) = file {
                    let shown = &self.files[piece.file];
                    let read = |e: io::Error| shown.error(format!("cannot read the file: {e}"));
                    piece.content = read_whole(&mut file).map_err(read);
                }
                let (profiles, faults) = self.piece(&piece, &selection);
                let faults = faults.into_iter().map(|fault| (piece.number, fault));
                errors.lock().unwrap_or_else(PoisonError::into_inner).extend(faults);
                each(Batch { number: piece.number, path: self.files[piece.file].shown.clone(), profiles });
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.get() {
                // Where there is no other thread, this one does it all.
                _ = std::thread::Builder::new().name("profiles".into()).spawn_scoped(scope, work);
            }
            work();
        });
        let mut errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        errors.sort_by_key(|(number, _)| *number);
        errors.into_iter().map(|(_, error)| error).collect()
    }
}

fn read_whole(file: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    io::Read::read_to_end(file, &mut content)?;
    Ok(content)
}
