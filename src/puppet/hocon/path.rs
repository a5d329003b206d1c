//! Paths of keys: `a.b."c.d"`.
//!
//! Source: `path.rb`, `path_parser.rb`.

use std::rc::Rc;

use super::token::{Kind, Literal, Token};
use super::{Name, Origin, Refusal, Result, quoted};
use crate::puppet::document::MAX_DEPTH;

/// One or more keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) first: Name,
    pub(super) rest: Option<Rc<Path>>,
}

impl Path {
    fn of(mut names: Vec<Name>) -> Option<Path> {
        let mut path = Path { first: names.pop()?, rest: None };
        while let Some(first) = names.pop() {
            path = Path { first, rest: Some(Rc::new(path)) };
        }
        Some(path)
    }

    /// Joins the paths, one after the other.
    pub(super) fn concat<'a>(paths: impl Iterator<Item = &'a Path>) -> Option<Path> {
        Path::of(paths.flat_map(Path::names).cloned().collect())
    }

    /// Returns its keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        std::iter::successors(Some(self), |path| path.rest.as_deref()).map(|path| &path.first)
    }

    /// Returns its text for messages.
    pub(super) fn render(&self) -> String {
        let name = |name: &Name| {
            let text = String::from_utf8_lossy(name).into_owned();
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
            if !text.is_empty() && text.chars().all(plain) { text } else { quoted(&text) }
        };
        self.names().map(name).collect::<Vec<_>>().join(".")
    }

    /// Returns the path that `tokens` spell.
    pub(super) fn parse(tokens: &[Token], origin: Option<Origin>) -> Result<Path> {
        if tokens.is_empty() {
            return Err(Refusal::config(origin, "Expecting a field name or path here, but got nothing"));
        }
        let mut spelling = Spelling { names: vec![Element::default()] };
        for token in tokens {
            match &token.kind {
                Kind::Blank(_) | Kind::End => {}
                Kind::Literal(Literal::Quoted(text), _) => spelling.quoted(text),
                Kind::Literal(_, text) | Kind::Unquoted(text) => spelling.plain(text)?,
                _ => {
                    let text = format!(
                        "Token not allowed in path expression: {} (you can double-quote this token if you really want it here)",
                        token.show()
                    );
                    return Err(Refusal::config(origin, &text));
                }
            }
        }
        spelling.finish(origin)
    }
}

/// A path that is being parsed.
struct Spelling {
    names: Vec<Element>,
}

#[derive(Default)]
struct Element {
    text: Vec<u8>,
    may_be_empty: bool,
}

impl Spelling {
    fn last(&mut self) -> Option<&mut Element> {
        self.names.last_mut()
    }

    fn quoted(&mut self, text: &[u8]) {
        if let Some(last) = self.last() {
            last.text.extend(text);
            last.may_be_empty |= last.text.is_empty();
        }
    }

    fn plain(&mut self, text: &[u8]) -> Result<()> {
        for (at, part) in text.split(|b| *b == b'.').enumerate() {
            if at > 0 {
                self.names.push(Element::default());
            }
            if let Some(last) = self.last() {
                last.text.extend(part);
            }
        }
        if self.names.len() > MAX_DEPTH { Err(Refusal::too_deep()) } else { Ok(()) }
    }

    fn finish(self, origin: Option<Origin>) -> Result<Path> {
        let bad = || {
            let text = "path has a leading, trailing, or two adjacent period '.' (use quoted \"\" empty string if you want an empty element)";
            Refusal::config(origin, text)
        };
        if self.names.iter().any(|name| name.text.is_empty() && !name.may_be_empty) {
            return Err(bad());
        }
        Path::of(self.names.into_iter().map(|name| name.text.into()).collect()).ok_or_else(bad)
    }
}
