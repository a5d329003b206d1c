//! Finds the size and the chain of an object in a pack before it is read.
//!
//! A pack contains most objects as deltas of others, in chains. To get at its last object, which may be small, the
//! whole chain is read, which may be large: whoever pushes can make any chain.
//!
//! Source: gitformat-pack(5).

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flate2::{Decompress, FlushDecompress};

/// The header of an index, and the number of entries in the table of first bytes that follows it.
const INDEX_HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FIRST_BYTES: usize = 256;

/// The place of the ids in an index, and the length of an id.
const IDS_OFFSET: u64 = (INDEX_HEADER.len() + 4 * FIRST_BYTES) as u64;
const ID_LENGTH: usize = 20;

/// The maximum number of ids read at once.
const MAX_IDS_READ: usize = 64;

/// The maximum number of bytes read of a packed object to find its size.
const MAX_START_SIZE: usize = 4096;

/// The longest chain of deltas. Git makes none longer than 4,095.
const MAX_CHAIN_LENGTH: usize = 8192;

/// The packs of some folders of objects.
pub(super) struct Packs(Vec<Pack>);

struct Pack {
    /// The path of its index.
    index: PathBuf,
    files: Option<Arc<Files>>,
    /// The number of ids up to each first byte.
    ends: Vec<u32>,
}

struct Files {
    index: File,
    pack: File,
}

/// The amount of data that is read for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) struct Extent {
    /// The size of the object in bytes.
    pub(in crate::git) size: u64,
    /// The size of all objects and deltas that it is made of, itself included.
    pub(in crate::git) chain: u64,
}

impl Packs {
    /// Opens the packs of folders of objects, and of those that these borrow from.
    pub(super) fn open(folders: &[PathBuf]) -> Packs {
        let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for folder in with_alternates(folders) {
            for entry in fs::read_dir(folder.join("pack")).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx") {
                    let pack = path.with_extension("pack").metadata().ok();
                    let time = pack.as_ref().and_then(|pack| pack.modified().ok());
                    let size = pack.map_or(0, |pack| pack.len());
                    found.push((time.unwrap_or(SystemTime::UNIX_EPOCH), size, path));
                }
            }
        }
        // As in libgit2: the youngest first.
        found.sort_by(|one, other| other.cmp(one));
        // The largest one has most of the objects, and is kept open. A daemon's mirror has hundreds of others.
        let largest = found.iter().map(|(_, size, _)| *size).max().unwrap_or(0);
        Packs(found.into_iter().filter_map(|(_, size, path)| Pack::open(path, size == largest)).collect())
    }

    /// Returns the extent of an object, or `None` if no pack has it. Fails if a pack has it and cannot be read.
    pub(super) fn extent(&self, id: [u8; ID_LENGTH]) -> io::Result<Option<Extent>> {
        for pack in &self.0 {
            let range = pack.ids_from(id[0]);
            if range.is_empty() {
                continue;
            }
            // The objects of a removed pack are elsewhere.
            let Ok(files) = pack.files() else { continue };
            if let Some(offset) = pack.offset(&files, id)? {
                return pack.extent_at(&files, offset).map(Some);
            }
        }
        Ok(None)
    }
}

impl Pack {
    /// Opens a pack by its index; `None` if the index is not of version 2.
    fn open(index: PathBuf, is_kept: bool) -> Option<Pack> {
        let files = Files::open(&index).ok()?;
        let start = read_at(&files.index, 0, INDEX_HEADER.len() + 4 * FIRST_BYTES).ok()?;
        let table = start.strip_prefix(&INDEX_HEADER)?;
        let ends: Vec<u32> = table.chunks_exact(4).filter_map(number).collect();
        (ends.len() == FIRST_BYTES && ends.is_sorted()).then(|| Pack {
            index,
            files: is_kept.then(|| Arc::new(files)),
            ends,
        })
    }

    fn files(&self) -> io::Result<Arc<Files>> {
        self.files.clone().map_or_else(|| Files::open(&self.index).map(Arc::new), Ok)
    }

    /// Returns the positions of the ids that begin with a byte.
    fn ids_from(&self, byte: u8) -> Range<usize> {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        usize::from(byte).checked_sub(1).map_or(0, end)..end(usize::from(byte))
    }

