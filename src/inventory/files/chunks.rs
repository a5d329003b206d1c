//! Divides files of node profiles into chunks for parallel reading.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::file::ProfileFile;
use super::line_chunks::LineChunks;
use crate::node::{Form, ProfileError, begins_with_fact_row};

/// The maximum number of files in a chunk.
const MAX_FILES_PER_CHUNK: usize = 16;

/// A unit of parallel work.
pub(super) enum Chunk {
    /// Some whole files.
    Files(Range<usize>),
    /// Some lines of a file.
    Lines {
        file: usize,
        /// The number of lines before them.
        lines_before: u32,
        content: Result<Vec<u8>, ProfileError>,
    },
}

/// An iterator over the chunks of all files.
pub(super) struct Chunks<'a> {
    files: &'a [ProfileFile],
    next: usize,
    /// The file that is being divided by lines.
    lines: Option<LineChunks>,
    /// The number of files in a chunk.
    files_per_chunk: usize,
}

impl<'a> Chunks<'a> {
    /// Returns the chunks of `files` for a number of threads.
    pub(super) fn of(files: &'a [ProfileFile], threads: NonZeroUsize) -> Chunks<'a> {
        let files_per_chunk = (files.len() / threads / 4).clamp(1, MAX_FILES_PER_CHUNK);
        Chunks { files, next: 0, lines: None, files_per_chunk }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        loop {
            if let Some(lines) = &mut self.lines {
                let file = self.next - 1;
                let lines_before = lines.lines_passed();
                match lines.next() {
                    // The facts of one node may be spread over the file, so it stays whole.
                    Some(Ok(content)) if lines_before == 0 && begins_with_fact_row(&content) => {
                        self.lines = None;
                        return Some(Chunk::Files(file..self.next));
                    }
                    Some(content) => {
                        let content = content.map_err(|error| self.files[file].unreadable(&error));
                        self.lines = self.lines.take().filter(|_| content.is_ok());
                        return Some(Chunk::Lines { file, lines_before, content });
                    }
                    None => self.lines = None,
                }
            }
            let file = self.next;
            if self.files.get(file)?.form() != Form::Lines {
                let rest = self.files[file..].iter().take(self.files_per_chunk);
                self.next += rest.take_while(|file| file.form() != Form::Lines).count();
                return Some(Chunk::Files(file..self.next));
            }
            self.next += 1;
            match self.files[file].open() {
                Ok(opened) => self.lines = Some(LineChunks::new(opened)),
                Err(error) => return Some(Chunk::Lines { file, lines_before: 0, content: Err(error) }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::files::found;

    /// Returns the chunks of files, as the names of whole files, or as the name of a file with the lines before and in
    /// the chunk.
    fn chunks(names: &[&str], threads: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        for path in &paths {
            std::fs::write(path, "{}\n".repeat(100_000)).unwrap();
        }
        let files = found(None, &paths).unwrap().files;
        let shown = |chunk| match chunk {
            Chunk::Files(range) => names[range].join(" "),
            Chunk::Lines { file, lines_before, content } => {
                format!("{} {lines_before}+{}", names[file], memchr::memchr_iter(b'\n', &content.unwrap()).count())
            }
        };
        Chunks::of(&files, NonZeroUsize::new(threads).unwrap()).map(shown).collect()
    }

    #[test]
    fn each_file_is_in_one_chunk() {
        let names = ["a.yaml", "b.ndjson", "c.json", "d.json", "e.yaml", "f.yaml", "g.yaml", "h.yaml"];
        let of_lines = ["b.ndjson 0+43690", "b.ndjson 43690+43691", "b.ndjson 87381+12619"];
        let expected = [&["a.yaml"], &of_lines[..], &["c.json d.json", "e.yaml f.yaml", "g.yaml h.yaml"]].concat();
        assert_eq!(chunks(&names, 1), expected);
        assert_eq!(chunks(&names[..3], 4), [&["a.yaml"], &of_lines[..], &["c.json"]].concat());
        assert_eq!(chunks(&[], 1), [""; 0]);
    }
}
