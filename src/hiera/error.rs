//! Why a lookup has no answer.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Place;

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
    /// One sentence.
    pub text: Arc<str>,
    /// Where in the repository the cause is, if that is known.
    pub place: Option<Place>,
}

impl LookupError {
    /// A failure that Puppet has too.
    pub fn puppet(text: impl Into<Arc<str>>) -> LookupError {
        LookupError { kind: ErrorKind::Puppet, text: text.into(), place: None }
    }

    /// An answer that hierad cannot know.
    pub fn unknown(text: impl fmt::Display) -> LookupError {
        LookupError { kind: ErrorKind::Unknown, text: format!("unknown to hierad: {text}").into(), place: None }
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
        f.write_str(&self.text)?;
        match &self.place {
            Some(place) if !self.text.contains(&*place.path) => write!(f, " ({place})"),
            _ => Ok(()),
        }
    }
}
