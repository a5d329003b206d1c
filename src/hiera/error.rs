//! Why a lookup has no answer.

use crate::diagnostic::Place;
use crate::value::{Secrecy, Text};
use std::fmt;

/// Who cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Puppet fails on the key too.
    Puppet,
    /// Puppet has an answer, or may have one, that hierad cannot know.
    Unknown,
}

/// A lookup that failed. The text is Puppet's where Puppet fails.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub struct LookupError {
    /// Who cannot answer.
    pub kind: ErrorKind,
    /// One sentence; a secret where it may show one.
    pub text: Text,
    /// Where in the repository the cause is, if that is known.
    pub place: Option<Place>,
}

impl LookupError {
    /// A failure that Puppet has too.
    pub fn puppet(text: impl Into<Text>) -> LookupError {
        LookupError { kind: ErrorKind::Puppet, text: text.into(), place: None }
    }

    /// An answer that hierad cannot know.
    pub fn unknown(text: impl fmt::Display) -> LookupError {
        LookupError { kind: ErrorKind::Unknown, text: format!("unknown to hierad: {text}").into(), place: None }
    }

    /// The same error, which may show something as secret as `secrecy` says.
    #[must_use]
    pub fn sealed(self, secrecy: Option<Secrecy>) -> LookupError {
        LookupError { text: Text::with(self.text, secrecy), ..self }
    }

    /// The same error at `place`, unless it has a place already.
    #[must_use]
    pub fn at(mut self, place: Place) -> LookupError {
        self.place.get_or_insert(place);
        self
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.visible())?;
        match &self.place {
            Some(place) if !self.text.contains(&*place.path) => write!(f, " ({place})"),
            _ => Ok(()),
        }
    }
}
