//! Failures of lookups.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Place, Subject};
use crate::puppet;
use crate::puppet::ErrorKind;
use crate::puppet::document::Fault;
use crate::puppet::glob::GlobError;
use crate::value::{Secrecy, Text, Value};

/// A lookup that failed. If Puppet fails, too, the text is Puppet's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub struct LookupError {
    /// Distinguishes Puppet's failures from hierad's own.
    pub kind: ErrorKind,
    /// One sentence. It is a secret if it may show one.
    pub text: Text,
    /// The place of the cause in the repository, if that is known.
    pub place: Option<Place>,
    /// The thing that the failure is about, if decisions depend on that.
    pub subject: Option<Arc<Subject>>,
}

/// The failure of a function, which Puppet reports, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Puppet's error text.
    pub text: String,
    /// The line of the function's code that raises it, if that is known.
    pub place: Option<Place>,
}

impl LookupError {
    /// Returns a failure that Puppet reports, too.
    pub fn puppet(text: impl Into<Text>) -> LookupError {
        puppet::Error::puppet(text).into()
    }

    /// Returns a failure that Puppet reports, too, without adding anything to its text ([`ErrorKind::Bare`]).
    pub fn bare(text: impl Into<Text>) -> LookupError {
        puppet::Error::bare(text).into()
    }

    /// Returns Ruby's error for a `method` that `value` does not have.
    pub(super) fn undefined_method(method: &str, value: &Value) -> LookupError {
        let (shown, class) = (value.inspect(), value.class_name());
        LookupError::bare(format!("undefined method `{method}' for {shown}:{class}"))
    }

    /// Returns the failure of a function. The function is named if its code raised the error, whose text may not
    /// mention it.
    pub(super) fn raised(function: &str, failed: Failed) -> LookupError {
        let Failed { text, place } = failed;
        if place.is_none() {
            return LookupError::puppet(text);
        }
        let error = LookupError::puppet(format!("{text} (raised by the function '{function}')"));
        LookupError { place, ..error.about(Subject::Raised(text.into())) }
    }

    /// Returns the text as Puppet has it, which the code of functions may look at.
    pub(super) fn puppets_text(&self) -> &str {
        match self.subject.as_deref() {
            Some(Subject::Raised(text)) => text,
            _ => &self.text,
        }
    }

    /// Returns the failure of a lookup whose answer hierad cannot know.
    pub fn unknown(text: impl fmt::Display) -> LookupError {
        puppet::Error::unknown(text).into()
    }

    /// Returns the failure of every lookup in a faulty document. `text` is Puppet's message if Puppet fails, too.
    pub(super) fn document(fault: &Fault, text: String) -> LookupError {
        if fault.kind.is_unknown() { LookupError::unknown(text) } else { LookupError::puppet(text) }
    }

    /// Returns the same error, marked as one that may reveal something as secret as `secrecy`.
    #[must_use]
    pub fn sealed(self, secrecy: Option<Secrecy>) -> LookupError {
        LookupError { text: Text::with(self.text, secrecy), ..self }
    }

    /// Returns the same error as Puppet's global layer passes it on: it names the key, unless the error is
    /// [bare](ErrorKind::Bare) or unknown.
    #[must_use]
    pub(super) fn of_key(self, key: &str) -> LookupError {
        match self.kind {
            ErrorKind::Puppet | ErrorKind::Global => {
                let failed = |text: &str| format!("Lookup of key '{key}' failed: {text}");
                let text = Text::with(failed(&self.text), self.text.secrecy());
                let subject = match self.subject.as_deref() {
                    Some(Subject::Raised(text)) => Some(Arc::new(Subject::Raised(failed(text).into()))),
                    _ => self.subject,
                };
                LookupError { kind: ErrorKind::Global, text, subject, ..self }
            }
            ErrorKind::Bare | ErrorKind::Unknown => self,
        }
    }

    /// Returns the same error as the search of a layer passes it on.
    ///
    /// Source: `check` of `puppet/pops/lookup/invocation.rb`.
    #[must_use]
    pub(super) fn of_search(self) -> LookupError {
        let kind = if self.kind == ErrorKind::Global { ErrorKind::Puppet } else { self.kind };
        LookupError { kind, ..self }
    }

    /// Returns the same error with a subject.
    #[must_use]
    pub(super) fn about(self, subject: Subject) -> LookupError {
        LookupError { subject: Some(subject.into()), ..self }
    }

    /// Returns the same error with the subject of this fault of a document.
    #[must_use]
    pub(super) fn of_fault(self, fault: &Fault) -> LookupError {
        LookupError { subject: fault.subject().map(Arc::new), ..self }
    }

    /// Returns the missing function, if that is what the error is about.
    pub fn missing_function(&self) -> Option<&str> {
        match self.subject.as_deref() {
            Some(Subject::Function(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the same error at `place`, unless it has a place already.
    #[must_use]
    pub fn at(mut self, place: Place) -> LookupError {
        self.place.get_or_insert(place);
        self
    }
}

impl From<puppet::Error> for LookupError {
    fn from(error: puppet::Error) -> LookupError {
        LookupError { kind: error.kind, text: error.text, place: None, subject: None }
    }
}

impl From<GlobError> for LookupError {
    fn from(error: GlobError) -> LookupError {
        match error {
            GlobError::Ruby(text) => LookupError::puppet(text),
            GlobError::Tree(_) | GlobError::TooMuch { .. } => LookupError::unknown(error),
        }
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
