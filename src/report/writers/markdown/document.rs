//! A comment as data: its texts, without Markdown, HTML or addresses.
//!
//! The other modules put a document together; only this one turns it into Markdown. The job that posts a document may
//! have received it from a stranger, so every text is escaped by the rules of `escape`, and links are built only from
//! paths in the commit and the writer's own options. No type contains itself, so the depth of a document is limited.

use serde::{Deserialize, Serialize};

use super::escape::{EMPTY_COMMENT, at_start, characters, code as code_span, fence, html, html_code, shorten_to};
use super::{MAX_HEADLINE, NOTES_BUDGET, Options};
use crate::diagnostic::Place;
use crate::report::words::detail::Mark;
use crate::report::words::links::address;
use crate::report::words::visible::{ELLIPSIS, shorten, shorten_middle, visible};
use crate::report::words::wording::count;

/// The maximum width, in columns, of the name of a key, a place or nodes.
pub(super) const MAX_NAME: usize = 120;

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The verdict in one line.
    pub headline: String,
    /// Everything below the verdict; empty if only the verdict fits.
    pub(super) parts: Vec<Section>,
}

/// A part of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Section {
    Block(Block),
    Fold { summary: Line, is_open: bool, blocks: Vec<Block> },
}

/// A block of a part or a fold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Block {
    Paragraph(Line),
    Small(Line),
    List(Vec<Item>),
    /// The rows of the table of who, what and why.
    Table(Vec<[Line; 3]>),
    /// The lines of a difference.
    Difference(Vec<(Sign, String)>),
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    pub(super) line: Line,
    /// Advice on what to do.
    pub(super) remedy: Option<Line>,
    /// Lines to copy into the settings.
    pub(super) settings: Vec<String>,
}

/// The sign that begins a line of a difference, so that no line begins with text from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sign {
    #[serde(rename = "@@")]
    Place,
    #[serde(rename = " ")]
    Both,
    #[serde(rename = "-")]
    Removed,
    #[serde(rename = "+")]
    Added,
    #[serde(rename = "!")]
    Failed,
    #[serde(rename = "…")]
    More,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Piece {
    Text(String),
    Code(String),
    Strong(String),
    Small(String),
    Break,
    /// A place in the commit, which becomes a link if the writer knows the address of the files.
    Place {
        text: String,
        path: String,
        line: Option<u32>,
    },
    /// A pointer to what is left out, with the ids of both commits.
    FullReport(String, String),
}

/// Some pieces on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Line(Vec<Piece>);

impl Document {
    /// Returns the comment in Markdown. It says what is left out because of the budget.
    pub fn markdown(&self, options: &Options) -> String {
        let head = format!("### {}\n", html(&self.headline));
        let mut parts: Vec<String> = self.parts.iter().map(|part| part.markdown(options)).collect();
        let length = |parts: &[String]| parts.iter().map(|part| characters(part)).sum::<usize>();
        let Some(mut left) = options.budget.checked_sub(characters(&head)).filter(|_| !parts.is_empty()) else {
            return self.brief(options.budget);
        };
        if length(&parts) <= left {
            return head + &parts.concat();
        }
        let Some(room) = left.checked_sub(NOTES_BUDGET) else { return self.brief(options.budget) };
        left = room;
        let all = parts.len();
        parts.retain(|part| left.checked_sub(characters(part)).map(|rest| left = rest).is_some());
        let note = Line::from(format!("{ELLIPSIS} {}. ", count(all - parts.len(), "more part")));
        let note = note.and(Line::of(Piece::FullReport(String::new(), String::new())));
        head + &parts.concat() + &Block::Paragraph(note).markdown(options)
    }

    /// Returns the verdict alone, in Markdown.
    pub fn verdict(&self) -> String {
        code_span(&shorten(&self.headline, MAX_HEADLINE))
    }

    /// Returns as much of the verdict as fits.
    fn brief(&self, budget: usize) -> String {
        let most = MAX_HEADLINE.min(budget);
        let start: String = self.headline.trim_start().chars().take(most + 1).collect();
        let mut texts = (0..=most).rev().map(|most| at_start(&html(&shorten_to(&start, most))));
        texts.find(|text| characters(text) <= budget).unwrap_or_default()
    }
}

impl From<Block> for Section {
    fn from(block: Block) -> Section {
        Section::Block(block)
    }
}

impl Section {
    /// Returns a fold.
    pub(super) fn fold(summary: impl Into<Line>, blocks: Vec<Block>) -> Section {
        Section::Fold { summary: summary.into(), is_open: false, blocks }
    }

