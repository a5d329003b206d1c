//! The state of a file, as its metadata shows it.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The metadata that shows changes of a file. Programs can set some of it, clocks are coarse, and file system images
/// may have the same for all files, so equal stamps do not prove equal contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    inode: Option<Inode>,
}

/// The inode of a file. Programs cannot set the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
    changed: Option<SystemTime>,
}

/// The total size in bytes up to which files are small: their contents are compared, whatever their stamps say.
pub const SMALL: u64 = 32 << 20;

/// A file that changed less than this ago may change again without a trace: the clocks of file systems are coarse.
const SETTLING_TIME: Duration = Duration::from_secs(2);

impl Stamp {
    /// Returns the stamp of a file with this metadata.
    pub fn of(metadata: &Metadata) -> Stamp {
        Stamp { size: metadata.len(), modified: metadata.modified().ok(), inode: inode(metadata) }
    }

    /// Returns the stamp of the file at `path`, following links, or `None` if there is no file.
    pub fn at(path: &Path) -> Option<Stamp> {
        fs::metadata(path).ok().as_ref().map(Stamp::of)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns true if any later change of the file gives it a different stamp.
    pub fn is_settled(&self) -> bool {
        let Some(settled) = SystemTime::now().checked_sub(SETTLING_TIME) else { return false };
        let is_before = |touched: Option<SystemTime>| touched.is_some_and(|touched| touched < settled);
        is_before(self.modified) && self.inode.is_none_or(|inode| is_before(inode.changed))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn inode(metadata: &Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;
    use std::time::UNIX_EPOCH;
    let since_epoch = |seconds, nanoseconds| Some(Duration::new(seconds, u32::try_from(nanoseconds).ok()?));
    let changed = u64::try_from(metadata.ctime()).ok().and_then(|seconds| since_epoch(seconds, metadata.ctime_nsec()));
    let changed = changed.and_then(|since| UNIX_EPOCH.checked_add(since));
    Some(Inode { device: metadata.dev(), number: metadata.ino(), changed })
}

/// Returns the device and inode of the file at `path`, following links. No other file has both at the same time.
/// Returns `None` if there is no file or the system has no inodes.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    inode(&fs::metadata(path).ok()?).map(|inode| (inode.device, inode.number))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<Inode> {
    None
}
