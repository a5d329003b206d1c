//! Holes: parts that were inserted into texts without being read.
//!
//! A text that differs from node to node only by inserted variables need not be made for each node. So a variable
//! can be inserted as a [`Hole`], which has the variable's text on the current node. A text with holes behaves like
//! any other text; reading it marks its holes as read. If a hole is unread in the end, then everything would have
//! been the same with another text in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A place in texts for something that may never need to be read.
#[derive(Debug)]
pub struct Hole {
    /// Distinguishes it from the others of one evaluation.
    pub number: usize,
    text: Arc<str>,
    is_read: AtomicBool,
}

impl Hole {
    /// Makes an unread hole with this text in it.
    pub fn new(number: usize, text: Arc<str>) -> Hole {
        Hole { number, text, is_read: AtomicBool::new(false) }
    }

    /// Returns true if the text with the hole has been read.
    pub fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    /// Returns the length of its text, without reading the hole.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Reads the text in it.
    pub fn read(&self) -> &str {
        self.is_read.store(true, Ordering::Relaxed);
        &self.text
    }
}

/// A piece of a text with holes.
#[derive(Debug, Clone)]
pub enum Piece {
    /// The same on all nodes.
    Literal(Arc<str>),
    /// A hole.
    Hole(Arc<Hole>),
}

/// A text with holes.
#[derive(Debug)]
pub(super) struct OpenText {
    text: Box<str>,
    pieces: Vec<Piece>,
}

impl OpenText {
    pub(super) fn new(pieces: Vec<Piece>) -> OpenText {
        let part = |piece: &Piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Hole(hole) => hole.text.clone(),
        };
        let text = pieces.iter().map(part).fold(String::new(), |text, part| text + &part).into();
        OpenText { text, pieces }
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    /// Reads the text, and so all of its holes.
    pub(super) fn read(&self) -> &str {
        for piece in &self.pieces {
            if let Piece::Hole(hole) = piece {
                hole.read();
            }
        }
        &self.text
    }
}
