//! The file of an index: a header, and segments that are only appended. Its name is the identity of what it depends on,
//! so those of other settings stay beside it: of branches that are environments, of a daemon.
//!
//! Each segment has its length and a checksum, which goes on from that of the segment before: so a segment counts only
//! behind those that its writer had read. What follows the last one that counts was left by a process that was killed,
//! or is damaged, and is written over. Processes append one after the other, by a lock on the file. The header has a
//! random number, by which a process sees that another one has begun the file anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Identity;
use super::packed::Segment;
use crate::hex::Hex;

/// The beginning of the files of this build: another build may find other values.
const HEADER: &str = concat!("hierad history 4 ", env!("CARGO_PKG_VERSION"), " ", env!("SOURCE_HASH"), "\n");

/// The maximum number of files in a folder, and of their bytes; beyond it, those that were written least recently are
/// removed.
const MAX_FILES: usize = 64;
const MAX_BYTES: u64 = 512 << 20;

/// An index on disk.
pub(super) struct IndexFile {
    path: PathBuf,
    identity: Identity,
    /// The part of the file that was read; `None` if nothing is, or nothing counts.
    read: Option<ReadPart>,
    /// True if a file that is there is to be replaced, even one of this identity.
    replaces: bool,
}

/// The beginning of a file, up to the end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReadPart {
    /// The random number of the file.
    number: [u8; 16],
    /// The number of bytes.
    length: u64,
    /// The checksum of the last segment, or of the header.
    sum: u32,
}

impl IndexFile {
    /// Opens the file in `folder`, and reads its segments; none if there is no usable file.
    pub(super) fn open(folder: &Path, identity: Identity) -> (IndexFile, Vec<Segment>) {
        let mut file = IndexFile { path: path_in(folder, identity), identity, read: None, replaces: false };
        let content = if file.may_be_opened() { fs::read(&file.path).unwrap_or_default() } else { Vec::new() };
        let segments = file.segments(&content);
        tracing::debug!(path = %file.path.display(), segments = segments.len(), "the index of the history is read");
        (file, segments)
    }

    /// Returns false if something else than a file stands there, such as a link or a pipe, which is left alone.
    fn may_be_opened(&self) -> bool {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) => metadata.is_file(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Forgets what was read, so that the next segment begins the file anew.
    pub(super) fn restart(&mut self) {
        (self.read, self.replaces) = (None, true);
    }

    /// Reads all of a file's content, or nothing if it is not usable.
    fn segments(&mut self, content: &[u8]) -> Vec<Segment> {
        self.read = None;
        let rest = content.strip_prefix(HEADER.as_bytes()).and_then(|rest| rest.strip_prefix(&self.identity.0));
        let Some((number, rest)) = rest.and_then(|rest| rest.split_first_chunk()) else { return Vec::new() };
        let header = &content[..content.len() - rest.len()];
        self.read_on(ReadPart { number: *number, length: header.len() as u64, sum: crc32fast::hash(header) }, rest)
    }

    /// Reads the segments behind `part` up to the first that does not count.
    fn read_on(&mut self, mut part: ReadPart, mut rest: &[u8]) -> Vec<Segment> {
        let mut segments = Vec::new();
        while let Some((segment, length, sum)) = segment(rest, part.sum) {
            segments.push(segment);
            (part.length, part.sum) = (part.length + length as u64, sum);
            rest = &rest[length..];
        }
        self.read = Some(part);
        segments
    }

    /// Locks the file to append to it, and returns it with the segments that other processes have added. Returns `None`
    /// if another process has begun the file anew meanwhile, which then stays.
    pub(super) fn lock(&mut self) -> io::Result<Option<(File, Vec<Segment>)>> {
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        if !self.may_be_opened() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(&self.path)?;
        opened.lock()?;
        let Some(part) = self.read else {
            let mut content = Vec::new();
            if !self.replaces {
                opened.read_to_end(&mut content)?;
            }
            let segments = self.segments(&content);
            return Ok(Some((opened, segments)));
        };
        let header = header(self.identity, part.number);
        let mut found = vec![0; header.len()];
        if opened.read_exact(&mut found).is_err() || found != header {
            return Ok(None);
        }
        opened.seek(SeekFrom::Start(part.length))?;
        let mut rest = Vec::new();
        opened.read_to_end(&mut rest)?;
        let segments = self.read_on(part, &rest);
        Ok(Some((opened, segments)))
    }

    /// Writes a segment behind those that were read, and gives the lock back.
    pub(super) fn append(&mut self, mut opened: File, segment: &Segment) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut part = if let Some(part) = self.read {
            part
        } else {
            let mut number = [0; 16];
            getrandom::fill(&mut number).map_err(io::Error::other)?;
            bytes = header(self.identity, number);
            ReadPart { number, length: 0, sum: crc32fast::hash(&bytes) }
        };
        let body = postcard::to_allocvec(segment).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        part.sum = sum_of(&body, part.sum);
        bytes.extend(length.to_be_bytes());
        bytes.extend(part.sum.to_be_bytes());
        bytes.extend(&body);
        opened.set_len(part.length)?;
        opened.seek(SeekFrom::Start(part.length))?;
        opened.write_all(&bytes)?;
        if part.length == 0 {
            forget_oldest(self.path.parent().unwrap_or(Path::new(".")))?;
        }
        part.length += bytes.len() as u64;
        (self.read, self.replaces) = (Some(part), false);
        Ok(())
    }
}

