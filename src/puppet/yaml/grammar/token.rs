//! Tokens, the stage between characters and events.

use std::borrow::Cow;

use super::input::Mark;

/// A token and its place.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) start: Mark,
    pub(super) end: Mark,
    pub(super) kind: Kind<'a>,
}

/// The kinds of tokens.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    StreamEnd,
    /// `%YAML 1.1`.
    Version {
        major: u32,
        minor: u32,
    },
    /// `%TAG !e! tag:example.org:`.
    TagDirective {
        handle: &'a str,
        prefix: String,
    },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// `!e!suffix`; the handle of a verbatim tag is empty.
    Tag {
        handle: &'a str,
        suffix: String,
    },
    Scalar {
        value: Cow<'a, str>,
        plain: bool,
    },
}
