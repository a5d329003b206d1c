//! Reads loose objects, each in its own file. libgit2 hangs on a truncated one, such as a power failure can leave.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use flate2::bufread::ZlibDecoder;
use git2::ObjectType;

use crate::git::id::CommitId;

/// The longest header, in bytes: a type and a size.
const MAX_HEADER_SIZE: u64 = 32;

/// An object.
pub(in crate::git) enum Object {
    /// Its type and content, or only the beginning of the content if no more is wanted.
    Content(ObjectType, Vec<u8>),
    /// Its size, which exceeds the limit.
    TooLarge(u64),
    /// The size of everything that it is made of, which exceeds the limit.
    Chain(u64),
    /// The reason why it cannot be read.
    Damaged(String),
}

/// The part of an object that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadExtent {
    /// The whole object, if it is not larger than this.
    Whole(u64),
    /// This many of its first bytes.
    Start(u64),
}

/// Returns the object if one of `folders` has it as a loose object of the usual form.
pub(in crate::git) fn read(folders: &[PathBuf], id: [u8; 20], part: ReadExtent) -> Option<Object> {
    let name = CommitId(id).to_string();
    let (folder, file) = name.split_at(2);
    let file = folders.iter().find_map(|objects| File::open(objects.join(folder).join(file)).ok())?;
    let mut packed = BufReader::new(file);
    // Checks the first byte. Objects of the old form are left to libgit2.
    let is_usual = packed.fill_buf().is_ok_and(|start| start.first().is_none_or(|byte| byte & 0x8f == 0x08));
    if !is_usual {
        return None;
    }
    Some(inflate(packed, part).unwrap_or_else(|error| Object::Damaged(error.to_string())))
}

fn inflate(packed: impl BufRead, part: ReadExtent) -> io::Result<Object> {
    let mut content = BufReader::new(ZlibDecoder::new(packed));
    let mut header = Vec::new();
    content.by_ref().take(MAX_HEADER_SIZE).read_until(0, &mut header)?;
    let parsed = header.strip_suffix(b"\0").and_then(parse);
    let (kind, size) = parsed.ok_or_else(|| io::Error::other("its header is malformed"))?;
    match part {
        ReadExtent::Whole(limit) if size > limit => return Ok(Object::TooLarge(size)),
        ReadExtent::Start(wanted) if size > wanted => {
            let mut start = Vec::new();
            content.take(wanted).read_to_end(&mut start)?;
            return Ok(Object::Content(kind, start));
        }
        ReadExtent::Whole(_) | ReadExtent::Start(_) => {}
    }
    let mut whole = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    content.take(size + 1).read_to_end(&mut whole)?;
    if whole.len() as u64 != size {
        return Err(io::Error::other(format!(
            "its header gives a size of {size} bytes, and its content has another one"
        )));
    }
    Ok(Object::Content(kind, whole))
}

/// Parses a header such as `blob 12`.
fn parse(header: &[u8]) -> Option<(ObjectType, u64)> {
    let (kind, size) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    let kind = ObjectType::from_str(kind).filter(|kind| *kind != ObjectType::Any)?;
    Some((kind, size.parse().ok()?))
}