    /// Returns the part in Markdown: whole lines, after an empty one.
    pub(super) fn markdown(&self, options: &Options) -> String {
        match self {
            Section::Block(block) => block.markdown(options),
            Section::Fold { summary, is_open, blocks } => {
                let open = if *is_open { " open" } else { "" };
                let body: String = blocks.iter().map(|block| block.markdown(options)).collect();
                format!("\n<details{open}><summary>{}</summary>\n{body}\n</details>\n", summary.html())
            }
        }
    }
}

impl Block {
    /// Returns the block in Markdown, as a part.
    pub(super) fn markdown(&self, options: &Options) -> String {
        match self {
            // An empty one would not be a block, but a blank line, or a tag that may begin a block.
            Block::Paragraph(line) | Block::Small(line) if !line.is_shown() => String::new(),
            Block::Paragraph(line) => format!("\n{}\n", at_start(&line.markdown(options))),
            Block::Small(line) => format!("\n<sub>{}</sub>\n", line.markdown(options)),
            Block::List(items) => items.iter().fold("\n".to_owned(), |text, item| text + &item.markdown(options)),
            Block::Table(rows) => {
                let head = "\n| who | what | why |\n|---|---|---|\n".to_owned();
                rows.iter().fold(head, |text, row| text + &row_markdown(row, options))
            }
            Block::Difference(lines) => {
                let line = |(sign, text): &(Sign, String)| format!("{} {}", sign.as_str(), visible(text));
                "\n".to_owned() + &fenced(lines.iter().map(line), "diff")
            }
        }
    }
}

/// Returns lines as a fenced code block.
fn fenced(lines: impl Iterator<Item = String>, language: &str) -> String {
    let body = lines.fold(String::new(), |body, line| body + &line + "\n");
    let fence = fence(&body);
    format!("{fence}{language}\n{body}{fence}\n")
}

/// Returns a row of the table in Markdown.
pub(super) fn row_markdown(cells: &[Line; 3], options: &Options) -> String {
    cells.iter().fold("|".to_owned(), |row, cell| format!("{row} {} |", cell.markdown(options))) + "\n"
}

impl Item {
    /// Returns the item in Markdown, or nothing if it would be invisible.
    pub(super) fn markdown(&self, options: &Options) -> String {
        let lines = [Some(&self.line), self.remedy.as_ref()].into_iter().flatten().filter(|line| line.is_shown());
        // A tag alone on the first line would begin a block of HTML: there is a text before each break.
        let text = lines.map(|line| line.markdown(options) + "\n").collect::<Vec<_>>().join("<br>");
        let settings = self.settings.iter().map(|line| visible(line).into_owned());
        let settings = if self.settings.is_empty() { String::new() } else { fenced(settings, "") };
        let lines = text.lines().chain(settings.lines());
        lines.fold(String::new(), |item, line| {
            let indent = if item.is_empty() { "- " } else { "  " };
            item + indent + line + "\n"
        })
    }
}

impl From<Line> for Item {
    fn from(line: Line) -> Item {
        Item { line, remedy: None, settings: Vec::new() }
    }
}

impl Sign {
    fn as_str(self) -> &'static str {
        match self {
            Sign::Place => "@@",
            Sign::Both => " ",
            Sign::Removed => "-",
            Sign::Added => "+",
            Sign::Failed => "!",
            Sign::More => "…",
        }
    }
}

impl From<Mark> for Sign {
    fn from(mark: Mark) -> Sign {
        match mark {
            Mark::Both | Mark::Omitted => Sign::Both,
            Mark::Removed => Sign::Removed,
            Mark::Added => Sign::Added,
            Mark::Failed => Sign::Failed,
        }
    }
}

impl Line {
    /// Returns a line of one piece.
    pub(super) fn of(piece: Piece) -> Line {
        Line(vec![piece])
    }

    /// Returns the line with another one appended.
    pub(super) fn and(mut self, other: impl Into<Line>) -> Line {
        self.0.extend(other.into().0);
        self
    }

    /// Returns the lines as one, with these words between them.
    pub(super) fn joined(lines: impl IntoIterator<Item = Line>, between: impl Into<Line>) -> Line {
        let between = between.into();
        lines.into_iter().reduce(|all, line| all.and(between.clone()).and(line)).unwrap_or_default()
    }

    /// Returns true if there is nothing on the line.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if any part of the line is visible.
    fn is_shown(&self) -> bool {
        self.0.iter().any(Piece::is_shown)
    }

    /// Returns the line in Markdown. Blanks and breaks at its ends are removed, since they would have a meaning.
    fn markdown(&self, options: &Options) -> String {
        self.join_pieces(EMPTY_COMMENT, |piece| piece.markdown(options)).trim().to_owned()
    }

