//! Failures of Puppet and Ruby, in their words.
//!
//! An [`Error`] fails in Puppet with the same text, unless it is [`ErrorKind::Unknown`]: hierad cannot tell what Puppet
//! does. A text that may show a secret is sealed.

use std::fmt;

use crate::value::{Secrecy, Text};

/// The way in which there is no answer.
///
/// Source: `lookup_global` of `puppet/pops/lookup/lookup_adapter.rb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Puppet fails, too, by an error about a lookup: Puppet's global layer says which key it was.
    Puppet,
    /// Puppet fails, too, by an error that stands for itself: one with an issue code, or one of Ruby's.
    Bare,
    /// Puppet has an answer, or may have one, that hierad cannot know.
    Unknown,
}

impl ErrorKind {
    /// Returns true if hierad cannot know what Puppet does.
    pub fn is_unknown(self) -> bool {
        self == ErrorKind::Unknown
    }
}

/// A failure. The text is Puppet's where Puppet fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The way in which there is no answer.
    pub kind: ErrorKind,
    /// One sentence; a secret where it may show one.
    pub text: Text,
}

impl Error {
    /// Returns a failure that Puppet has too.
    pub fn puppet(text: impl Into<Text>) -> Error {
        Error { kind: ErrorKind::Puppet, text: text.into() }
    }

    /// Returns a failure that Puppet has too, which stands for itself ([`ErrorKind::Bare`]).
    pub fn bare(text: impl Into<Text>) -> Error {
        Error { kind: ErrorKind::Bare, text: text.into() }
    }

    /// Returns the failure to know what Puppet does.
    pub fn unknown(text: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Unknown, text: format!("unknown to hierad: {text}").into() }
    }

    /// Returns the same error, which may reveal something as secret as `secrecy`.
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
