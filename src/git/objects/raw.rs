//! Parses git's commit, tag and tree objects, wherever they are stored.
//!
//! Text that is not UTF-8 is shown with replacement characters; nothing here fails because of it.

use std::fmt;

use crate::git::id::CommitId;

/// A commit's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: CommitId,
    /// The first paragraph of its message, on one line.
    pub summary: String,
    /// The author: `Name <address>`.
    pub author: String,
    /// The time of writing, by the author's clock.
    pub time: CommitTime,
    /// The time of the commit, by the committer's clock: seconds since 1970.
    pub committed: i64,
}

/// A moment, with the author's offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Minutes east of UTC.
    pub offset: i32,
}

impl CommitTime {
    /// Returns the seconds and the zone in the form of a commit object.
    pub(in crate::git) fn raw(self) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.unsigned_abs();
        format!("{} {sign}{:02}{:02}", self.seconds.max(0), offset / 60, offset % 60)
    }
}

impl fmt::Display for CommitTime {
    /// Writes the time in RFC 3339: `2024-02-29T12:00:00+01:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.seconds.saturating_add(i64::from(self.offset) * 60);
        let (year, month, day) = civil(local.div_euclid(86_400));
        let second = local.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", offset / 60, offset % 60)
    }
}

/// Returns the year, month and day, in the Gregorian calendar, of a day counted from 1970-01-01.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day.saturating_add(719_468); // from 0000-03-01, so that a leap day ends its year
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// A parsed commit object.
#[derive(Debug, Clone, Default)]
pub(in crate::git) struct RawCommit {
    pub(in crate::git) tree: [u8; 20],
    pub(in crate::git) parents: Vec<CommitId>,
    pub(in crate::git) author: String,
    pub(in crate::git) time: CommitTime,
    /// The time of the commit, by the committer's clock. Walks through history are ordered by it.
    pub(in crate::git) committed: i64,
    pub(in crate::git) summary: String,
}

/// The maximum number of bytes of a message that are read for its summary, and the maximum length of a summary and an
/// author, in characters.
const MESSAGE_START: usize = 64 << 10;
const MAX_SHOWN: usize = 1000;

/// Parses the beginning of a commit object. Returns `None` if it names no tree.
pub(in crate::git) fn commit(content: &[u8]) -> Option<RawCommit> {
    let end = memchr::memmem::find(content, b"\n\n").unwrap_or(content.len());
    let (header, message) = content.split_at(end);
    let header = String::from_utf8_lossy(header);
    let message = String::from_utf8_lossy(&message[..message.len().min(MESSAGE_START)]);
    let mut commit = RawCommit::default();
    let mut tree = None;
    for line in header.lines() {
        match line.split_once(' ') {
            // As in git: only the first such line names the commit's tree.
            Some(("tree", id)) if tree.is_none() => tree = Some(CommitId::from_hex(id)?),
            Some(("parent", id)) => commit.parents.push(CommitId::from_hex(id)?),
            Some(("author", who)) => (commit.author, commit.time) = signature(who),
            Some(("committer", who)) => commit.committed = signature(who).1.seconds,
            _ => {} // signatures, encodings, extra headers and their continuation lines
        }
    }
    commit.tree = tree?.0;
    commit.summary = shortened(&summary(&message));
    Some(commit)
}

/// Returns a text for display, cut if it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

fn signature(line: &str) -> (String, CommitTime) {
    let (who, when) = line.rfind("> ").map_or((line, ""), |end| (&line[..=end], &line[end + 2..]));
    let (seconds, zone) = when.split_once(' ').unwrap_or((when, ""));
    let time = CommitTime { seconds: seconds.parse().unwrap_or(0), offset: offset(zone).unwrap_or(0) };
    (shortened(who), time)
}

/// Returns the minutes of an offset such as `+0130`.
fn offset(zone: &str) -> Option<i32> {
    let value: i32 = zone.parse().ok()?;
    Some(value / 100 * 60 + value % 100).filter(|minutes| minutes.abs() <= 24 * 60)
}

fn summary(message: &str) -> String {
    let lines = message.lines().map(str::trim).skip_while(|line| line.is_empty());
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the value of a trailer: a line `name: VALUE` in the last paragraph of a commit's message.
pub(in crate::git) fn trailer(content: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    let (_, message) = text.split_once("\n\n")?;
    let mut lines = message.trim_end().lines().rev().take_while(|line| !line.is_empty());
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
}

/// Returns the target of a tag object.
pub(super) fn tag_target(content: &[u8]) -> Option<[u8; 20]> {
    let first = content.split(|byte| *byte == b'\n').next()?;
    let hex = std::str::from_utf8(first).ok()?.strip_prefix("object ")?;
    CommitId::from_hex(hex).map(|id| id.0)
}

/// The type of an entry, by its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum EntryKind {
    File,
    Folder,
    Link,
    Submodule,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct TreeEntry {
    pub(in crate::git) name: String,
    pub(in crate::git) kind: EntryKind,
    pub(in crate::git) id: [u8; 20],
}

/// Decodes a name. Nearly all are UTF-8, which `from_utf8` checks faster than `from_utf8_lossy` does.
fn text(name: &[u8]) -> String {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name).into_owned(), str::to_owned)
}

