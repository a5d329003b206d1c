//! Finds objects, lists, fields and values in the tokens.
//!
//! Source: `config_document_parser.rb`.

use super::path::Path;
use super::token::{Kind, Literal, Token};
use super::tokenizer::Tokenizer;
use super::{Origin, Refusal, Result};
use crate::puppet::document::MAX_DEPTH;

/// A value as it is written.
#[derive(Debug)]
pub(super) enum Tree {
    /// A literal, text or a substitution.
    Simple(Token),
    /// Fields in braces, or those of the whole document.
    Object {
        line: u32,
        members: Vec<Member>,
        /// The number of line ends after the last member.
        trailing: u32,
    },
    /// Values in brackets.
    List {
        line: u32,
        items: Vec<Item>,
        /// The number of line ends after the last item.
        trailing: u32,
    },
    /// Adjacent values.
    Concat(Vec<Tree>),
}

/// A part of an object.
#[derive(Debug)]
pub(super) struct Member {
    /// The number of line ends before it.
    pub(super) newlines: u32,
    pub(super) kind: MemberKind,
}

/// The kind of a part of an object.
#[derive(Debug)]
pub(super) enum MemberKind {
    Field {
        line: u32,
        path: Path,
        /// True if the value is added to a list.
        adds: bool,
        value: Tree,
    },
    Include(Include),
}

/// An include statement.
#[derive(Debug)]
pub(super) enum Include {
    Url(String),
    File(String),
    Resource,
    Any(String),
}

/// A part of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// The number of line ends before it.
    pub(super) newlines: u32,
    pub(super) value: Tree,
}

/// A document, and the number of line ends before it.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) newlines: u32,
    pub(super) root: Tree,
}

