//! The events of one document, which the grammar gives to the composer.

use std::borrow::Cow;

/// The properties of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Props<'a> {
    /// The name behind `&`.
    pub(super) anchor: Option<&'a str>,
    /// The tag, with its handle replaced; it has a zero byte in it where it is not UTF-8.
    pub(super) tag: Option<Box<str>>,
}

/// One event; its line is counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) line: u32,
    pub(super) data: Data<'a>,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Data<'a> {
    /// `*name`.
    Alias(&'a str),
    /// A scalar; `text` tells that its style alone makes it text.
    Scalar { props: Props<'a>, value: Cow<'a, str>, text: bool },
    /// The items follow, then [`Data::End`].
    Sequence(Props<'a>),
    /// Keys and values follow in turn, then [`Data::End`].
    Mapping(Props<'a>),
    /// The end of the innermost open sequence or mapping.
    End,
}

/// The way to go on after an event.
pub(super) enum Onward {
    /// Goes on with the next one.
    Next,
    /// Ends.
    Stop,
}
