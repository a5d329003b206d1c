//! YAML exactly as Ruby's Psych reads it.
//!
//! Puppet reads data with `YAML.safe_load`: the class `Symbol` is permitted, aliases are, and only the first document
//! counts. The way of a file is that of Psych: `grammar` makes events of the bytes, `compose` makes values of the
//! events, `scalar`, `number` and `tag` know what a scalar stands for. Nothing here knows what the data means.
//!
//! Ruby's own limits are those of its stack and memory; ours are [`MAX_DEPTH`](super::document::MAX_DEPTH) and
//! [`MAX_EXPANSION`], and meeting them is a fault.

mod compose;
mod edit;
mod event;
mod grammar;
mod number;
mod scalar;
mod server;
mod symkeys;
mod tag;

use super::Psych;
use super::document::Parsed;
use super::server::Notes;
use event::{Data, Event, Onward};

pub use edit::Edit;
pub use server::read_by_server;
pub use symkeys::symkeys_to_string;

/// The most bytes by which a document may grow beyond its text through aliases.
pub const MAX_EXPANSION: usize = 64 << 20;

/// The reason why a scalar or a tagged node has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// An object of a class that Puppet does not permit.
    Class(String),
    /// An alias of this name has no anchor, or may not be there.
    Alias(String),
    /// Ruby raises an exception with this message.
    Error(String),
    /// More than this program takes on.
    Limit(String),
}

/// Returns true if a scalar without quotes or a tag is a text.
pub fn is_text(text: &str) -> bool {
    scalar::is_text(text)
}

/// The form of a text, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// There is one document at most, and nothing nests too deeply.
    Plain,
    /// Collections nest too deeply in the first document.
    Deep,
    /// There is more than one document.
    Several,
}

/// Returns the form of `content`, in which collections may nest `most` deep. Only the first document is read.
pub fn form(content: &[u8], most: usize) -> Form {
    let mut depth = 0_usize;
    let mut count = |event: Event<'_>| {
        match event.data {
            Data::Sequence(_) | Data::Mapping(_) => depth += 1,
            Data::End => depth = depth.saturating_sub(1),
            Data::Alias(_) | Data::Scalar { .. } => {}
        }
        if depth > most { Onward::Stop } else { Onward::Next }
    };
    match grammar::only_document(content, &mut count) {
        _ if depth > most => Form::Deep,
        Ok(false) => Form::Several,
        _ => Form::Plain,
    }
}

/// Reads the first document of `content`.
pub fn parse(content: &[u8]) -> Parsed {
    parse_by(content, Psych::default())
}

/// Does the same as a version of Psych.
pub fn parse_by(content: &[u8], psych: Psych) -> Parsed {
    compose(content, compose::Composer::new(content.len()).with_psych(psych))
}

/// Reads the first document of `content` as `YAML.load` does since Psych 4: an alias is a fault.
pub fn parse_without_aliases(content: &[u8]) -> Parsed {
    compose(content, compose::Composer::new(content.len()).refusing_aliases())
}

fn compose<'a>(content: &'a [u8], mut composer: compose::Composer<'a>) -> Parsed {
    let mut scalars = Notes::default();
    let (result, mut notes) = grammar::first_document(content, &mut |event| {
        server::look(&event, &mut scalars);
        composer.feed(event)
    });
    scalars.iter().for_each(|(line, kind)| notes.add(line, kind));
    match result {
        Ok(()) => Parsed { notes, ..composer.finish() },
        Err(fault) => Parsed::refused(fault),
    }
}
