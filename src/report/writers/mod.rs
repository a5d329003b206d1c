//! The formats of a report, and a function that writes any of them. A writer decides nothing: everything it writes is
//! in the report.

pub(super) mod annotation;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;

use std::io::{self, Write};

use super::Report;

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For a terminal.
    #[default]
    Text,
    /// For programs: `docs/diff.schema.json` is its schema.
    Json,
    /// For comments on a forge.
    Markdown,
    /// A page that needs no other file.
    Html,
    /// For code scanners.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
    /// XML for servers that show test results.
    Junit,
}

/// The options for each format.
#[derive(Debug, Clone, Default)]
pub struct Style {
    /// For text.
    pub text: text::Options,
    /// For JSON.
    pub json: json::Options,
    /// For Markdown.
    pub markdown: markdown::Options,
    /// For HTML.
    pub html: html::Options,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] =
        [Format::Text, Format::Json, Format::Markdown, Format::Html, Format::Sarif, Format::Github, Format::Junit];

    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Markdown => "markdown",
            Format::Html => "html",
            Format::Sarif => "sarif",
            Format::Github => "github",
            Format::Junit => "junit",
        }
    }

    /// Returns the format's media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Text | Format::Github => "text/plain; charset=utf-8",
            Format::Json => "application/json",
            Format::Markdown => "text/markdown; charset=utf-8",
            Format::Html => "text/html; charset=utf-8",
            Format::Sarif => "application/sarif+json",
            Format::Junit => "application/xml",
        }
    }
}

/// Writes a report in a format.
pub fn write(report: &Report, format: Format, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(report, style.text, out),
        Format::Json => json::write(report, style.json, out),
        Format::Markdown => markdown::write(report, &style.markdown, out),
        Format::Html => html::write(report, &style.html, out),
        Format::Sarif => sarif::write(report, out),
        Format::Github => github::write(report, out),
        Format::Junit => junit::write(report, out),
    }
}
