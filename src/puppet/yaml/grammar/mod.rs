//! The grammar of libyaml 0.2.5, which Psych reads with, quirks and messages included.
//!
//! libyaml (MIT licence) defines what this module must do, down to how far it reads ahead before it finds a fault.
//! `input` holds the characters, `scanner` makes tokens of them with the help of `scalars` and `properties`, and
//! `parser` turns tokens into events. Of the crates that offer these events, the unsafe ones are out of the
//! question and `libyaml-safer` panics on a file that ends within a block scalar.

mod input;
mod parser;
mod properties;
mod scalars;
mod scanner;
mod token;

use super::event::{Event, Onward};
use crate::puppet::document::Fault;
use crate::puppet::server::Notes;

/// Feeds the events of the first document of `content` to `sink`, until it stops. Also returns the places that a
/// Puppet server on JRuby reads differently.
pub(super) fn first_document<'a>(
    content: &'a [u8],
    sink: &mut impl FnMut(Event<'a>) -> Onward,
) -> (Result<(), Fault>, Notes) {
    noted(parser::Parser::new(content), sink)
}

/// Feeds the events of the first document as [`first_document`] does. Returns true if no other document follows.
pub(super) fn only_document<'a>(content: &'a [u8], sink: &mut impl FnMut(Event<'a>) -> Onward) -> Result<bool, Fault> {
    let mut parser = parser::Parser::new(content);
    parser.document(sink)?;
    parser.is_at_end()
}

/// Does the same as [`first_document`], but reads as the server does.
pub(super) fn document_of_server<'a>(
    content: &'a [u8],
    sink: &mut impl FnMut(Event<'a>) -> Onward,
) -> (Result<(), Fault>, Notes) {
    noted(parser::Parser::of_server(content), sink)
}

fn noted<'a>(mut parser: parser::Parser<'a>, sink: &mut impl FnMut(Event<'a>) -> Onward) -> (Result<(), Fault>, Notes) {
    let result = parser.document(sink);
    (result, parser.into_notes())
}

/// Returns true if `content` contains only characters that YAML allows.
pub(super) fn is_readable(content: &[u8]) -> bool {
    input::first_bad(content).is_none()
}
