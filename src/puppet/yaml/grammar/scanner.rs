//! Tokens from characters: indentation, simple keys, flow levels.

use std::collections::VecDeque;

use super::input::{Input, Mark, fault};
use super::token::{Kind, Token};
use crate::puppet::document::Fault;
use crate::puppet::server::{Kind as Otherwise, Notes};

/// The maximum length of a key without `?`, in characters.
const MAX_KEY: usize = 1024;

/// The maximum number of characters after which a Puppet server still looks for a token.
const MAX_SERVER_LOOKAHEAD: usize = 3 << 20;

/// A place where a key without `?` may have started.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// True if only a key is allowed there.
    required: bool,
    token: usize,
    mark: Mark,
}

/// Makes tokens.
pub(super) struct Scanner<'a> {
    pub(super) input: Input<'a>,
    tokens: VecDeque<Token<'a>>,
    /// The number of tokens that were taken.
    tokens_taken: usize,
    /// True if the first token in the queue is final.
    ready: bool,
    pub(super) flow_level: usize,
    /// The column of the innermost block collection, -1 outside of any.
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) key_allowed: bool,
    /// One for each flow level, and one for the block.
    keys: Vec<SimpleKey>,
    /// The places that a Puppet server reads differently.
    pub(super) notes: Notes,
    /// True if reading continues where a Puppet server reads what libyaml refuses.
    is_of_server: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(content: &'a [u8]) -> Scanner<'a> {
        Scanner {
            input: Input::new(content),
            tokens: VecDeque::new(),
            tokens_taken: 0,
            ready: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![SimpleKey::default()],
            notes: Notes::default(),
            is_of_server: false,
        }
    }

    /// Returns a scanner that continues where a Puppet server does.
    pub(super) fn of_server(content: &'a [u8]) -> Scanner<'a> {
        Scanner { is_of_server: true, ..Scanner::new(content) }
    }

    /// Notes that a Puppet server reads this place differently.
    pub(super) fn note(&mut self, kind: Otherwise) {
        self.note_at(self.input.mark, kind);
    }

    /// Notes that a Puppet server reads the place at `mark` differently.
    pub(super) fn note_at(&mut self, mark: Mark, kind: Otherwise) {
        self.notes.add(mark.line_number(), kind);
    }

    /// Notes a tab in the white space from byte `from` up to here.
    pub(super) fn note_tabs(&mut self, from: usize) {
        let passed = self.input.slice(from, self.input.at).as_bytes();
        if let Some(tab) = passed.iter().position(|byte| *byte == b'\t') {
            let breaks = memchr::memchr_iter(b'\n', &passed[tab..]).count();
            let line = self.input.mark.line_number().saturating_sub(u32::try_from(breaks).unwrap_or(u32::MAX));
            self.notes.add(line, Otherwise::Tab);
        }
    }

    /// Notes the place and returns true if this scanner reads as a Puppet server does, which reads what libyaml
    /// refuses here.
    pub(super) fn reads_on(&mut self, kind: Otherwise) -> bool {
        if self.is_of_server {
            self.note(kind);
        }
        self.is_of_server
    }

    /// Returns the next token, which stays in the queue.
    pub(super) fn peek(&mut self) -> Result<&mut Token<'a>, Fault> {
        if !self.ready {
            self.fetch_more()?;
        }
        let mark = self.input.mark;
        self.tokens.front_mut().ok_or_else(|| fault("did not find a token", mark, "", mark))
    }

    /// Drops the token that was looked at.
    pub(super) fn skip_token(&mut self) {
        self.ready = false;
        self.tokens_taken += 1;
        self.tokens.pop_front();
    }

    /// Fetches tokens until the first one is final: only the `:` after a key shows that it is one.
    fn fetch_more(&mut self) -> Result<(), Fault> {
        loop {
            if !self.tokens.is_empty() {
                self.drop_stale_keys()?;
                if !self.keys.iter().any(|key| key.possible && key.token == self.tokens_taken) {
                    break;
                }
            }
            self.fetch_next()?;
        }
        self.ready = true;
        Ok(())
    }

    fn fetch_next(&mut self) -> Result<(), Fault> {
        if self.input.mark.index > MAX_SERVER_LOOKAHEAD {
            self.note(Otherwise::TooLong);
        }
        self.input.need(1)?;
        self.skip_to_token()?;
        self.drop_stale_keys()?;
        self.unroll(i64::from(self.input.mark.column));
        self.input.need(4)?;
        if self.input.at_end() {
            return self.fetch_stream_end();
        }
        if self.input.mark.column == 0 && self.input.peek(0) == b'%' {
            self.leave_blocks()?;
            return self.scan_directive().map(|token| self.tokens.push_back(token));
        }
        if self.input.is_document_indicator(*b"---") {
            return self.fetch_document_indicator(Kind::DocumentStart);
        }
        if self.input.is_document_indicator(*b"...") {
            return self.fetch_document_indicator(Kind::DocumentEnd);
        }
        self.fetch_indicator()
    }

    fn fetch_indicator(&mut self) -> Result<(), Fault> {
        let flow = self.flow_level > 0;
        let before_space = self.input.is_space_at(1);
        match self.input.peek(0) {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if before_space => self.fetch_block_entry(),
            b'?' if flow || before_space => self.fetch_key(),
            b':' if flow || before_space => self.fetch_value(),
            b'*' => self.fetch_simple(|s| s.scan_anchor(true)),
            b'&' => self.fetch_simple(|s| s.scan_anchor(false)),
            b'!' => self.fetch_simple(Self::scan_tag),
            b'|' if !flow => self.fetch_block_scalar(true),
            b'>' if !flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_simple(|s| s.scan_flow_scalar(true)),
            b'"' => self.fetch_simple(|s| s.scan_flow_scalar(false)),
            _ if self.starts_plain_scalar() => {
                if flow && self.input.peek(0) == b'-' && matches!(self.input.peek(1), b',' | b']') {
                    self.note(Otherwise::DashInFlow);
                }
                self.fetch_simple(Self::scan_plain_scalar)
            }
            _ => {
                let mark = self.input.mark;
                Err(fault(
                    "found character that cannot start any token",
                    mark,
                    "while scanning for the next token",
                    mark,
                ))
            }
        }
    }

    fn starts_plain_scalar(&self) -> bool {
        match self.input.peek(0) {
            b'-' => !self.input.is_blank_at(1),
            b'?' | b':' => self.flow_level == 0 && !self.input.is_space_at(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`' => false,
            _ => !self.input.is_space_at(0),
        }
    }

    /// Forgets keys that did not get their `:` on their line, or not soon enough.
    fn drop_stale_keys(&mut self) -> Result<(), Fault> {
        let here = self.input.mark;
        for key in &mut self.keys {
            if key.possible && (key.mark.line < here.line || key.mark.index + MAX_KEY < here.index) {
                if key.required {
                    return Err(missing_colon(here, key.mark));
                }
                key.possible = false;
            }
        }
        Ok(())
    }

    fn save_key(&mut self) -> Result<(), Fault> {
        if self.key_allowed {
            let mark = self.input.mark;
            let required = self.flow_level == 0 && self.indent == i64::from(mark.column);
            let key = SimpleKey { possible: true, required, token: self.tokens_taken + self.tokens.len(), mark };
            self.remove_key()?;
            if let Some(top) = self.keys.last_mut() {
                *top = key;
            }
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Result<(), Fault> {
        let here = self.input.mark;
        match self.keys.last_mut() {
            Some(key) if key.possible && key.required => Err(missing_colon(here, key.mark)),
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Opens a block collection at `column` if that is deeper. Its token becomes number `number`, or the last one.
    fn roll(&mut self, column: u32, number: Option<usize>, kind: Kind<'a>, mark: Mark) {
        if self.flow_level > 0 || self.indent >= i64::from(column) {
            return;
        }
        self.enter_indent(column);
        self.insert(number, Token { start: mark, end: mark, kind });
    }

    fn insert(&mut self, number: Option<usize>, token: Token<'a>) {
        let at = number.map_or(self.tokens.len(), |n| n.saturating_sub(self.tokens_taken).min(self.tokens.len()));
        self.tokens.insert(at, token);
    }

    /// Closes the block collections that are deeper than `column`.
    fn unroll(&mut self, column: i64) {
        while self.flow_level == 0 && self.indent > column {
            let mark = self.input.mark;
            self.tokens.push_back(Token { start: mark, end: mark, kind: Kind::BlockEnd });
            self.leave_indent();
        }
    }

    fn enter_indent(&mut self, column: u32) {
        self.indents.push(self.indent);
        self.indent = i64::from(column);
    }

    fn leave_indent(&mut self) {
        self.indent = self.indents.pop().unwrap_or(-1);
    }

    fn leave_blocks(&mut self) -> Result<(), Fault> {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        Ok(())
    }

    /// Takes an indicator of `len` characters.
    fn push_indicator(&mut self, len: usize, kind: Kind<'a>) {
        let start = self.input.mark;
        for _ in 0..len {
            self.input.skip();
        }
        self.tokens.push_back(Token { start, end: self.input.mark, kind });
    }

    fn fetch_stream_end(&mut self) -> Result<(), Fault> {
        if self.input.mark.column != 0 {
            self.input.mark.column = 0;
            self.input.mark.line += 1;
        }
        self.leave_blocks()?;
        self.push_indicator(0, Kind::StreamEnd);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind<'a>) -> Result<(), Fault> {
        self.leave_blocks()?;
        self.push_indicator(3, kind);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind<'a>) -> Result<(), Fault> {
        self.save_key()?;
        self.keys.push(SimpleKey::default());
        self.flow_level += 1;
        self.key_allowed = true;
        self.push_indicator(1, kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind<'a>) -> Result<(), Fault> {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.keys.pop();
        }
        self.key_allowed = false;
        self.push_indicator(1, kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Fault> {
        self.remove_key()?;
        self.key_allowed = true;
        self.push_indicator(1, Kind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Fault> {
        let mark = self.input.mark;
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(fault("block sequence entries are not allowed in this context", mark, "", mark));
            }
            self.roll(mark.column, None, Kind::BlockSequenceStart, mark);
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.push_indicator(1, Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Fault> {
        let mark = self.input.mark;
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(fault("mapping keys are not allowed in this context", mark, "", mark));
            }
            self.roll(mark.column, None, Kind::BlockMappingStart, mark);
        }
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.push_indicator(1, Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Fault> {
        let mark = self.input.mark;
        if let Some(key) = self.keys.last_mut().filter(|key| key.possible) {
            key.possible = false;
            let key = *key;
            self.insert(Some(key.token), Token { start: key.mark, end: key.mark, kind: Kind::Key });
            self.roll(key.mark.column, Some(key.token), Kind::BlockMappingStart, key.mark);
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return Err(fault("mapping values are not allowed in this context", mark, "", mark));
                }
                self.roll(mark.column, None, Kind::BlockMappingStart, mark);
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.push_indicator(1, Kind::Value);
        Ok(())
    }

    /// Fetches a token that may be a key, or start one.
    fn fetch_simple(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token<'a>, Fault>) -> Result<(), Fault> {
        self.save_key()?;
        self.key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Fault> {
        self.remove_key()?;
        self.key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    /// Skips blanks, comments and line breaks, but no tab where it could indent a block.
    pub(super) fn skip_to_token(&mut self) -> Result<(), Fault> {
        loop {
            self.input.need(1)?;
            if self.input.mark.column == 0 && self.input.is_bom() {
                self.input.skip();
            }
            self.input.need(1)?;
            let tabs = self.flow_level > 0 || !self.key_allowed;
            let from = self.input.at;
            while self.input.peek(0) == b' ' || (tabs && self.input.peek(0) == b'\t') {
                self.input.skip();
                self.input.need(1)?;
            }
            self.note_tabs(from);
            self.skip_comment()?;
            if !self.input.is_break() {
                return Ok(());
            }
            self.input.need(2)?;
            self.input.skip_break();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Skips a comment, up to the end of its line.
    pub(super) fn skip_comment(&mut self) -> Result<(), Fault> {
        if self.input.peek(0) == b'#' {
            self.input.skip_run(|_| true);
            while !self.input.is_break_or_end() {
                self.input.skip();
                self.input.need(1)?;
            }
        }
        Ok(())
    }
}

fn missing_colon(here: Mark, key: Mark) -> Fault {
    fault("could not find expected ':'", here, "while scanning a simple key", key)
}
