//! The values of Puppet's types that data files cannot hold.

use super::{Hidden, Secrecy, Value};

/// A value of one of Puppet's own types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rich {
    /// `Sensitive`: Puppet itself shows nothing of what is inside. Made by [`Rich::sensitive`]; what is inside is no secret only
    /// where somebody asked to see it.
    Sensitive(Value),
    /// What stands for a secret in an output. No lookup answers it.
    Hidden(Hidden),
}

impl Rich {
    /// `Sensitive[value]`, with everything inside sealed.
    pub fn sensitive(value: &Value) -> Rich {
        Rich::Sensitive(value.sealed(Some(Secrecy::SENSITIVE)))
    }

    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Rich::Sensitive(_) => "Sensitive",
            Rich::Hidden(hidden) => hidden.type_name(),
        }
    }

    /// As Puppet writes it where text is wanted.
    pub fn to_text(&self) -> String {
        match self {
            Rich::Sensitive(_) => "Sensitive [value redacted]".into(),
            Rich::Hidden(hidden) => hidden.to_string(),
        }
    }

    /// How secret it is.
    pub fn secrecy(&self) -> Option<Secrecy> {
        match self {
            Rich::Sensitive(value) => value.secrecy().or(Some(Secrecy::SENSITIVE)),
            Rich::Hidden(_) => None,
        }
    }
}
