//! Failures of Puppet and Ruby, in their words.
//!
//! An [`Error`] is one of Puppet's, with the same text, unless it is [`ErrorKind::Unknown`]: then hierad cannot tell
//! what Puppet does. A text that may show a secret is sealed.

use std::fmt;

use crate::value::{Secrecy, Text};

/// The kind of failure.
///
/// Source: `lookup_global` of `puppet/pops/lookup/lookup_adapter.rb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// Puppet fails, too, with an error about a lookup: Puppet's global layer says which key it was.
    Puppet,
    /// The same, passed on by the global layer, which named the key: the error is one about a lookup again (in Ruby,
    /// `DataBinding::LookupError` and not `Puppet::Error`) when the search that needed the key passes it on.
    Global,
    /// Puppet fails, too, with an error that is passed on as it is: one with an issue code, or one of Ruby's.
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

/// A failure. The text is Puppet's if Puppet fails, too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// One sentence, which is itself secret if it may show a secret.
    pub text: Text,
}

impl Error {
    /// Returns a failure that Puppet has too.
    pub fn puppet(text: impl Into<Text>) -> Error {
        Error { kind: ErrorKind::Puppet, text: text.into() }
    }

    /// Returns a failure that Puppet has too, and passes on as it is ([`ErrorKind::Bare`]).
    pub fn bare(text: impl Into<Text>) -> Error {
        Error { kind: ErrorKind::Bare, text: text.into() }
    }

    /// Returns the failure to know what Puppet does.
    pub fn unknown(text: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Unknown, text: format!("unknown to hierad: {text}").into() }
    }

    /// Returns the same error, with the secrecy of something that it may reveal.
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
