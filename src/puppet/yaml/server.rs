//! The places of a document that a Puppet server on JRuby reads differently.
//!
//! There is no second reader: the grammar notes them as it reads.

use super::event::{Data, Event};
use super::{compose, grammar, scalar};
use crate::puppet::server::{Effect, Kind, Notes, Servers};

/// The tag `!!int`.
const INTEGER_TAG: &str = "tag:yaml.org,2002:int";

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Adds a scalar to the places that a server reads differently.
pub(super) fn note_scalar(event: &Event<'_>, notes: &mut Notes) {
    if let Data::Scalar { props, value, text: false } = &event.data
        && let Some(kind) = kind_of_scalar(value)
        && props.tag.as_deref().is_none_or(|tag| tag == INTEGER_TAG)
    {
        notes.add(event.line, kind);
    }
}

/// Returns the place for which Ruby refuses a document that a server reads, or `None` if servers refuse it, too.
pub fn read_by_server(content: &[u8]) -> Option<(u32, Kind)> {
    let mut first = Notes::default();
    let text = String::from_utf8_lossy(content);
    if let Err(error) = str::from_utf8(content) {
        first.add(crate::puppet::document::line_at(content, error.valid_up_to()), Kind::Bytes);
    }
    let text = text.as_bytes();
    let text = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => {
            first.add(1, Kind::ByteOrderMark);
            rest
        }
        None => text,
    };
    let mut composer = compose::Composer::new(text.len());
    let (result, notes) = grammar::document_of_server(text, &mut |event| composer.feed(event));
    let refuses = |kind: Kind| kind.effect() == Effect::Refuses && kind.servers() == Servers::All;
    let is_read = result.is_ok() && composer.finish().fault.is_none() && !notes.iter().any(|(_, kind)| refuses(kind));
    first.iter().chain(notes.iter()).find(|(_, kind)| is_read && kind.effect() == Effect::Reads)
}

/// Returns the kind of a plain scalar, or `None` if all servers read it alike.
fn kind_of_scalar(text: &str) -> Option<Kind> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digits = |b: u8| matches!(b, b'0'..=b'9' | b',' | b'_');
    if text.eq_ignore_ascii_case("+.inf") {
        Some(Kind::PlusInfinity)
    } else if matches!(digits.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(|b| is_digits(*b))) {
        scalar::is_text(text).then_some(Kind::Integer)
    } else {
        None
    }
}