    /// Returns the place of an object in the pack, or `None` if it is not there.
    fn offset(&self, files: &Files, id: [u8; ID_LENGTH]) -> io::Result<Option<u64>> {
        let ids =
            |at: usize, count: usize| read_at(&files.index, IDS_OFFSET + (at * ID_LENGTH) as u64, count * ID_LENGTH);
        let Range { mut start, mut end } = self.ids_from(id[0]);
        while end - start > MAX_IDS_READ {
            let middle = usize::midpoint(start, end);
            match ids(middle, 1)?[..].cmp(&id) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal => (start, end) = (middle, middle + 1),
                Ordering::Greater => end = middle,
            }
        }
        let found = ids(start, end - start)?.chunks_exact(ID_LENGTH).position(|known| known == id);
        found.map(|at| self.offset_of(files, start + at)).transpose()
    }

    /// Returns the place of an object in the pack, given the position of its id in the index.
    fn offset_of(&self, files: &Files, at: usize) -> io::Result<u64> {
        let count = self.ids_from(u8::MAX).end as u64;
        let small = IDS_OFFSET + count * (ID_LENGTH as u64 + 4);
        let offset = number(&read_at(&files.index, small + 4 * at as u64, 4)?).ok_or_else(damaged)?;
        // Large offsets are in a separate table.
        if offset & 1 << 31 == 0 {
            return Ok(offset.into());
        }
        let large = read_at(&files.index, small + 4 * count + 8 * u64::from(offset & !(1 << 31)), 8)?;
        large.try_into().map(u64::from_be_bytes).map_err(|_| damaged())
    }

    fn extent_at(&self, files: &Files, mut offset: u64) -> io::Result<Extent> {
        let (mut size, mut chain) = (None, 0_u64);
        for _ in 0..MAX_CHAIN_LENGTH {
            let start = read_at(&files.pack, offset, MAX_START_SIZE)?;
            let mut rest = &start[..];
            let (kind, own_size) = entry_header(&mut rest).ok_or_else(damaged)?;
            chain = chain.saturating_add(own_size);
            offset = match kind {
                6 => distance(&mut rest).and_then(|back| offset.checked_sub(back)).ok_or_else(damaged)?,
                7 => {
                    let (id, remaining) = rest.split_first_chunk().ok_or_else(damaged)?;
                    rest = remaining;
                    self.offset(files, *id)?.ok_or_else(damaged)?
                }
                _ => return Ok(Extent { size: size.unwrap_or(own_size), chain }),
            };
            let result_size = delta_result_size(rest).ok_or_else(damaged)?;
            chain = chain.saturating_add(result_size);
            size.get_or_insert(result_size);
        }
        Err(io::Error::other("its chain of deltas is too long"))
    }
}

impl Files {
    fn open(index: &Path) -> io::Result<Files> {
        Ok(Files { index: File::open(index)?, pack: File::open(index.with_extension("pack"))? })
    }
}

/// Returns folders of objects with those that they borrow from, as deep as libgit2 looks.
fn with_alternates(folders: &[PathBuf]) -> Vec<PathBuf> {
    let (mut all, mut at) = (folders.to_vec(), 0);
    for _ in 0..5 {
        let end = all.len();
        for folder in at..end {
            let text = fs::read_to_string(all[folder].join("info/alternates")).unwrap_or_default();
            let named = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let more: Vec<PathBuf> = named.map(|line| all[folder].join(line)).collect();
            all.extend(more);
        }
        at = end;
    }
    all
}

/// Reads at most `length` bytes of a file.
fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let (mut bytes, mut read) = (vec![0; length], 0);
    while read < length {
        let more = read_some(file, &mut bytes[read..], offset.saturating_add(read as u64))?;
        if more == 0 {
            break;
        }
        read += more;
    }
    bytes.truncate(read);
    Ok(bytes)
}

#[cfg(unix)]
fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

fn damaged() -> io::Error {
    io::Error::other("its pack is damaged")
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, remaining) = rest.split_first()?;
    *rest = remaining;
    Some(*first)
}

/// Parses the rest of a size. Each byte but the last has its highest bit set. `size` has the first `bits` of the
/// size.
fn size(rest: &mut &[u8], mut size: u64, mut bits: u32, mut goes_on: bool) -> Option<u64> {
    while goes_on {
        let next = byte(rest)?;
        size |= u64::from(next & 0x7f).checked_shl(bits)?;
        (bits, goes_on) = (bits + 7, next & 0x80 != 0);
    }
    Some(size)
}

/// Parses the type and the size of an object or a delta.
fn entry_header(rest: &mut &[u8]) -> Option<(u8, u64)> {
    let first = byte(rest)?;
    Some((first >> 4 & 7, size(rest, u64::from(first & 15), 4, first & 0x80 != 0)?))
}

/// Parses the distance from a delta back to its base.
fn distance(rest: &mut &[u8]) -> Option<u64> {
    let mut next = byte(rest)?;
    let mut distance = u64::from(next & 0x7f);
    while next & 0x80 != 0 {
        next = byte(rest)?;
        distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(next & 0x7f);
    }
    (distance > 0).then_some(distance)
}

/// Returns the size of the result of a compressed delta, which is stored after the size of its base.
fn delta_result_size(packed: &[u8]) -> Option<u64> {
    let mut start = [0; 20];
    let mut inflate = Decompress::new(true);
    inflate.decompress(packed, &mut start, FlushDecompress::None).ok()?;
    let mut rest = &start[..usize::try_from(inflate.total_out()).ok()?];
    size(&mut rest, 0, 0, true)?;
    size(&mut rest, 0, 0, true)
}
