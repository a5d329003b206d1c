//! The values of Puppet's types that data files cannot hold.

mod range;
pub mod regexp;
pub mod timespan;
pub mod timestamp;
pub mod types;
mod uri;
mod version;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Hidden, Secrecy, Value};

pub use range::{Comparator, VersionRange};
use types::Type;
pub use uri::Uri;
pub use version::Version;

/// A value of one of Puppet's own types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rich {
    /// `Sensitive`: Puppet itself shows nothing of the content. Made by [`Rich::sensitive`]; the content is unmarked
    /// only where somebody asked to see it.
    Sensitive(Value),
    /// The stand-in for a secret in an output. No lookup returns it.
    Hidden(Hidden),
    /// A point in time, in nanoseconds from 1970 on.
    Timestamp(i128),
    /// A length of time, in nanoseconds.
    Timespan(i128),
    /// A version.
    SemVer(Version),
    /// A range of versions.
    SemVerRange(VersionRange),
    /// A regular expression.
    Regexp(Arc<str>),
    /// Bytes.
    Binary(Arc<[u8]>),
    /// A URI.
    Uri(Uri),
    /// A data type.
    Type(Type),
    /// A Ruby object that a YAML tag makes: the name of its class, `Class` or `Encoding`, and its own name.
    Ruby(&'static str, Arc<str>),
}

impl Rich {
    /// Returns `Sensitive[value]`, with everything inside sealed.
    pub fn sensitive(value: &Value) -> Rich {
        Rich::Sensitive(value.sealed(Some(Secrecy::SENSITIVE)))
    }

    /// Returns the name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Rich::Sensitive(_) => "Sensitive",
            Rich::Hidden(hidden) => hidden.type_name(),
            Rich::Timestamp(_) => "Timestamp",
            Rich::Timespan(_) => "Timespan",
            Rich::SemVer(_) => "SemVer",
            Rich::SemVerRange(_) => "SemVerRange",
            Rich::Regexp(_) => "Regexp",
            Rich::Binary(_) => "Binary",
            Rich::Uri(_) => "URI",
            Rich::Type(_) => "Type",
            Rich::Ruby(class, _) => class,
        }
    }

    /// Returns the name of the value's Ruby class.
    pub fn class_name(&self) -> Cow<'static, str> {
        let name = match self {
            Rich::Sensitive(_) | Rich::Hidden(_) => "Puppet::Pops::Types::PSensitiveType::Sensitive",
            Rich::Timestamp(_) => "Puppet::Pops::Time::Timestamp",
            Rich::Timespan(_) => "Puppet::Pops::Time::Timespan",
            Rich::SemVer(_) => "SemanticPuppet::Version",
            Rich::SemVerRange(_) => "SemanticPuppet::VersionRange",
            Rich::Binary(_) => "Puppet::Pops::Types::PBinaryType::Binary",
            Rich::Uri(uri) => return uri.class_name().into(),
            Rich::Type(kind) => return format!("Puppet::Pops::Types::P{}Type", kind.simple_name()).into(),
            Rich::Regexp(_) | Rich::Ruby(..) => self.type_name(),
        };
        name.into()
    }

    /// Returns the text that Puppet writes if text is wanted: Ruby's `to_s`.
    pub fn to_text(&self) -> String {
        match self {
            Rich::Sensitive(_) => "Sensitive [value redacted]".into(),
            Rich::Hidden(hidden) => hidden.to_string(),
            Rich::Timestamp(time) => timestamp::text(*time),
            Rich::Timespan(span) => timespan::text(*span),
            Rich::SemVer(version) => version.to_string(),
            Rich::SemVerRange(range) => range.to_string(),
            Rich::Regexp(pattern) => regexp::to_s(pattern),
            Rich::Binary(bytes) => STANDARD.encode(bytes),
            Rich::Uri(uri) => uri.to_string(),
            Rich::Type(kind) => kind.to_string(),
            Rich::Ruby(_, name) => name.to_string(),
        }
    }

    /// Returns Ruby's `inspect`. Some values show a memory address: see [`Rich::has_address`].
    pub fn inspect(&self) -> String {
        match self {
            Rich::Sensitive(_) => "#<Sensitive [value redacted]>".into(),
            Rich::Regexp(pattern) => regexp::inspect(pattern),
            Rich::SemVerRange(range) => range.inspect(),
            Rich::Uri(uri) => format!("#<{} {uri}>", uri.class_name()),
            Rich::Ruby("Encoding", name) => format!("#<Encoding:{name}>"),
            other => other.to_text(),
        }
    }

    /// Returns true if Ruby shows the memory address of the value when it is inside something else.
    pub fn has_address(&self) -> bool {
        matches!(self, Rich::Timestamp(_) | Rich::Timespan(_) | Rich::Binary(_) | Rich::Type(_))
    }

    /// Returns true if it is one of Puppet's scalars.
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Rich::Timestamp(_) | Rich::Timespan(_) | Rich::SemVer(_) | Rich::SemVerRange(_) | Rich::Regexp(_)
        )
    }

    /// Returns its secrecy, or `None` if it is not a secret.
    pub fn secrecy(&self) -> Option<Secrecy> {
        match self {
            Rich::Sensitive(value) => value.secrecy().or(Some(Secrecy::SENSITIVE)),
            _ => None,
        }
    }
}
