//! The places in documents that a Puppet server reads differently from Puppet on Ruby.
//!
//! A server runs on JRuby, whose Psych reads with SnakeYAML, while Ruby's reads with libyaml. `puppet lookup` and
//! agents run on Ruby, so both readings are Puppet's. Source: JRuby 9.3.9 (Puppet 7) and 9.4.8 (Puppet 8), as
//! recorded in `tests/vectors/jruby.ndjson`.

use serde::{Deserialize, Serialize};

use super::Ruby;

/// The maximum number of places that are kept of a document.
const MAX_NOTES: usize = 100;

/// The kinds of places that a server reads differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `*x: 1`, `&x: 1`
    ColonAfterName,
    /// A tab between tokens.
    Tab,
    /// `[-]`
    DashInFlow,
    /// `k: |#c`
    BlockHeader,
    /// `k: |` without lines, except at the root of a document.
    EmptyBlock,
    /// `"\/"`
    Slash,
    /// `"\<tab>"`
    EscapedTab,
    /// `"\L"`, `"\P"`
    EscapedBreak,
    /// More characters than a server accepts.
    TooLong,
    /// JSON that is not UTF-8.
    JsonBytes,
    /// `+.inf`
    PlusInfinity,
    /// `1,` and `1_`
    Integer,
    /// A float that becomes a different text.
    FloatText,
    /// Bytes that are not UTF-8.
    Bytes,
    /// A byte order mark before `---` or `%YAML`.
    ByteOrderMark,
    /// A byte order mark before a root of several lines: Ruby reads only the first one.
    MarkBeforeKeys,
    /// `{a:}`
    ColonInFlow,
    /// `"\ud83d\ude00"`
    Surrogate,
    /// A block scalar whose first line has a tab after its indentation.
    TabInBlock,
}

/// The effect that a place has on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The server refuses the file, so every lookup that reads it fails.
    Refuses,
    /// The server reads a different value.
    Differs,
    /// The server reads a file that Ruby refuses.
    Reads,
}

/// The servers that read a place differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// All servers.
    All,
    /// The servers of Puppet 7.
    Jruby93,
    /// The servers of Puppet 8 and later.
    Jruby94,
}

impl Servers {
    /// Returns the name of the servers.
    pub fn name(self) -> &'static str {
        match self {
            Servers::All => "JRuby",
            Servers::Jruby93 => "JRuby 9.3",
            Servers::Jruby94 => "JRuby 9.4 or later",
        }
    }

    /// Returns true if one of these servers runs on `ruby`.
    pub fn have(self, ruby: Ruby) -> bool {
        match ruby {
            Ruby::JRuby9_3 => self != Servers::Jruby94,
            Ruby::JRuby9_4 | Ruby::JRuby10 => self != Servers::Jruby93,
            Ruby::V3_1 | Ruby::V3_3 | Ruby::V3_4 => false,
        }
    }
}

impl Kind {
    /// Returns the kind of a character after a backslash, or `None` if all servers read it alike.
    pub(super) fn of_escape(escape: u8) -> Option<Kind> {
        match escape {
            b'/' => Some(Kind::Slash),
            b'\t' => Some(Kind::EscapedTab),
            b'L' | b'P' => Some(Kind::EscapedBreak),
            _ => None,
        }
    }

    /// Returns the effect on a server.
    pub fn effect(self) -> Effect {
        match self {
            Kind::Integer | Kind::FloatText | Kind::MarkBeforeKeys => Effect::Differs,
            Kind::Bytes | Kind::ByteOrderMark | Kind::ColonInFlow | Kind::Surrogate | Kind::TabInBlock => Effect::Reads,
            _ => Effect::Refuses,
        }
    }

    /// Returns the servers that read it differently.
    pub fn servers(self) -> Servers {
        match self {
            Kind::ColonAfterName | Kind::DashInFlow | Kind::EmptyBlock | Kind::EscapedBreak => Servers::Jruby94,
            Kind::Slash | Kind::PlusInfinity | Kind::Integer => Servers::Jruby93,
            _ => Servers::All,
        }
    }

    /// Returns the description of such a place, and the remedy.
    fn description_and_remedy(self) -> (&'static str, &'static str) {
        match self {
            Kind::ColonAfterName => {
                ("':' directly behind the name of an alias or anchor", "put a space before the ':'")
            }
            Kind::Tab => ("a tab as white space", "put spaces in the place of the tab"),
            Kind::DashInFlow => ("'-' as an item in brackets", "put quotes around it: '-'"),
            Kind::BlockHeader => ("'#' or a tab directly behind the '|' or '>' of a text", "put a space between them"),
            Kind::EmptyBlock => ("a '|' or '>' without a text below it", "write '' for the empty text"),
            Kind::Slash => ("the escape '\\/'", "write '/' for it"),
            Kind::EscapedTab => ("a backslash before a tab", "write '\\t' for both"),
            Kind::EscapedBreak => ("the escape '\\L' or '\\P'", "write '\\u2028' or '\\u2029' for it"),
            Kind::TooLong => ("more than 3,145,728 characters", "divide the file"),
            Kind::JsonBytes | Kind::Bytes => ("bytes that are not UTF-8", "convert the file to UTF-8"),
            Kind::PlusInfinity => ("'+.inf'", "write '.inf' for it"),
            Kind::Integer => (
                "digits with a ',' or '_' at a place where Ruby takes them for a text are an integer",
                "put quotes around a text, and take the signs out of a number",
            ),
            Kind::FloatText => (
                "a float becomes another text, as in an interpolation",
                "put quotes around it if it is a text, or write an integer; nothing, if it never becomes a text",
            ),
            Kind::ByteOrderMark => ("a byte order mark before the start of the document", "remove the mark"),
            Kind::MarkBeforeKeys => {
                ("all keys behind a byte order mark, of which Ruby reads the first one alone", "remove the mark")
            }
            Kind::ColonInFlow => ("a ':' without a value in brackets", "put a space behind the ':'"),
            Kind::Surrogate => ("half of a character as an escape", "write the character itself, or as '\\U0001f600'"),
            Kind::TabInBlock => (
                "a text whose first line begins with a tab",
                "put a number behind the '|' or '>', that of the spaces before its text",
            ),
        }
    }

    /// Returns one sentence about such a place in `file`.
    pub fn sentence(self, file: &str) -> String {
        let (what, server) = (self.description_and_remedy().0, self.servers().name());
        match self.effect() {
            Effect::Refuses => format!("a Puppet server on {server} refuses {file}: {what}"),
            Effect::Differs => format!("a Puppet server on {server} reads another value in {file}: {what}"),
            Effect::Reads => format!("a Puppet server on {server} reads {file}, which Ruby refuses: {what}"),
        }
    }

    /// Returns the remedy.
    pub fn remedy(self) -> &'static str {
        self.description_and_remedy().1
    }
}

/// Places that a server reads differently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes(Vec<(u32, Kind)>);

impl Notes {
    /// Adds a place on a line, counted from 1.
    pub fn add(&mut self, line: u32, kind: Kind) {
        let is_noted =
            self.0.last().is_some_and(|last| *last == (line, kind) || kind == Kind::TooLong && last.1 == kind);
        if self.0.len() < MAX_NOTES && !is_noted {
            self.0.push((line, kind));
        }
    }

    /// Returns the lines of the places, each with its kind.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Kind)> {
        self.0.iter().copied()
    }
}

impl FromIterator<(u32, Kind)> for Notes {
    fn from_iter<I: IntoIterator<Item = (u32, Kind)>>(places: I) -> Notes {
        Notes(places.into_iter().take(MAX_NOTES).collect())
    }
}