/// Parses tokens.
pub(super) struct Parser<'a> {
    tokens: Tokenizer<'a>,
    /// Tokens that were put back; the last one is read first.
    put_back: Vec<Token>,
    line: u32,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(content: &'a [u8]) -> Parser<'a> {
        Parser { tokens: Tokenizer::new(content), put_back: Vec::new(), line: 1, depth: 0 }
    }

    /// Returns the line of what was read last.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Returns the whole document.
    pub(super) fn document(&mut self) -> Result<Document> {
        let mut newlines = 0;
        let token = self.next_solid(&mut newlines)?;
        let root = if matches!(token.kind, Kind::OpenCurly | Kind::OpenSquare) {
            self.value(token)?
        } else {
            self.put_back.push(token);
            self.object(1, false)?
        };
        let token = self.next_solid(&mut 0)?;
        match token.kind {
            Kind::End => Ok(Document { newlines, root }),
            _ => {
                Err(self.error(&format!("Document has trailing tokens after first object or array: {}", token.show())))
            }
        }
    }

    fn error(&self, text: &str) -> Refusal {
        Refusal::config(Some(Origin::line(self.line)), text)
    }

    /// Returns an error at a sign that might have been meant as text.
    fn unexpected(&self, token: &Token, text: &str) -> Refusal {
        if matches!(token.kind, Kind::End) {
            return self.error(text);
        }
        self.error(&format!(
            "{text} (if you intended {} to be part of a key or string value, try enclosing the key or value in double quotes",
            token.show()
        ))
    }

    fn next(&mut self) -> Result<Token> {
        self.put_back.pop().map_or_else(|| self.tokens.next(), Ok)
    }

    /// Returns the next token other than spaces, comments and line ends, and counts the line ends.
    fn next_solid(&mut self, newlines: &mut u32) -> Result<Token> {
        loop {
            let token = self.next()?;
            match token.kind {
                Kind::Newline => {
                    *newlines += 1;
                    self.line = token.line + 1;
                }
                Kind::Comment(_) => {}
                _ if token.is_blank() => {}
                Kind::Broken(text) => return Err(Refusal::Ruby(text)),
                _ => {
                    self.line = token.origin.unwrap_or(self.line);
                    return Ok(token);
                }
            }
        }
    }

    /// Skips the separators of fields and items. Returns true if there was a comma or a line end.
    fn separator(&mut self, newlines: &mut u32) -> Result<bool> {
        let mut has_separator = false;
        loop {
            let token = self.next()?;
            match token.kind {
                Kind::Newline => {
                    has_separator = true;
                    *newlines += 1;
                    self.line += 1;
                }
                Kind::Comma => return Ok(true),
                Kind::Comment(_) => {}
                _ if token.is_blank() => {}
                _ => {
                    self.put_back.push(token);
                    return Ok(has_separator);
                }
            }
        }
    }

    /// Returns the value that `token` begins.
    fn value(&mut self, token: Token) -> Result<Tree> {
        if self.depth >= MAX_DEPTH {
            return Err(Refusal::too_deep());
        }
        self.depth += 1;
        let value = match token.kind {
            Kind::OpenCurly => self.object(token.line, true),
            Kind::OpenSquare => self.list(token.line),
            _ if token.is_simple() => Ok(Tree::Simple(token)),
            _ => {
                let text = format!("Expecting a value but got wrong token: {}", token.show());
                Err(self.unexpected(&token, &text))
            }
        };
        self.depth -= 1;
        value
    }

    /// Returns all adjacent values, or `None` if there are none.
    fn values(&mut self, newlines: &mut u32) -> Result<Option<Tree>> {
        let mut values = Vec::new();
        let mut blank = None;
        let mut token = self.next_solid(newlines)?;
        loop {
            if matches!(token.kind, Kind::Blank(_)) {
                blank = Some(token);
            } else if token.begins_value() {
                blank = None;
                values.push(self.value(token)?);
            } else {
                break;
            }
            token = self.next()?;
        }
        self.put_back.push(token);
        self.put_back.extend(blank);
        Ok(if values.len() < 2 { values.pop() } else { Some(Tree::Concat(values)) })
    }

    fn object(&mut self, line: u32, braces: bool) -> Result<Tree> {
        let mut members = Vec::new();
        let mut newlines = 0;
        loop {
            let token = self.next_solid(&mut newlines)?;
            match token.kind {
                Kind::CloseCurly if braces => break,
                Kind::CloseCurly => {
                    return Err(self.unexpected(&token, "unbalanced close brace '}' with no open brace"));
                }
                Kind::End if !braces => {
                    self.put_back.push(token);
                    break;
                }
                _ => {}
            }
            let is_include = matches!(&token.kind, Kind::Unquoted(text) if **text == *b"include");
            let kind = if is_include { MemberKind::Include(self.include()?) } else { self.field(token)? };
            members.push(Member { newlines: std::mem::take(&mut newlines), kind });
            if !self.separator(&mut newlines)? && self.object_ends(braces, &mut newlines)? {
                break;
            }
        }
        Ok(Tree::Object { line, members, trailing: newlines })
    }

    /// Reads the end of an object after a field without a separator. Anything else is an error.
    fn object_ends(&mut self, braces: bool, newlines: &mut u32) -> Result<bool> {
        let token = self.next_solid(newlines)?;
        match token.kind {
            Kind::CloseCurly if braces => Ok(true),
            Kind::CloseCurly => Err(self.unexpected(&token, "unbalanced close brace '}' with no open brace")),
            Kind::End if !braces => {
                self.put_back.push(token);
                Ok(true)
            }
            _ => {
                let text = format!("Expecting close brace }} or a comma, got {}", token.show());
                Err(self.unexpected(&token, &text))
            }
        }
    }

    fn field(&mut self, token: Token) -> Result<MemberKind> {
        let line = token.line;
        let (path, written) = self.key(token)?;
        let separator = self.next_solid(&mut 0)?;
        let adds = matches!(separator.kind, Kind::PlusEquals);
        let value = match separator.kind {
            Kind::OpenCurly => self.value(separator)?,
            Kind::Colon | Kind::Equals | Kind::PlusEquals => self.assigned()?,
            _ => {
                let text = format!("Key '{written}' may not be followed by token: {}", separator.show());
                return Err(self.unexpected(&separator, &text));
            }
        };
        Ok(MemberKind::Field { line, path, adds, value })
    }

    /// Returns the value after a separator.
    fn assigned(&mut self) -> Result<Tree> {
        if let Some(value) = self.values(&mut 0)? {
            return Ok(value);
        }
        let token = self.next_solid(&mut 0)?;
        self.value(token)
    }

    /// Returns the path that `token` begins, and its text as written.
    fn key(&mut self, mut token: Token) -> Result<(Path, String)> {
        let mut expression = Vec::new();
        while matches!(token.kind, Kind::Literal(..) | Kind::Unquoted(_)) {
            expression.push(token);
            token = self.next()?;
        }
        if expression.is_empty() {
            return Err(self.error(&format!("expecting a close brace or a field name here, got {}", token.show())));
        }
        self.put_back.push(token);
        let written: Vec<u8> = expression.iter().flat_map(Token::written).copied().collect();
        Ok((Path::parse(&expression, None)?, String::from_utf8_lossy(&written).into_owned()))
    }

    fn include(&mut self) -> Result<Include> {
        let token = self.next_solid(&mut 0)?;
        if let Some(name) = quoted(&token) {
            return Ok(Include::Any(name));
        }
        let Kind::Unquoted(kind) = &token.kind else {
            return Err(
                self.error(&format!("include keyword is not followed by a quoted string, but by: {}", token.show()))
            );
        };
        let make: fn(String) -> Include = match &**kind {
            b"url(" => Include::Url,
            b"file(" => Include::File,
            b"classpath(" => |_| Include::Resource,
            _ => {
                return Err(self.error(&format!(
                    "expecting include parameter to be quoted filename, file(), classpath(), or url(). No spaces are allowed before the open paren. Not expecting: {}",
                    token.show()
                )));
            }
        };
        let token = self.next_solid(&mut 0)?;
        let Some(name) = quoted(&token) else {
            let shown = token.show();
            return Err(self.error(&format!(
                "expecting a quoted string inside file(), classpath(), or url(), rather than: {shown}"
            )));
        };
        let token = self.next_solid(&mut 0)?;
        match &token.kind {
            Kind::Unquoted(text) if **text == *b")" => Ok(make(name)),
            _ => Err(self.error(&format!("expecting a close parentheses ')' here, not: {}", token.show()))),
        }
    }

    fn list(&mut self, line: u32) -> Result<Tree> {
        let mut items = Vec::new();
        let mut newlines = 0;
        let Some(value) = self.values(&mut newlines)? else {
            self.list_ends(
                &mut newlines,
                "List should have ] or a first element after the open [, instead had token: ",
            )?;
            return Ok(Tree::List { line, items, trailing: newlines });
        };
        items.push(Item { newlines: std::mem::take(&mut newlines), value });
        loop {
            if !self.separator(&mut newlines)? {
                self.list_ends(&mut newlines, "List should have ended with ] or had a comma, instead had token: ")?;
                return Ok(Tree::List { line, items, trailing: newlines });
            }
            if let Some(value) = self.values(&mut newlines)? {
                items.push(Item { newlines: std::mem::take(&mut newlines), value });
                continue;
            }
            let token = self.next_solid(&mut newlines)?;
            if !matches!(token.kind, Kind::CloseSquare) {
                let text = "List should have had new element after a comma, instead had token: ";
                return Err(self.list_error(text, "the comma or ", &token));
            }
            self.put_back.push(token);
        }
    }

    /// Reads the end of a list, or fails with `text`.
    fn list_ends(&mut self, newlines: &mut u32, text: &str) -> Result<()> {
        let token = self.next_solid(newlines)?;
        if matches!(token.kind, Kind::CloseSquare) { Ok(()) } else { Err(self.list_error(text, "", &token)) }
    }

    fn list_error(&self, text: &str, comma: &str, token: &Token) -> Refusal {
        let shown = token.show();
        self.error(&format!(
            "{text}{shown} (if you want {comma}{shown} to be part of a string value, then double-quote it)"
        ))
    }
}

fn quoted(token: &Token) -> Option<String> {
    match &token.kind {
        Kind::Literal(Literal::Quoted(text), _) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}
