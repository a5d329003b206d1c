//! The events of one document, which the grammar gives to the composer.

use std::borrow::Cow;

/// The properties of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Props<'a> {
    /// The name after `&`.
    pub(super) anchor: Option<&'a str>,
    /// The tag, with its handle replaced; it contains a zero byte if it is not UTF-8.
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
    /// A scalar; `text` is true if its style alone makes it text.
    Scalar { props: Props<'a>, value: Cow<'a, str>, text: bool },
    /// The items follow, then [`Data::End`].
    Sequence(Props<'a>),
    /// Keys and values follow in turn, then [`Data::End`].
    Mapping(Props<'a>),
    /// The end of the innermost open sequence or mapping.
    End,
}

/// Decides if events are fed after this one.
pub(super) enum Onward {
    /// Continue with the next one.
    Next,
    /// Stop.
    Stop,
}
