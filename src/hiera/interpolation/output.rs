//! Builds the text of an interpolation.

use std::mem;
use std::sync::Arc;

use crate::hiera::LookupError;
use crate::hiera::budget::Budget;
use crate::hiera::stand_in::{made_digest, token};
use crate::value::hole::{Hole, Piece};
use crate::value::{Notation, Text, Value};

/// A text being built.
pub(in crate::hiera) struct Output {
    /// The bytes since the last hole.
    bytes: Vec<u8>,
    /// The pieces up to the last hole; empty if there is no hole.
    pieces: Vec<Piece>,
    /// True once letters beyond ASCII were added, holes aside.
    has_letters: bool,
    /// True once bytes beyond ASCII were added that have no encoding.
    has_bytes: bool,
}

impl Output {
    pub(in crate::hiera) fn with_capacity(bytes: usize) -> Output {
        Output { bytes: Vec::with_capacity(bytes), pieces: Vec::new(), has_letters: false, has_bytes: false }
    }

    pub(in crate::hiera) fn add(&mut self, text: &str) {
        self.has_letters |= !text.is_ascii();
        self.bytes.extend(text.as_bytes());
    }

    /// Adds bytes that have no encoding.
    fn add_bytes(&mut self, bytes: &[u8]) {
        self.has_bytes |= !bytes.is_ascii();
        self.bytes.extend(bytes);
    }

    /// Adds a hole. Its text is read if it stands beside bytes.
    pub(in crate::hiera) fn add_hole(&mut self, hole: Arc<Hole>) {
        if self.has_bytes {
            return self.add(hole.read());
        }
        self.end_piece();
        self.pieces.push(Piece::Hole(hole));
    }

    /// Makes the text since the last hole a piece.
    fn end_piece(&mut self) {
        let text = String::from_utf8(mem::take(&mut self.bytes)).unwrap_or_default();
        if !text.is_empty() {
            self.pieces.push(Piece::Literal(text.into()));
        }
    }

    /// Adds the text of a value.
    pub(in crate::hiera) fn add_value(
        &mut self,
        value: &Value,
        budget: &Budget,
        notation: Notation,
    ) -> Result<(), LookupError> {
        match value {
            Value::Bytes(bytes) => {
                budget.write(bytes.len())?;
                self.add_bytes(bytes);
            }
            Value::String(text) if let Some(pieces) = text.pieces() => {
                budget.write(text.size())?;
                self.add_pieces(pieces);
            }
            value if value.shows_address() => {
                let text = "Ruby's text of a value of Puppet's own types inside of another has an address in memory";
                return Err(LookupError::unknown(text));
            }
            value if value.has_surrogates() => {
                return Err(LookupError::unknown("Ruby's text of a list or hash with a text with surrogates in it"));
            }
            value => {
                let text = made_digest(value).map_or_else(|| value.text_in(notation), token);
                budget.write(text.len())?;
                self.add(&text);
            }
        }
        Ok(())
    }

    fn add_pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Literal(text) => self.add(text),
                Piece::Hole(hole) => self.add_hole(hole.clone()),
            }
        }
    }

    /// Returns the text, or bytes where some were added.
    pub(in crate::hiera) fn finish(mut self) -> Result<Value, LookupError> {
        if self.has_bytes {
            return self.finish_bytes();
        }
        if self.pieces.is_empty() {
            return Ok(Value::bytes(self.bytes));
        }
        self.end_piece();
        Ok(Value::String(Text::of_pieces(self.pieces)))
    }

    /// Ruby joins bytes with a text only if one of them is ASCII.
    fn finish_bytes(mut self) -> Result<Value, LookupError> {
        let has_letters = |piece: &Piece| matches!(piece, Piece::Hole(hole) if !hole.read().is_ascii());
        if self.has_letters || self.pieces.iter().any(has_letters) {
            return Err(LookupError::unknown("a text of letters beyond ASCII and of bytes without an encoding"));
        }
        let mut bytes = Text::of_pieces(mem::take(&mut self.pieces)).as_bytes().to_vec();
        bytes.append(&mut self.bytes);
        Ok(Value::binary(bytes))
    }
}
