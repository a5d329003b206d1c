//! Builds the text of an interpolation.

use std::mem;
use std::sync::Arc;

use crate::value::hole::{Hole, Piece};
use crate::value::{Text, Value};

/// A text being built.
pub(super) struct Output {
    /// The bytes since the last hole.
    bytes: Vec<u8>,
    /// The pieces up to the last hole; empty if there is no hole.
    pieces: Vec<Piece>,
}

impl Output {
    pub(super) fn with_capacity(bytes: usize) -> Output {
        Output { bytes: Vec::with_capacity(bytes), pieces: Vec::new() }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Adds a hole. Its text is read if the bytes before it are not UTF-8.
    pub(super) fn add_hole(&mut self, hole: Arc<Hole>) {
        match String::from_utf8(mem::take(&mut self.bytes)) {
            Ok(text) => {
                if !text.is_empty() {
                    self.pieces.push(Piece::Literal(text.into()));
                }
                self.pieces.push(Piece::Hole(hole));
            }
            Err(error) => {
                self.bytes = error.into_bytes();
                self.bytes.extend(hole.read().bytes());
            }
        }
    }

    pub(super) fn add_pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Literal(text) => self.add(text.as_bytes()),
                Piece::Hole(hole) => self.add_hole(hole.clone()),
            }
        }
    }

    /// Returns the text, or bytes if it is not UTF-8.
    pub(super) fn finish(mut self) -> Value {
        if self.pieces.is_empty() {
            return Value::bytes(self.bytes);
        }
        match String::from_utf8(self.bytes) {
            Ok(text) => {
                if !text.is_empty() {
                    self.pieces.push(Piece::Literal(text.into()));
                }
                Value::String(Text::of_pieces(self.pieces))
            }
            Err(error) => {
                let mut bytes = Text::of_pieces(self.pieces).as_bytes().to_vec();
                bytes.extend(error.into_bytes());
                Value::bytes(bytes)
            }
        }
    }
}
