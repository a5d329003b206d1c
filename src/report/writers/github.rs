//! Writes the report as workflow commands of GitHub Actions, which Gitea and Forgejo also understand: the verdict,
//! the blind spots and the annotations are shown on the run and at the lines of the pull request.

use std::io::{self, Write};

use crate::diagnostic::Severity;
use crate::report::words::visible::visible_lines;
use crate::report::{Annotation, Report};

/// The maximum number of commands of each level in one step.
const MAX_PER_LEVEL: usize = 10;

/// The levels of commands.
const LEVELS: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

/// Writes the report, with as many annotations of each level as a step can have.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "::notice title=hierad::{}", escape_data(&report.headline()))?;
    for spot in report.blind_spots.iter().take(MAX_PER_LEVEL) {
        let fix = spot.fix.as_ref().map(|fix| format!("\n{fix}")).unwrap_or_default();
        let name = if spot.is_standing { "notice" } else { "warning" };
        writeln!(out, "::{name} title=hierad%3A blind spot::{}", escape_data(&format!("{}{fix}", spot.message)))?;
    }
    // Hits at lines are among the annotations.
    let mut hits = [0; LEVELS.len()];
    for (hit, level) in report.policies.iter().filter_map(|hit| Some((hit, hit.counts_as()?))) {
        let severity = level.severity();
        let level_hits = LEVELS.iter().position(|level| *level == severity).map(|level| &mut hits[level]);
        if let Some(level_hits) = level_hits.filter(|level_hits| hit.places.is_empty() && **level_hits < MAX_PER_LEVEL)
        {
            *level_hits += 1;
            let title = escape_property(&format!("policy {}", hit.name));
            writeln!(out, "::{} title={title}::{}", name(severity), escape_data(&hit.words()))?;
        }
    }
    let count_spots = |is_standing: bool| {
        report.blind_spots.iter().take(MAX_PER_LEVEL).filter(|s| s.is_standing == is_standing).count()
    };
    // The verdict takes one of the notices.
    let others = [0, count_spots(false), 1 + count_spots(true)];
    let left = [0, 1, 2].map(|level| MAX_PER_LEVEL.saturating_sub(hits[level] + others[level]));
    write_limited(&report.annotations(), &left, out)
}

/// Writes annotations.
pub fn write_annotations(annotations: &[Annotation], out: &mut dyn Write) -> io::Result<()> {
    write_limited(annotations, &[MAX_PER_LEVEL; 3], out)
}

/// Writes up to `most` errors, warnings and notices, and reports in the log how many are left out.
fn write_limited(annotations: &[Annotation], most: &[usize; 3], out: &mut dyn Write) -> io::Result<()> {
    for (level, most) in LEVELS.into_iter().zip(most) {
        let name = name(level);
        let all: Vec<&Annotation> = annotations.iter().filter(|annotation| annotation.level == level).collect();
        for annotation in all.iter().take(*most) {
            let lines = annotation.lines.map(|(first, last)| format!(",line={first},endLine={last}"));
            let (path, title) = (escape_property(&annotation.path), escape_property(&annotation.title));
            let message = escape_data(&annotation.message);
            writeln!(out, "::{name} file={path}{},title={title}::{message}", lines.unwrap_or_default())?;
        }
        if let Some(more @ 1..) = all.len().checked_sub(*most) {
            writeln!(out, "hierad: {more} more at the level {name} than a step can show")?;
        }
    }
    out.flush()
}

fn name(level: Severity) -> &'static str {
    match level {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

fn escape_data(text: &str) -> String {
    visible_lines(text).replace('%', "%25").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
