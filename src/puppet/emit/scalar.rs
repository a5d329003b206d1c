//! A scalar and the styles it can have: `yaml_emitter_analyze_scalar` and `yaml_emitter_select_scalar_style` of
//! libyaml.

use std::borrow::Cow;

/// The maximum length, in bytes, of a key on one line with its value.
const MAX_SIMPLE_KEY: usize = 128;

/// The style that a scalar is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// A scalar as Psych passes it to libyaml.
pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    style: Style,
    /// The tag that is written whatever the style is.
    tag: Option<&'static str>,
    /// True if the text needs no tag to be read back when it is quoted.
    quoted: bool,
}

impl<'a> Scalar<'a> {
    /// Returns a text.
    pub(super) fn text(text: impl Into<Cow<'a, str>>, style: Style) -> Scalar<'a> {
        Scalar { text: text.into(), style, tag: None, quoted: true }
    }

    /// Returns a scalar that is read as text only if it is quoted.
    pub(super) fn plain(text: impl Into<Cow<'a, str>>) -> Scalar<'a> {
        Scalar { text: text.into(), style: Style::Plain, tag: None, quoted: false }
    }

    /// Returns a scalar with a tag that names its type.
    pub(super) fn tagged(text: impl Into<Cow<'a, str>>, tag: &'static str, style: Style) -> Scalar<'a> {
        Scalar { text: text.into(), style, tag: Some(tag), quoted: false }
    }

    /// Returns true if it can be a key on the line of its value.
    pub(super) fn is_simple_key(&self) -> bool {
        let tag = self.tag.map_or(0, str::len);
        !self.text.contains(is_break) && self.text.len() + tag <= MAX_SIMPLE_KEY
    }

    /// Returns the style of the scalar, as a simple key or elsewhere, and the tag to write before it.
    pub(super) fn choose(&self, is_key: bool) -> (Style, Option<&'static str>) {
        let allowed = Allowed::of(&self.text);
        let mut style = self.style;
        if is_key && allowed.multiline {
            style = Style::Double;
        }
        let empty_key = is_key && self.text.is_empty();
        if style == Style::Plain && (!allowed.plain || empty_key) {
            style = Style::Single;
        }
        let forbidden = match style {
            Style::Single => !allowed.single,
            Style::Literal => !allowed.block || is_key,
            _ => false,
        };
        if forbidden {
            style = Style::Double;
        }
        let bang = (!self.quoted && style != Style::Plain).then_some("!");
        (style, self.tag.or(bang))
    }
}

/// The styles that keep a text unchanged.
#[expect(clippy::struct_excessive_bools, reason = "they are libyaml's")]
struct Allowed {
    plain: bool,
    single: bool,
    block: bool,
    multiline: bool,
}

impl Allowed {
    fn of(text: &str) -> Allowed {
        if text.is_empty() {
            return Allowed { plain: true, single: true, block: false, multiline: false };
        }
        let ends = |is: fn(char) -> bool| text.starts_with(is) || text.ends_with(is);
        let pairs = |a: fn(char) -> bool, b: fn(char) -> bool| {
            text.chars().zip(text.chars().skip(1)).any(|(first, second)| a(first) && b(second))
        };
        let multiline = text.contains(is_break);
        let break_space = pairs(is_break, is_space);
        let odd = pairs(is_space, is_break) || !text.chars().all(is_printable);
        let edges = ends(is_space) || ends(is_break);
        Allowed {
            plain: !(edges || break_space || odd || multiline || has_indicators(text)),
            single: !(break_space || odd),
            block: !(odd || text.ends_with(is_space)),
            multiline,
        }
    }
}

/// Returns true if something in the text has a special meaning in block context.
fn has_indicators(text: &str) -> bool {
    let mut before = None;
    let mut rest = text.chars().peekable();
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    while let Some(c) = rest.next() {
        let blank_follows = rest.peek().is_none_or(|next| is_blank(*next));
        let means_something = match (before, c) {
            (None, '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`') => {
                true
            }
            (None, '?' | '-') | (_, ':') => blank_follows,
            (Some(before), '#') => is_blank(before),
            _ => false,
        };
        if means_something {
            return true;
        }
        before = Some(c);
    }
    false
}

pub(super) fn is_space(c: char) -> bool {
    c == ' '
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\0') || is_break(c)
}

/// Returns true if a character is printable to libyaml: none beyond the basic plane is.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}