    /// Returns the line in HTML, without links.
    fn html(&self) -> String {
        self.join_pieces("", Piece::html)
    }

    /// Writes the pieces. Adjacent texts are joined before they are escaped, so that the boundary between them hides
    /// nothing. Adjacent marks could be read as different ones, so `nothing` is written between them.
    fn join_pieces(&self, nothing: &str, write: impl Fn(&Piece) -> String) -> String {
        let start = self.0.iter().position(Piece::is_shown).unwrap_or(self.0.len());
        let end = self.0.iter().rposition(Piece::is_shown).map_or(start, |last| last + 1);
        let pieces: Vec<&Piece> = self.0[start..end].iter().filter(|piece| !piece.is_empty()).collect();
        let text = |piece: &&Piece| if let Piece::Text(text) = piece { text.clone() } else { String::new() };
        let mut out = String::new();
        let mut is_after_mark = false;
        for run in pieces.chunk_by(|one, next| matches!((one, next), (Piece::Text(_), Piece::Text(_)))) {
            let is_mark = !matches!(run[0], Piece::Text(_) | Piece::Break);
            out += if is_after_mark && is_mark { nothing } else { "" };
            out += &if let [one] = run { write(one) } else { write(&Piece::Text(run.iter().map(text).collect())) };
            is_after_mark = is_mark;
        }
        out
    }
}

impl Piece {
    /// Returns true if the piece is left out.
    fn is_empty(&self) -> bool {
        match self {
            Piece::Text(text) => text.is_empty(),
            Piece::Strong(text) | Piece::Small(text) => text.trim().is_empty(),
            Piece::Code(_) | Piece::Break | Piece::Place { .. } | Piece::FullReport(..) => false,
        }
    }

    /// Returns true if any part of the piece is visible.
    fn is_shown(&self) -> bool {
        match self {
            Piece::Text(text) => !text.trim().is_empty(),
            Piece::Break => false,
            _ => !self.is_empty(),
        }
    }

    fn markdown(&self, options: &Options) -> String {
        match self {
            Piece::Text(text) => html(text),
            Piece::Code(text) => code_span(text),
            Piece::Strong(text) => strong_markdown(text.trim()),
            Piece::Small(text) => format!("<sub>{}</sub>", html(text)),
            Piece::Break => "<br>".to_owned(),
            Piece::Place { text, path, line } => {
                let place = Place { path: path.as_str().into(), line: *line };
                let address = address(options.link_base.as_deref(), &place);
                address.map_or_else(|| code_span(text), |address| format!("[{}]({address})", code_span(text)))
            }
            Piece::FullReport(before, after) => full_report([before, after], options),
        }
    }

    fn html(&self) -> String {
        match self {
            Piece::Text(text) => html(text),
            // Notes must stand out from the text next to them.
            Piece::Strong(text) => format!("<strong>{}</strong>", html(text)),
            Piece::Small(text) => format!("<sub>{}</sub>", html(text)),
            Piece::Code(text) | Piece::Place { text, .. } => html_code(text),
            Piece::Break | Piece::FullReport(..) => " ".to_owned(),
        }
    }
}

/// Returns text in bold. Asterisks always mean bold next to letters and digits, but next to other characters only in
/// some places.
fn strong_markdown(text: &str) -> String {
    let is_word = text.starts_with(char::is_alphanumeric) && text.ends_with(char::is_alphanumeric);
    if is_word { format!("**{}**", html(text)) } else { format!("<strong>{}</strong>", html(text)) }
}

/// Says how to see what is left out.
fn full_report(ids: [&String; 2], options: &Options) -> String {
    if let Some(url) = options.report_url() {
        return format!("[The full report]({url}) has all of it.");
    }
    let ids = ids.map(|id| id.chars().filter(char::is_ascii_alphanumeric).take(12).collect::<String>());
    let command = match ids {
        [before, after] if before.len() > 6 && after.len() > 6 => format!("hierad diff --full {before} {after}"),
        _ => "hierad diff --full".to_owned(),
    };
    format!("{} shows all of it.", html_code(&command))
}

impl From<&str> for Line {
    fn from(text: &str) -> Line {
        Line::from(text.to_owned())
    }
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        if text.is_empty() { Line::default() } else { Line::of(Piece::Text(text)) }
    }
}

/// Returns the name of something in the data, as code.
pub(super) fn name(text: &str) -> Line {
    code(shorten_middle(&visible(text), MAX_NAME))
}

/// Returns text as code.
pub(super) fn code(text: impl Into<String>) -> Line {
    Line::of(Piece::Code(text.into()))
}

/// Returns text in bold.
pub(super) fn strong(text: impl Into<String>) -> Line {
    Line::of(Piece::Strong(text.into()))
}
