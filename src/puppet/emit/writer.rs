//! Writes scalars and indicators: the `yaml_emitter_write_*` functions of libyaml.

use std::fmt::Write;

use super::scalar::{is_break, is_printable, is_space};

/// The column after which a line is folded.
const WIDTH: usize = 80;

/// The step of indentation.
const STEP: usize = 2;

/// The text so far, and the state at its end.
pub(super) struct Writer {
    out: String,
    column: usize,
    /// The indentation of the current collection; `None` at the top.
    pub(super) indent: Option<usize>,
    /// True if white space was written last.
    whitespace: bool,
    /// True if nothing but indentation and `-`, `?`, `:` is on the line.
    indention: bool,
    /// True if the last block scalar keeps the breaks at its end, so the end of the document is marked.
    open_ended: bool,
}

impl Writer {
    pub(super) fn new(indent: Option<usize>) -> Writer {
        Writer { out: String::new(), column: 0, indent, whitespace: true, indention: true, open_ended: false }
    }

    /// Returns the text of a document.
    pub(super) fn end_document(mut self) -> String {
        self.indent = None;
        self.new_line();
        if self.open_ended {
            self.out.push_str("...\n");
        }
        self.out
    }

    /// Returns the text of an entry, without the last line's end.
    pub(super) fn end_entry(mut self) -> String {
        if self.out.ends_with('\n') {
            self.out.pop();
        }
        self.out
    }

    pub(super) fn is_indention(&self) -> bool {
        self.indention
    }

    pub(super) fn increase_indent(&mut self) {
        self.indent = Some(self.indent.map_or(0, |indent| indent + STEP));
    }

    /// Increases the indentation inside a scalar.
    pub(super) fn increase_indent_in_flow(&mut self) {
        self.indent = Some(self.indent.map_or(STEP, |indent| indent + STEP));
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    /// Goes to the indentation, on a new line if need be.
    pub(super) fn new_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Writes an indicator; `is_indention` is true if a block may begin after it.
    pub(super) fn indicator(&mut self, text: &str, need_whitespace: bool, is_indention: bool) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        self.out.push_str(text);
        self.column += text.chars().count();
        self.whitespace = false;
        self.indention = self.indention && is_indention;
    }

    /// Returns true if the line is full, so that it is folded at a lone space.
    fn is_full(&self, folds: bool, spaces: bool) -> bool {
        folds && !spaces && self.column > WIDTH
    }

    pub(super) fn plain(&mut self, text: &str, folds: bool) {
        if !self.whitespace && !text.is_empty() {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if is_space(c) && self.is_full(folds, spaces) && chars.peek().is_some_and(|next| !is_space(*next)) {
                self.new_line();
            } else {
                self.put(c);
            }
            spaces = is_space(c);
        }
        self.end_scalar();
    }

    pub(super) fn single_quoted(&mut self, text: &str, folds: bool) {
        self.indicator("'", true, false);
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if is_space(c) {
                let lone = at > 0 && chars.peek().is_some_and(|(_, next)| !is_space(*next));
                if self.is_full(folds, spaces) && lone {
                    self.new_line();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break('\n');
                }
                self.put_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.new_line();
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
        if breaks {
            self.new_line();
        }
        self.indicator("'", false, false);
        self.end_scalar();
    }

    pub(super) fn double_quoted(&mut self, text: &str, folds: bool) {
        self.indicator("\"", true, false);
        let mut spaces = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
            } else if is_space(c) && self.is_full(folds, spaces) && at > 0 && chars.peek().is_some() {
                self.new_line();
                if chars.peek().is_some_and(|(_, next)| is_space(*next)) {
                    self.put('\\');
                }
            } else {
                self.put(c);
            }
            spaces = is_space(c);
        }
        self.indicator("\"", false, false);
        self.end_scalar();
    }

    fn escape(&mut self, c: char) {
        let code = u32::from(c);
        let mut escaped = String::from("\\");
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => '\0',
        };
        _ = match (short, code) {
            ('\0', 0..=0xff) => write!(escaped, "x{code:02X}"),
            ('\0', 0x100..=0xffff) => write!(escaped, "u{code:04X}"),
            ('\0', _) => write!(escaped, "U{code:08X}"),
            (short, _) => write!(escaped, "{short}"),
        };
        escaped.chars().for_each(|c| self.put(c));
    }

    pub(super) fn literal(&mut self, text: &str) {
        self.indicator("|", true, false);
        if text.starts_with(|c| is_space(c) || is_break(c)) {
            self.indicator("2", false, false);
        }
        let mut ending = text.chars().rev();
        let open_ended = match (ending.next(), ending.next()) {
            (Some(last), before) if is_break(last) => before.is_none_or(is_break),
            _ => {
                self.indicator("-", false, false);
                false
            }
        };
        if open_ended {
            self.indicator("+", false, false);
        }
        self.put_break('\n');
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.put_break(c);
                self.indention = true;
            } else {
                if breaks {
                    self.new_line();
                }
                self.put(c);
                self.indention = false;
            }
            breaks = is_break(c);
        }
        self.open_ended = open_ended;
    }

    fn end_scalar(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }
}
