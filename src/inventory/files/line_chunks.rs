//! Divides a file into chunks of whole lines.

use std::fs::File;
use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

/// The approximate size of a chunk: a chunk and its results fit into a processor's cache.
const CHUNK_SIZE: usize = 1 << 17;

/// The longest line. The facts of one node take a thousandth of this.
const MAX_LINE_SIZE: usize = 256 << 20;

/// The chunks of a file.
pub(super) struct LineChunks {
    file: File,
    /// The beginning of the next chunk's first line.
    next_line_start: Vec<u8>,
    /// The number of lines in the chunks so far.
    lines_passed: u32,
}

impl LineChunks {
    pub(super) fn new(file: File) -> LineChunks {
        LineChunks { file, next_line_start: Vec::new(), lines_passed: 0 }
    }

    pub(super) fn lines_passed(&self) -> u32 {
        self.lines_passed
    }

    /// Returns the next chunk, or `None` at the end of the file.
    pub(super) fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut chunk = std::mem::take(&mut self.next_line_start);
        loop {
            let start = chunk.len();
            // One byte more, so that the end of the file shows without growing the buffer.
            chunk.reserve(CHUNK_SIZE + 1);
            match self.file.by_ref().take(CHUNK_SIZE as u64).read_to_end(&mut chunk) {
                Err(error) => return Some(Err(error)),
                Ok(0) => break,
                Ok(_) => {}
            }
            if let Some(end) = memrchr(b'\n', &chunk[start..]) {
                self.next_line_start = chunk.split_off(start + end + 1);
                break;
            }
            if chunk.len() > MAX_LINE_SIZE {
                return Some(Err(io::Error::other(format!(
                    "line {} is too long",
                    self.lines_passed.saturating_add(1)
                ))));
            }
        }
        let lines = memchr_iter(b'\n', &chunk).count();
        self.lines_passed = self.lines_passed.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        (!chunk.is_empty()).then_some(Ok(chunk))
    }
}
