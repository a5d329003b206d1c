//! Standard output and its terminal.

pub(super) mod fault;
pub(super) mod log;
pub(super) mod pager;
pub(super) mod table;

use std::borrow::Cow;
use std::fs::File;
use std::io::{Error, IsTerminal, Result, Stdout, Write};
use std::mem;
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use anstream::stream::RawStream;
use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;

use super::global::{Color, Global};
use super::job::without_job_commands;
use crate::visible::{visible, visible_coloured, visible_output};

/// The width without a terminal.
const DEFAULT_WIDTH: usize = 100;

/// The minimum number of lines for a report.
const MIN_HEIGHT: usize = 20;

/// Returns true if standard output gets colour.
pub(super) fn color(global: &Global) -> bool {
    has_color(global, &std::io::stdout())
}

/// Returns true if standard error gets colour.
pub(super) fn log_color(global: &Global) -> bool {
    has_color(global, &std::io::stderr())
}

fn has_color(global: &Global, stream: &impl RawStream) -> bool {
    match global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stream.is_terminal() && anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

/// Returns the number of columns of the terminal.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .filter(|width| *width >= 20)
        .unwrap_or(DEFAULT_WIDTH)
}

/// Returns the number of lines of a report that the terminal shows at once, or `None` if it is unknown.
pub(super) fn height() -> Option<usize> {
    // Leave room for the prompt, the command and the line on the rest.
    let rows = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
    rows.map(|rows| rows.saturating_sub(6).max(MIN_HEIGHT))
}

/// Returns standard output, buffered. The caller must flush it. Whatever is written, neither a terminal nor the
/// runner of a CI job acts on any of it.
pub(super) fn stdout() -> Output {
    Output::new(Content::Text)
}

/// Returns standard output for a caller that makes each text harmless before adding colour.
pub(super) fn coloured(color: bool) -> Output {
    Output::new(Content::of_colour(color))
}

/// The styles of headings, of marks, and of the severities.
pub(super) const HEADING: Style = Style::new().bold();
pub(super) const QUIET: Style = Style::new().dimmed();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const NEW: Style = AnsiColor::Yellow.on_default();

/// Makes untrusted text harmless, and adds a style if there is colour.
pub(super) fn painted(color: bool, style: Style, text: &str) -> String {
    let text = visible(text);
    if color { format!("{style}{text}{style:#}") } else { text.into_owned() }
}

/// Prints the help that the argument parser returns, which contains no text by strangers.
pub(super) fn print_help(help: &StyledStr) -> Result<()> {
    let is_coloured = has_color(&Global::default(), &std::io::stdout());
    let mut out = Output::new(Content::of_colour(is_coloured));
    let text = if is_coloured { help.ansi().to_string() } else { help.to_string() };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns a writer that makes text for a pager harmless, as [`coloured`] does.
pub(super) fn to_pager(pager: ChildStdin, color: bool) -> Harmless<ChildStdin> {
    Harmless { pending: Pending { content: Content::of_colour(color), piece: Vec::new() }, out: pager }
}

/// Returns standard output for the commands that the runner of a CI job is meant to find, buffered.
pub(super) fn commands() -> Output {
    Output::new(Content::Commands)
}

/// Fails if the runner of this job would take a line of a value for a command, and standard output may be its log. A
/// pipe to the log looks like any other, and breaking up the line would change the value.
pub(super) fn refuse_commands(value: &str) -> super::Result<()> {
    let out = std::io::stdout();
    let is_file = || Ok::<_, Error>(File::from(out.as_fd().try_clone_to_owned()?).metadata()?.is_file());
    if out.is_terminal() || *without_job_commands(value) == *value || is_file()? {
        return Ok(());
    }
    let why = "a line of the value is a command for the runner of this job, and this may be its log";
    Err(format!("{why}: write the value to a file (`> FILE`), or take --render-as json").into())
}

/// Returns standard output, buffered, for bytes that must not change, unless it is a terminal.
pub(super) fn bytes() -> Output {
    Output::new(if std::io::stdout().is_terminal() { Content::Text } else { Content::Bytes })
}

/// Returns standard output, buffered, for another process of hierad: bytes are written unchanged.
pub(super) fn for_process() -> Output {
    Output::new(Content::Bytes)
}

/// The content of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Lines for people, and documents for programs.
    Text,
    /// The same with colours.
    Coloured,
    /// Lines for the runner of a CI job.
    Commands,
    /// Bytes that are written unchanged.
    Bytes,
}

impl Content {
    fn of_colour(is_coloured: bool) -> Content {
        if is_coloured { Content::Coloured } else { Content::Text }
    }