/// Parses a tree object; the result is sorted by the bytes of the names. Fails if the tree is damaged. One with names
/// that git would not check out counts as damaged, so that no path leads elsewhere.
pub(in crate::git) fn folder(mut content: &[u8]) -> Result<Vec<TreeEntry>, &'static str> {
    let mut items = Vec::new();
    while !content.is_empty() {
        let (item, rest) = entry(content).ok_or("its list of names is incomplete")?;
        if is_invalid_name(&item.name) {
            return Err("it contains an invalid file name");
        }
        items.push(item);
        content = rest;
    }
    items.sort_by(|a, b| a.name.cmp(&b.name)); // git sorts folders as if their names ended in a slash
    // Names that are not UTF-8 may look alike.
    let is_twice = |pair: &[TreeEntry]| pair[0].name == pair[1].name && !pair[0].name.contains('\u{fffd}');
    if items.windows(2).any(is_twice) {
        return Err("it contains a name twice");
    }
    Ok(items)
}

/// Parses the first entry of a tree object. Returns it and the rest.
fn entry(content: &[u8]) -> Option<(TreeEntry, &[u8])> {
    let space = content.iter().position(|byte| *byte == b' ')?;
    let end = space + content[space..].iter().position(|byte| *byte == 0)?;
    let id: [u8; 20] = content.get(end + 1..end + 21)?.try_into().ok()?;
    let name = text(&content[space + 1..end]);
    let mode = std::str::from_utf8(&content[..space]).ok()?;
    let kind = match u32::from_str_radix(mode, 8).ok()? & 0o170_000 {
        0o040_000 => EntryKind::Folder,
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Submodule,
        _ => EntryKind::File,
    };
    Some((TreeEntry { name, kind, id }, &content[end + 21..]))
}

/// Returns true for a name that cannot be that of an entry of its folder, or is that of a git directory. Source:
/// git's `verify_path` and `fsck_tree`.
fn is_invalid_name(name: &str) -> bool {
    matches!(name, "" | "." | "..") || name.contains('/') || name.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_objects_are_parsed() {
        let text = "tree ce013625030ba8dba906f756967f9e9ca394464a\n\
            parent 1e013625030ba8dba906f756967f9e9ca394464a\n\
            author A <U> Thor <a@example.com> 1709208000 +0130\n\
            committer C <c@example.com> 1709208001 -0800\n\
            gpgsig -----BEGIN\n parent nonsense\n\n\nFirst line\nsecond line\n\nBody\n";
        let read = commit(text.as_bytes()).unwrap();
        assert_eq!(read.parents.len(), 1);
        assert_eq!(read.author, "A <U> Thor <a@example.com>");
        assert_eq!(read.time.to_string(), "2024-02-29T13:30:00+01:30");
        assert_eq!((read.committed, read.summary.as_str()), (1_709_208_001, "First line second line"));
    }

    #[test]
    fn times_keep_their_zone() {
        let check = |seconds, offset, expected| {
            assert_eq!(CommitTime { seconds, offset }.to_string(), expected);
        };
        check(0, 0, "1970-01-01T00:00:00+00:00");
        check(-1, -90, "1969-12-31T22:29:59-01:30");
        check(951_782_400, 0, "2000-02-29T00:00:00+00:00");
        check(4_102_444_800, 60, "2100-01-01T01:00:00+01:00");
    }

    #[test]
    fn damaged_trees_are_refused() {
        assert_eq!(folder(b""), Ok(Vec::new()));
        let breaks_off = Err("its list of names is incomplete");
        assert_eq!(folder(b"100644 a.yaml\0tooshort"), breaks_off);
        assert_eq!(folder(b"garbage"), breaks_off);
        let mut tree = b"100644 a-b\0".to_vec();
        tree.extend([1; 20]);
        tree.extend(b"40000 a\0");
        tree.extend([2; 20]);
        tree.extend(b"120000 \xff\0");
        tree.extend([3; 20]);
        let names: Vec<_> = folder(&tree).unwrap().into_iter().map(|item| (item.name, item.kind)).collect();
        let expected = [("a", EntryKind::Folder), ("a-b", EntryKind::File), ("\u{fffd}", EntryKind::Link)];
        assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn names_that_no_checkout_takes_are_damage() {
        let parse_tree = |entries: &[&str]| {
            let entries = entries.iter().map(|entry| [entry.as_bytes(), &[0], &[1; 20]].concat());
            folder(&entries.collect::<Vec<_>>().concat())
        };
        for name in ["", ".", "..", ".git", ".GiT", "/etc/passwd", "a/b", "../x", "/"] {
            for mode in ["100644", "40000", "120000", "160000"] {
                assert_eq!(
                    parse_tree(&[&format!("{mode} {name}")]),
                    Err("it contains an invalid file name"),
                    "{mode} {name}"
                );
            }
        }
        for pair in [["120000 x", "100644 x"], ["40000 x", "120000 x"], ["100644 x", "100644 x"]] {
            assert_eq!(parse_tree(&[pair[0], "100644 a", "100644 x-y", pair[1]]), Err("it contains a name twice"));
        }
        assert!(parse_tree(&["100644 .gitignore", "100644 ...", "100644 a b", "40000 git", "100644 \\"]).is_ok());
    }

    #[test]
    fn names_of_another_encoding_may_look_alike() {
        let entry = |name: &[u8]| [b"100644 ", name, &[0], &[1; 20]].concat();
        assert_eq!(folder(&[entry(b"\xe4"), entry(b"\xf6")].concat()).unwrap().len(), 2);
    }
}
