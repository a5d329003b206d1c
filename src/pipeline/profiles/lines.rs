//! A file in pieces of whole lines.

use std::fs::File;
use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

/// About how large a piece is: what is made of it stays in a processor's cache with it.
const PIECE: usize = 1 << 17;

/// The longest line: the facts of one node are a thousandth of this.
const LONGEST: usize = 256 << 20;

/// The pieces of a file.
pub(super) struct Lines {
    file: File,
    /// What was read of the line that the next piece begins with.
    begun: Vec<u8>,
    /// How many lines the pieces so far had.
    passed: u32,
}

impl Lines {
    pub(super) fn new(file: File) -> Lines {
        Lines { file, begun: Vec::new(), passed: 0 }
    }

    pub(super) fn passed(&self) -> u32 {
        self.passed
    }

    /// The next piece; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut piece = std::mem::take(&mut self.begun);
        loop {
            let start = piece.len();
            // A byte more, so that the end shows without growing.
            piece.reserve(PIECE + 1);
            match self.file.by_ref().take(PIECE as u64).read_to_end(&mut piece) {
                Err(error) => return Some(Err(error)),
                Ok(0) => break,
                Ok(_) => {}
            }
            if let Some(end) = memrchr(b'\n', &piece[start..]) {
                self.begun = piece.split_off(start + end + 1);
                break;
            }
            if piece.len() > LONGEST {
                return Some(Err(io::Error::other(format!("line {} is too long", self.passed.saturating_add(1)))));
            }
        }
        let lines = memchr_iter(b'\n', &piece).count();
        self.passed = self.passed.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        (!piece.is_empty()).then_some(Ok(piece))
    }
}
