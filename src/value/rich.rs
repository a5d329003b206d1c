//! The values of Puppet's types that data files cannot hold.

use super::{Secrecy, Value};

/// A value of one of Puppet's own types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rich {
    /// `Sensitive`: Puppet itself shows nothing of what is inside.
    Sensitive(Value),
}

impl Rich {
    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Rich::Sensitive(_) => "Sensitive",
        }
    }

    /// As Puppet writes it where text is wanted.
    pub fn to_text(&self) -> String {
        match self {
            Rich::Sensitive(_) => "Sensitive [value redacted]".into(),
        }
    }

    /// How secret it is.
    pub fn secrecy(&self) -> Option<Secrecy> {
        match self {
            Rich::Sensitive(value) => value.secrecy().or(Some(Secrecy::SENSITIVE)),
        }
    }
}