    /// Makes whole lines harmless.
    fn harmless(self, lines: Vec<u8>) -> Vec<u8> {
        if self == Content::Bytes {
            return lines;
        }
        let text = match String::from_utf8(lines) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let shown = if self == Content::Coloured { visible_coloured(&text) } else { visible_output(&text) };
        let parted = if self == Content::Commands { Cow::Borrowed(&*shown) } else { without_job_commands(&shown) };
        match (parted, &shown) {
            (Cow::Owned(parted), _) => parted.into_bytes(),
            (Cow::Borrowed(_), Cow::Owned(shown)) => shown.clone().into_bytes(),
            (Cow::Borrowed(_), Cow::Borrowed(_)) => text.into_bytes(),
        }
    }
}

/// The size of a piece, in bytes. Most reports are smaller and need no thread. A reader that is gone is noticed when
/// the next piece is written.
const PIECE_SIZE: usize = 1 << 19;

/// The maximum number of pieces that wait for the reader: two megabytes.
const MAX_WAITING: usize = 4;

/// Standard output. A thread writes pieces while the next one is made.
pub(super) struct Output {
    pending: Pending,
    writer: Option<Writer>,
}

/// A piece that is not written yet.
struct Pending {
    content: Content,
    piece: Vec<u8>,
}

/// Makes text harmless on its way to something other than standard output, such as a pager.
pub(super) struct Harmless<W> {
    pending: Pending,
    out: W,
}

/// Returns the length of the bytes without an incomplete character at their end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// A thread that writes pieces.
struct Writer {
    pieces: SyncSender<Vec<u8>>,
    thread: JoinHandle<Result<()>>,
}

impl Pending {
    /// Adds bytes, and returns a piece to write if there are enough.
    fn add(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.piece.extend_from_slice(bytes);
        (self.piece.len() >= PIECE_SIZE).then(|| self.take())
    }

    /// Takes the part of the piece to write: whole lines, or whole characters of a long line, which is not meant for
    /// people.
    fn take(&mut self) -> Vec<u8> {
        let lines = self.piece.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
        let end = lines.unwrap_or_else(|| whole_characters(&self.piece));
        let rest = self.piece.split_off(end);
        self.content.harmless(mem::replace(&mut self.piece, rest))
    }

    /// Takes all that is left.
    fn take_all(&mut self) -> Vec<u8> {
        self.content.harmless(mem::take(&mut self.piece))
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if let Some(piece) = self.pending.add(bytes) {
            self.out.write_all(&piece)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.pending.take_all())?;
        self.out.flush()
    }
}

impl Output {
    fn new(content: Content) -> Output {
        Output { pending: Pending { content, piece: Vec::new() }, writer: None }
    }

    /// Sends a piece to the thread.
    fn send(&mut self, piece: Vec<u8>) -> Result<()> {
        if self.writer.is_none() {
            let (pieces, waiting) = sync_channel::<Vec<u8>>(MAX_WAITING);
            let write = move || waiting.iter().try_for_each(|piece| NamedStdout(std::io::stdout()).write_all(&piece));
            self.writer = Some(Writer { pieces, thread: Builder::new().name("output".into()).spawn(write)? });
        }
        let is_taken = self.writer.as_ref().is_some_and(|writer| writer.pieces.send(piece).is_ok());
        if is_taken { Ok(()) } else { self.finish() }
    }

    /// Waits until all pieces are written.
    fn finish(&mut self) -> Result<()> {
        let Some(Writer { pieces, thread }) = self.writer.take() else { return Ok(()) };
        drop(pieces);
        thread.join().unwrap_or_else(|_| Err(Error::other("the thread that writes has failed")))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if let Some(piece) = self.pending.add(bytes) {
            self.send(piece)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.finish()?;
        let rest = self.pending.take_all();
        NamedStdout(std::io::stdout()).write_all(&rest)?;
        NamedStdout(std::io::stdout()).flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        _ = self.flush();
    }
}

/// Standard output whose errors name it.
struct NamedStdout(Stdout);

impl Write for NamedStdout {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write(bytes).map_err(|error| name_stdout(&error))
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush().map_err(|error| name_stdout(&error))
    }
}

fn name_stdout(error: &Error) -> Error {
    Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_part_no_character_and_no_line() {
        let text = format!("ä{}é\u{202e}", "x".repeat(20));
        for length in 1..text.len() {
            let mut pending = Pending { content: Content::Text, piece: text.as_bytes()[..length].to_vec() };
            let mut taken = pending.take();
            pending.add(&text.as_bytes()[length..]);
            taken.extend(pending.take_all());
            assert_eq!(String::from_utf8(taken).unwrap(), text.replace('\u{202e}', "\\u202e"), "{length}");
        }
        let mut pending = Pending { content: Content::Text, piece: b"a\n::b".to_vec() };
        assert_eq!((pending.take(), mem::take(&mut pending.piece)), (b"a\n".to_vec(), b"::b".to_vec()));
    }
}
