//! A file in chunks of whole lines.

use std::fs::File;
use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

/// About how large a chunk is: what is made of it stays in a processor's cache with it.
const CHUNK: usize = 1 << 17;

/// The longest line: the facts of one node are a thousandth of this.
const LONGEST: usize = 256 << 20;

/// The chunks of a file.
pub(super) struct LineChunks {
    file: File,
    /// What was read of the line that the next chunk begins with.
    begun: Vec<u8>,
    /// How many lines the chunks so far had.
    passed: u32,
}

impl LineChunks {
    pub(super) fn new(file: File) -> LineChunks {
        LineChunks { file, begun: Vec::new(), passed: 0 }
    }

    pub(super) fn passed(&self) -> u32 {
        self.passed
    }

    /// The next chunk; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut chunk = std::mem::take(&mut self.begun);
        loop {
            let start = chunk.len();
            // A byte more, so that the end shows without growing.
            chunk.reserve(CHUNK + 1);
            match self.file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
                Err(error) => return Some(Err(error)),
                Ok(0) => break,
                Ok(_) => {}
            }
            if let Some(end) = memrchr(b'\n', &chunk[start..]) {
                self.begun = chunk.split_off(start + end + 1);
                break;
            }
            if chunk.len() > LONGEST {
                return Some(Err(io::Error::other(format!("line {} is too long", self.passed.saturating_add(1)))));
            }
        }
        let lines = memchr_iter(b'\n', &chunk).count();
        self.passed = self.passed.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        (!chunk.is_empty()).then_some(Ok(chunk))
    }
}
