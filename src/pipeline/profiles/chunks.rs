//! How files of node profiles are divided among those who read them.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::file::ProfileFile;
use super::line_chunks::LineChunks;
use crate::node::{Form, ProfileError, begins_with_row};

/// The most files that are read one after the other.
const AT_ONCE: usize = 16;

/// What is read on its own.
pub(super) enum Chunk {
    /// Some whole files.
    Files(Range<usize>),
    /// Some lines of a file.
    Lines {
        file: usize,
        /// How many lines of the file are in front of them.
        before: u32,
        content: Result<Vec<u8>, ProfileError>,
    },
}

/// Gives out the files chunk by chunk.
pub(super) struct Chunks<'a> {
    files: &'a [ProfileFile],
    next: usize,
    /// The file that is being read line by line.
    lines: Option<LineChunks>,
    /// How many files are given out at once.
    at_once: usize,
}

impl<'a> Chunks<'a> {
    /// All chunks of `files`, for so many threads.
    pub(super) fn of(files: &'a [ProfileFile], threads: NonZeroUsize) -> Chunks<'a> {
        let at_once = (files.len() / threads / 4).clamp(1, AT_ONCE);
        Chunks { files, next: 0, lines: None, at_once }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        loop {
            if let Some(lines) = &mut self.lines {
                let file = self.next - 1;
                let before = lines.passed();
                match lines.next() {
                    // Facts of one node may be in any two chunks.
                    Some(Ok(content)) if before == 0 && begins_with_row(&content) => {
                        self.lines = None;
                        return Some(Chunk::Files(file..self.next));
                    }
                    Some(content) => {
                        let content = content.map_err(|error| self.files[file].unreadable(&error));
                        self.lines = self.lines.take().filter(|_| content.is_ok());
                        return Some(Chunk::Lines { file, before, content });
                    }
                    None => self.lines = None,
                }
            }
            let file = self.next;
            if self.files.get(file)?.form() != Form::Lines {
                let rest = self.files[file..].iter().take(self.at_once);
                self.next += rest.take_while(|file| file.form() != Form::Lines).count();
                return Some(Chunk::Files(file..self.next));
            }
            self.next += 1;
            match self.files[file].open() {
                Ok(opened) => self.lines = Some(LineChunks::new(opened)),
                Err(error) => return Some(Chunk::Lines { file, before: 0, content: Err(error) }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::profiles::found;

    /// The chunks of these files, for so many threads: names, and of lines how many are in front of them.
    fn chunks(names: &[&str], threads: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        for path in &paths {
            std::fs::write(path, "{}\n".repeat(100_000)).unwrap();
        }
        let files = found(&paths).unwrap().files;
        let shown = |chunk| match chunk {
            Chunk::Files(range) => names[range].join(" "),
            Chunk::Lines { file, before, content } => {
                format!("{} {before}+{}", names[file], memchr::memchr_iter(b'\n', &content.unwrap()).count())
            }
        };
        Chunks::of(&files, NonZeroUsize::new(threads).unwrap()).map(shown).collect()
    }

    #[test]
    fn each_file_is_given_out_once() {
        let names = ["a.yaml", "b.ndjson", "c.json", "d.json", "e.yaml", "f.yaml", "g.yaml", "h.yaml"];
        let of_lines = ["b.ndjson 0+43690", "b.ndjson 43690+43691", "b.ndjson 87381+12619"];
        let expected = [&["a.yaml"], &of_lines[..], &["c.json d.json", "e.yaml f.yaml", "g.yaml h.yaml"]].concat();
        assert_eq!(chunks(&names, 1), expected);
        assert_eq!(chunks(&names[..3], 4), [&["a.yaml"], &of_lines[..], &["c.json"]].concat());
        assert_eq!(chunks(&[], 1), [""; 0]);
    }
}