fn path_in(folder: &Path, Identity(identity): Identity) -> PathBuf {
    folder.join(Hex(&identity).to_string())
}

/// Removes files until there are not too many.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            files.push((metadata.modified()?, entry.path(), metadata.len()));
        }
    }
    files.sort_unstable_by(|one, other| other.cmp(one));
    let mut bytes = 0;
    for (number, (_, path, size)) in files.into_iter().enumerate() {
        bytes += size;
        if number > 0 && (number >= MAX_FILES || bytes > MAX_BYTES) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn header(identity: Identity, number: [u8; 16]) -> Vec<u8> {
    [HEADER.as_bytes(), &identity.0, &number].concat()
}

/// Returns the checksum of a segment, which goes on from `former`.
fn sum_of(body: &[u8], former: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(former);
    hasher.update(body);
    hasher.finalize()
}

/// Returns the first segment of some bytes, its length and its checksum, which goes on from `former`; `None` if it is
/// not whole.
fn segment(bytes: &[u8], former: u32) -> Option<(Segment, usize, u32)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let body = rest.get(..u32::from_be_bytes(*length) as usize)?;
    let sum_found = sum_of(body, former);
    if u32::from_be_bytes(*sum) != sum_found {
        return None;
    }
    Some((postcard::from_bytes(body).ok()?, length.len() + sum.len() + body.len(), sum_found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity([7; 20]);

    fn open(folder: &Path) -> (IndexFile, Vec<String>) {
        let (file, segments) = IndexFile::open(folder, IDENTITY);
        (file, segments.iter().map(name).collect())
    }

    /// The name of the only fact of a segment.
    fn name(segment: &Segment) -> String {
        segment.facts[0].0.clone()
    }

    /// Appends a segment, and returns those that others had added; `None` if the file is another one.
    fn append(file: &mut IndexFile, fact: &str) -> Option<Vec<String>> {
        let (opened, segments) = file.lock().unwrap()?;
        file.append(opened, &Segment::of_facts(vec![(fact.to_owned(), [0; 20])])).unwrap();
        Some(segments.iter().map(name).collect())
    }

    fn none() -> Vec<String> {
        Vec::new()
    }

    #[test]
    fn processes_append_behind_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let [mut one, mut two] = [open(folder.path()).0, open(folder.path()).0];
        assert_eq!(append(&mut one, "a"), Some(none()));
        assert_eq!(append(&mut two, "b"), Some(vec!["a".to_owned()]), "both began without a file");
        assert_eq!(append(&mut one, "c"), Some(vec!["b".to_owned()]));
        assert_eq!(open(folder.path()).1, ["a", "b", "c"]);
    }

    #[test]
    fn a_file_that_was_begun_anew_is_left_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = open(folder.path()).0;
        append(&mut one, "a").unwrap();
        let mut two = open(folder.path()).0;
        two.restart();
        append(&mut two, "b").unwrap();
        assert_eq!(append(&mut one, "c"), None);
        assert_eq!(open(folder.path()).1, ["b"]);
    }

    #[test]
    fn a_segment_counts_only_behind_those_that_its_writer_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = open(folder.path()).0;
        for fact in ["a", "b", "c"] {
            append(&mut one, fact).unwrap();
        }
        let path = path_in(folder.path(), IDENTITY);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            // A disk damages a byte, a process that opens the file then appends as many bytes as others had, and the
            // first one goes on.
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            let (mut two, read) = open(folder.path());
            assert!(read.len() < 3, "{at}");
            let added = (read.len()..3).map(|number| ["x", "y", "z"][number]);
            added.for_each(|fact| assert_eq!(append(&mut two, fact), Some(none()), "{at}"));
            let mut first = IndexFile { path: path.clone(), identity: one.identity, read: one.read, replaces: false };
            _ = append(&mut first, "d");
            let expected: Vec<&str> =
                ["a", "b", "c"][..read.len()].iter().chain(&["x", "y", "z"][read.len()..]).copied().collect();
            assert_eq!(open(folder.path()).1, expected, "{at}: nothing of the first one counts");
        }
    }

    #[test]
    fn the_oldest_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..70 {
            let mut file = IndexFile::open(folder.path(), Identity([number; 20])).0;
            append(&mut file, "a").unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(number));
            File::options().append(true).open(&file.path).unwrap().set_modified(time).unwrap();
        }
        let is_there = |number: u8| path_in(folder.path(), Identity([number; 20])).exists();
        assert_eq!((0..70).filter(|number| is_there(*number)).collect::<Vec<_>>(), (6..70).collect::<Vec<_>>());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_its_place_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for target in ["elsewhere", "nowhere"] {
            let target = folder.path().join(target);
            fs::write(folder.path().join("elsewhere"), "text").unwrap();
            std::os::unix::fs::symlink(&target, path_in(folder.path(), IDENTITY)).unwrap();
            let (mut file, read) = open(folder.path());
            assert_eq!((append(&mut file, "a"), read), (None, none()));
            assert_eq!(fs::read_to_string(folder.path().join("elsewhere")).unwrap(), "text");
            assert!(!folder.path().join("nowhere").exists());
            fs::remove_file(path_in(folder.path(), IDENTITY)).unwrap();
        }
    }
}
