//! The file of an index: a header, and segments that are only appended.
//!
//! Each segment has its length and a checksum. What follows the last whole segment was left by a process that was
//! killed, and the next one writes over it. Processes append one after the other, by a lock on the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Identity;
use super::packed::Segment;

/// The beginning of the files of this build: another build may find other values.
const HEADER: &str = concat!("hierad history 1 ", env!("CARGO_PKG_VERSION"), " ", env!("SOURCE_HASH"), "\n");

/// The name of the file.
const NAME: &str = "history";

/// An index on disk.
pub(super) struct IndexFile {
    path: PathBuf,
    identity: Identity,
    /// The number of bytes that were read: the end of the last whole segment.
    read: u64,
}

impl IndexFile {
    /// Opens the file in `folder`, and reads its segments; none if there is no usable file.
    pub(super) fn open(folder: &Path, identity: Identity) -> (IndexFile, Vec<Segment>) {
        let mut file = IndexFile { path: folder.join(NAME), identity, read: 0 };
        // Whatever else stands there, such as a pipe, is left alone.
        let is_file = fs::symlink_metadata(&file.path).is_ok_and(|metadata| metadata.is_file());
        let content = if is_file { fs::read(&file.path).unwrap_or_default() } else { Vec::new() };
        let segments = file.segments(&content);
        tracing::debug!(path = %file.path.display(), segments = segments.len(), bytes = file.read, "the index of the history is read");
        (file, segments)
    }

    /// Forgets what was read, so that the next segment replaces it.
    pub(super) fn restart(&mut self) {
        self.read = 0;
    }

    /// Reads all of a file's content, or nothing if it is not usable.
    fn segments(&mut self, content: &[u8]) -> Vec<Segment> {
        self.read = 0;
        let Some(rest) = content.strip_prefix(&*self.header()) else { return Vec::new() };
        self.read = (content.len() - rest.len()) as u64;
        self.more_segments(rest)
    }

    /// Reads segments up to the first that is not whole.
    fn more_segments(&mut self, mut rest: &[u8]) -> Vec<Segment> {
        let mut segments = Vec::new();
        while let Some((segment, length)) = segment(rest) {
            segments.push(segment);
            self.read += length as u64;
            rest = &rest[length..];
        }
        segments
    }

    fn header(&self) -> Vec<u8> {
        [HEADER.as_bytes(), &self.identity.0].concat()
    }

    /// Locks the file to append to it, and returns it with the segments that other processes have added. Returns `None`
    /// if another process has begun a file of another identity meanwhile, which then stays.
    pub(super) fn lock(&mut self) -> io::Result<Option<(File, Vec<Segment>)>> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if fs::symlink_metadata(&self.path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(&self.path)?;
        opened.lock()?;
        if self.read == 0 {
            return Ok(Some((opened, Vec::new())));
        }
        let header = self.header();
        let mut found = vec![0; header.len()];
        if opened.read_exact(&mut found).is_err() || found != header {
            return Ok(None);
        }
        opened.seek(SeekFrom::Start(self.read))?;
        let mut rest = Vec::new();
        opened.read_to_end(&mut rest)?;
        let segments = self.more_segments(&rest);
        Ok(Some((opened, segments)))
    }

    /// Writes a segment after those that were read, and gives the lock back.
    pub(super) fn append(&mut self, mut opened: File, segment: &Segment) -> io::Result<()> {
        let mut bytes = if self.read == 0 { self.header() } else { Vec::new() };
        let body = postcard::to_allocvec(segment).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(crc32fast::hash(&body).to_be_bytes());
        bytes.extend(&body);
        opened.set_len(self.read)?;
        opened.seek(SeekFrom::Start(self.read))?;
        opened.write_all(&bytes)?;
        self.read += bytes.len() as u64;
        Ok(())
    }
}

/// Returns the first segment of some bytes, and its length; `None` if it is not whole.
fn segment(bytes: &[u8]) -> Option<(Segment, usize)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let body = rest.get(..u32::from_be_bytes(*length) as usize)?;
    if u32::from_be_bytes(*sum) != crc32fast::hash(body) {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, length.len() + sum.len() + body.len()))
}
