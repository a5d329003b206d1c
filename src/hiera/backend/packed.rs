//! Parsed data files in a compact form for caches.

use serde::{Deserialize, Serialize};

use super::{DataFile, Format};
use crate::puppet::document::Marks;
use crate::puppet::server::Notes;
use crate::value::{Packed, Unpacked};

/// A file's value and its line numbers.
#[derive(Serialize, Deserialize)]
struct PackedFile<V> {
    value: V,
    lines: Lines,
    is_entangled: bool,
    notes: Notes,
}

/// The line numbers of a value, nested like the value.
#[derive(Serialize, Deserialize)]
struct Lines(u32, Vec<Lines>);

/// The maximum number of parts in a packed value.
const MAX_PARTS: usize = 1_000_000;

impl DataFile {
    /// Returns the file in packed form, or `None` if the file is faulty or aliases make it too large.
    pub fn pack(&self) -> Option<Vec<u8>> {
        let mut parts = MAX_PARTS;
        let value = Packed::of(self.value(), &mut parts).filter(|_| self.fault().is_none())?;
        let lines = Lines::of(self.lines(), &mut parts)?;
        let (is_entangled, notes) = (self.is_entangled(), self.notes.clone());
        postcard::to_allocvec(&PackedFile { value, lines, is_entangled, notes }).ok()
    }

    /// Returns the file that was packed, or `None` if these bytes are not one.
    pub fn unpack(bytes: &[u8], format: Format) -> Option<DataFile> {
        let PackedFile { value: Unpacked(value), lines, is_entangled, notes } = postcard::from_bytes(bytes).ok()?;
        Some(DataFile::parsed(format, value, lines.marks(), is_entangled).with_notes(notes))
    }
}

impl Lines {
    fn of(marks: &Marks, parts: &mut usize) -> Option<Lines> {
        *parts = parts.checked_sub(1)?;
        let children = marks.children.iter().map(|marks| Lines::of(marks, parts)).collect::<Option<_>>()?;
        Some(Lines(marks.line, children))
    }

    fn marks(self) -> Marks {
        Marks { line: self.0, children: self.1.into_iter().map(Lines::marks).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_file_is_the_file() {
        let content = b"a: {b: [1, {c: x}]}\n\nd: '%{a}'\n<<: {e: f}\ng: +.inf\n";
        for format in [Format::Yaml, Format::Yaml34, Format::Hiera3Yaml, Format::Hiera3YamlAliases] {
            let file = DataFile::parse(content, format);
            let again = DataFile::unpack(&file.pack().unwrap(), format).unwrap();
            assert_eq!(format!("{again:?}"), format!("{file:?}"));
        }
        assert!(DataFile::parse(b"a: [", Format::Yaml).pack().is_none());
        assert!(DataFile::unpack(b"nonsense", Format::Yaml).is_none());
    }
}
