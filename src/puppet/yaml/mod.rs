//! YAML exactly as Ruby's Psych reads it.
//!
//! Puppet reads data with `YAML.safe_load`: it permits the class `Symbol` and aliases, and reads only the first
//! document. The stages are those of Psych: `grammar` makes events of the bytes, `compose` makes values of the
//! events, and `scalar`, `number` and `tag` decide what a scalar stands for. Nothing here knows what the data means.
//!
//! Ruby is limited only by its stack and memory; the limits here are [`MAX_DEPTH`](super::document::MAX_DEPTH) and
//! [`MAX_EXPANSION`], and exceeding them is a fault.

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

/// The maximum number of bytes by which aliases may make a document grow beyond its text.
pub const MAX_EXPANSION: usize = 64 << 20;

/// The reason why a scalar or a tagged node has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// An object of a class that Puppet does not permit.
    Class(String),
    /// An alias of this name has no anchor, or is not allowed.
    Alias(String),
    /// Ruby raises an exception with this message.
    Error(String),
    /// The text exceeds a limit of hierad.
    Limit(String),
}

/// Returns true if a scalar without quotes or a tag is a text.
pub fn is_text(text: &str) -> bool {
    scalar::is_text(text)
}

/// The form of a text, judged by what can be read of it.
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

/// Reads the first document of `content` as a version of Psych does.
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
        server::note_scalar(&event, &mut scalars);
        composer.feed(event)
    });
    scalars.iter().for_each(|(line, kind)| notes.add(line, kind));
    match result {
        Ok(()) => Parsed { notes, ..composer.finish() },
        Err(fault) => Parsed::refused(fault),
    }
}
