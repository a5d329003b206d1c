//! The tokens of HOCON, and how messages name them.
//!
//! Source: `tokens.rb`.

use super::Name;
use crate::value::Value;

/// A token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The line it begins on.
    pub(super) line: u32,
    /// The line that the gem gives it; `None` for signs.
    pub(super) origin: Option<u32>,
}

/// The kind of a token.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    End,
    Comma,
    Colon,
    Equals,
    PlusEquals,
    OpenCurly,
    CloseCurly,
    OpenSquare,
    CloseSquare,
    Newline,
    /// Spaces without a meaning.
    Blank(Name),
    Comment(Name),
    /// A literal, and its text as written.
    Literal(Literal, Name),
    Unquoted(Name),
    Substitution {
        optional: bool,
        expression: Vec<Token>,
    },
    /// The reason why a text cannot be a token. The parser fails at it.
    Problem(String),
    /// The same, if the gem fails because of a bug.
    Broken(String),
}

/// A literal.
#[derive(Debug, Clone)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Number(Value),
    Quoted(Name),
}

impl Literal {
    fn show(&self) -> String {
        match self {
            Literal::Null => "'' (NULL)".into(),
            Literal::Boolean(boolean) => format!("'{boolean}' (BOOLEAN)"),
            Literal::Number(number) => format!("'{}' (NUMBER)", number.to_s()),
            Literal::Quoted(text) => format!("'{}' (STRING)", String::from_utf8_lossy(text)),
        }
    }
}

impl Token {
    /// Returns true if text next to it belongs to the same value.
    pub(super) fn is_simple(&self) -> bool {
        matches!(self.kind, Kind::Substitution { .. } | Kind::Unquoted(_) | Kind::Literal(..))
    }

    /// Returns true if it consists only of spaces, with or without a meaning.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            Kind::Blank(_) => true,
            Kind::Unquoted(text) => std::str::from_utf8(text).is_ok_and(|text| text.chars().all(char::is_whitespace)),
            _ => false,
        }
    }

    /// Returns true if it begins a value.
    pub(super) fn begins_value(&self) -> bool {
        self.is_simple() || matches!(self.kind, Kind::OpenCurly | Kind::OpenSquare)
    }

    /// Returns the text of tokens that keys are made of.
    pub(super) fn written(&self) -> &[u8] {
        match &self.kind {
            Kind::Literal(_, text) | Kind::Unquoted(text) | Kind::Blank(text) => text,
            _ => b"",
        }
    }

    /// Returns its text for messages.
    pub(super) fn show(&self) -> String {
        let text = |text: &Name| String::from_utf8_lossy(text).into_owned();
        match &self.kind {
            Kind::End => "end of file".into(),
            Kind::Comma => "','".into(),
            Kind::Colon => "':'".into(),
            Kind::Equals => "'='".into(),
            Kind::PlusEquals => "'+='".into(),
            Kind::OpenCurly => "'{'".into(),
            Kind::CloseCurly => "'}'".into(),
            Kind::OpenSquare => "'['".into(),
            Kind::CloseSquare => "']'".into(),
            Kind::Newline => "NEWLINE".into(),
            Kind::Blank(blank) => format!("'{}' (WHITESPACE)", text(blank)),
            Kind::Comment(comment) => format!("'#{}' (COMMENT)", text(comment)),
            Kind::Literal(literal, _) => literal.show(),
            Kind::Unquoted(unquoted) => format!("'{}'", text(unquoted)),
            Kind::Substitution { expression, .. } => {
                format!("'${{{}}}'", expression.iter().map(Token::show).collect::<String>())
            }
            Kind::Problem(problem) | Kind::Broken(problem) => problem.clone(),
        }
    }
}
