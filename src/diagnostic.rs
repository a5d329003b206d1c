//! Diagnostics: findings about data, configuration or settings, with their places. They travel along with values and
//! stop nothing.

use std::fmt;
use std::sync::Arc;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; `check` does not count it as a fault.
    Note,
    /// Something has no effect, or not the effect that it seems to have.
    Warning,
    /// Lookups fail, or hierad cannot know the answer.
    Error,
}

/// A place in the data: a file and a line in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file: relative to the root of the repository, absolute outside of it.
    pub path: Arc<str>,
    /// The line, counted from 1, if it is known.
    pub line: Option<u32>,
}

impl Place {
    /// Returns a file as a whole.
    pub fn file(path: impl Into<Arc<str>>) -> Place {
        Place { path: path.into(), line: None }
    }

    /// Returns a line of a file.
    pub fn line(path: impl Into<Arc<str>>, line: u32) -> Place {
        Place { path: path.into(), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// The subject of a finding or a failed lookup, for code that decides by it; the text names it, too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An alias of a YAML document that its reader refuses.
    Alias,
    /// A backend of Hiera 3, by its name.
    Backend(Arc<str>),
    /// A file whose content is different in a checkout.
    Converted,
    /// A function that cannot be found here, by its name.
    Function(Arc<str>),
    /// A method of interpolation, where none is allowed.
    Method,
    /// A module, by its name.
    Module(Arc<str>),
    /// A path that leads out of the repository, and a clause that says how.
    Outside {
        /// The part of the path that is the reason.
        path: Arc<str>,
        /// A clause such as `data/x is a submodule`.
        how: Arc<str>,
    },
    /// An error that the code of a function raises, as Puppet words it.
    Raised(Arc<str>),
    /// A secret that is not decrypted here.
    Secret,
    /// A variable without a value, by its name.
    Variable(Arc<str>),
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    /// Its place, if it has one.
    pub place: Option<Place>,
    /// Its severity.
    pub severity: Severity,
    /// A stable name for the kind of finding, such as `yaml-syntax`.
    pub code: &'static str,
    /// One sentence for a person.
    pub text: String,
    /// The subject, if code decides by it.
    pub subject: Option<Subject>,
}

impl Diagnostic {
    /// Returns a finding of `severity`.
    pub fn new(severity: Severity, code: &'static str, place: Option<Place>, text: impl Into<String>) -> Diagnostic {
        Diagnostic { place, severity, code, text: text.into(), subject: None }
    }

    /// Returns the same finding with a subject.
    #[must_use]
    pub fn about(self, subject: Subject) -> Diagnostic {
        Diagnostic { subject: Some(subject), ..self }
    }

    /// Returns an error.
    pub fn error(code: &'static str, place: Option<Place>, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, place, text)
    }

    /// Returns a warning.
    pub fn warning(code: &'static str, place: Option<Place>, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, place, text)
    }

    /// Returns a note.
    pub fn note(code: &'static str, place: Option<Place>, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, place, text)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}: {} [{}]", self.severity, self.text, self.code)
    }
}

/// Returns the text of an error and of its causes, outermost first, without repetitions.
pub fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}
