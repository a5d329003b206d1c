//! Annotations as workflow commands of GitHub Actions, which Gitea and Forgejo know, too.

use std::io::{self, Write};

use crate::diagnostic::Severity;
use crate::report::Annotation;

/// The most annotations of each level that a step can have.
const MOST: usize = 10;

/// Writes the annotations.
pub(super) fn write(annotations: &[Annotation], out: &mut dyn Write) -> io::Result<()> {
    for (level, name) in [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "notice")] {
        for annotation in annotations.iter().filter(|annotation| annotation.level == level).take(MOST) {
            let line = annotation.line.map(|line| format!(",line={line}")).unwrap_or_default();
            let (path, title) = (property(&annotation.path), property(&annotation.title));
            writeln!(out, "::{name} file={path}{line},title={title}::{}", data(&annotation.message))?;
        }
    }
    out.flush()
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
