//! Failures of Puppet and Ruby, in their words.
//!
//! An [`Error`] of the kind [`ErrorKind::Puppet`] fails in Puppet with the same text; [`ErrorKind::Unknown`] means that
//! hierad cannot tell what Puppet does. A text that may show a secret is sealed.

use std::fmt;

use crate::value::{Secrecy, Text};

/// The program that cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Puppet fails, too.
    Puppet,
    /// Puppet has an answer, or may have one, that hierad cannot know.
    Unknown,
}

/// A failure. The text is Puppet's where Puppet fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The program that cannot answer.
    pub kind: ErrorKind,
    /// One sentence; a secret where it may show one.
    pub text: Text,
}

impl Error {
    /// Returns a failure that Puppet has too.
    pub fn puppet(text: impl Into<Text>) -> Error {
        Error { kind: ErrorKind::Puppet, text: text.into() }
    }

    /// Returns the failure to know what Puppet does.
    pub fn unknown(text: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Unknown, text: format!("unknown to hierad: {text}").into() }
    }

    /// Returns the same error, which may show something as secret as `secrecy` says.
    #[must_use]
    pub fn sealed(self, secrecy: Option<Secrecy>) -> Error {
        Error { text: Text::with(self.text, secrecy), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.visible())
    }
}
