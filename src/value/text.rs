//! Text that may be a secret, or have parts that have not been read.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::hole::{OpenText, Piece};

/// A text, perhaps a secret. It is compared and read as a `&str`: secrecy changes only who may see it.
///
/// There is no `Display`: a writer decides first whether its reader may see the text.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Public(Arc<str>),
    Secret(Arc<(Secrecy, Box<str>)>),
    Open(Arc<OpenText>),
}

/// The reason why a text must not be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Secrecy {
    /// The form of the secret.
    pub form: Form,
    /// A digest of the ciphertext that it was made from, which reveals secrets that were re-encrypted; 0 for none.
    pub seal: u64,
}

/// The form in which a text contains a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// The secret itself.
    Clear,
    /// A name that stands for the decrypted secret: equal secrets of one key have equal names.
    Named,
    /// Ciphertext without a key, which is also what is compared.
    Encrypted,
}

impl Secrecy {
    /// A secret that was never encrypted.
    pub const SENSITIVE: Secrecy = Secrecy { form: Form::Clear, seal: 0 };

    /// Returns true if the text is only a stand-in for the real one, so that nothing can depend on the latter.
    #[must_use]
    pub fn is_opaque(self) -> bool {
        self.form != Form::Clear
    }

    /// Returns true if the text contains ciphertext without a key.
    #[must_use]
    pub fn is_encrypted(self) -> bool {
        self.form == Form::Encrypted
    }

    /// Returns the secrecy of what is made of two secrets.
    #[must_use]
    pub fn and(self, other: Secrecy) -> Secrecy {
        Secrecy { form: self.form.max(other.form), seal: self.seal.rotate_left(1) ^ other.seal }
    }

    /// Returns the secrecy of what is made of two things, each a secret or not.
    pub fn join(a: Option<Secrecy>, b: Option<Secrecy>) -> Option<Secrecy> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        }
    }
}

impl Text {
    /// Returns a text that is a secret.
    pub fn secret(text: impl Into<Box<str>>, secrecy: Secrecy) -> Text {
        Text(Repr::Secret(Arc::new((secrecy, text.into()))))
    }

    /// Returns `text`, with `secrecy` added to its own.
    pub fn with(text: impl Into<Text>, secrecy: Option<Secrecy>) -> Text {
        let text = text.into();
        match Secrecy::join(text.secrecy(), secrecy) {
            Some(secrecy) => Text::secret(text.as_str(), secrecy),
            None => text,
        }
    }

    /// Returns the text that consists of `pieces`. Its holes count as read as soon as it is read.
    pub fn of_pieces(pieces: Vec<Piece>) -> Text {
        Text(Repr::Open(Arc::new(OpenText::new(pieces))))
    }

    /// Returns the pieces of a text with holes, without reading them, or `None` if it is a plain text.
    pub fn pieces(&self) -> Option<&[Piece]> {
        match &self.0 {
            Repr::Open(open) => Some(open.pieces()),
            Repr::Public(_) | Repr::Secret(_) => None,
        }
    }

    /// Returns true for copies of one text, without looking at the content.
    pub fn is_same(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (Repr::Public(a), Repr::Public(b)) => Arc::ptr_eq(a, b),
            (Repr::Secret(a), Repr::Secret(b)) => Arc::ptr_eq(a, b),
            (Repr::Open(a), Repr::Open(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns the same text without holes, and without reading them.
    #[must_use]
    pub fn closed(&self) -> Text {
        match &self.0 {
            Repr::Open(open) => open.text().into(),
            Repr::Public(_) | Repr::Secret(_) => self.clone(),
        }
    }

    /// Returns the length in bytes, without reading holes.
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::Public(text) => text.len(),
            Repr::Secret(secret) => secret.1.len(),
            Repr::Open(open) => open.size(),
        }
    }

    /// Returns the text itself, for callers that may know it.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Public(text) => text,
            Repr::Secret(secret) => &secret.1,
            Repr::Open(open) => open.read(),
        }
    }

    /// Returns the secrecy of the text, or `None` if it is not a secret.
    pub fn secrecy(&self) -> Option<Secrecy> {
        match &self.0 {
            Repr::Public(_) | Repr::Open(_) => None,
            Repr::Secret(secret) => Some(secret.0),
        }
    }

    /// Returns the text if everybody may see it, or otherwise its stand-in.
    pub fn visible(&self) -> &str {
        match &self.0 {
            Repr::Public(text) => text,
            Repr::Secret(secret) if secret.0.is_encrypted() => "[encrypted]",
            Repr::Secret(_) => "[secret]",
            Repr::Open(open) => open.read(),
        }
    }

    /// Returns the text for callers that may know it; it is shared if it is not a secret.
    pub fn to_arc(&self) -> Arc<str> {
        match &self.0 {
            Repr::Public(text) => text.clone(),
            Repr::Secret(secret) => (*secret.1).into(),
            Repr::Open(open) => open.read().into(),
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.visible(), f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        (**self).cmp(other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(Repr::Public(text.into()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Repr::Public(text.into()))
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Text {
        Text(Repr::Public(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::hole::Hole;

    #[test]
    fn a_secret_reads_as_text_and_shows_nothing() {
        let secret = Text::secret("hunter2", Secrecy::SENSITIVE);
        assert_eq!(secret, Text::from("hunter2"));
        assert_eq!(format!("{secret:?}"), "\"[secret]\"");
        assert_eq!(Text::with("a", secret.secrecy()).visible(), "[secret]");
    }

    #[test]
    fn whoever_reads_a_text_reads_its_holes() {
        let holes = [0, 1, 2].map(|number| Arc::new(Hole::new(number, "web01".into())));
        let text = |hole: &Arc<Hole>| Text::of_pieces(vec![Piece::Literal("n-".into()), Piece::Hole(hole.clone())]);
        let [unread, read, compared] = holes.each_ref().map(text);
        let copy = unread.clone();
        assert_eq!((copy.size(), copy.pieces().map(<[Piece]>::len), copy.secrecy()), (7, Some(2), None));
        assert_eq!(read.as_str(), "n-web01");
        assert!(compared != Text::from("n-web02"));
        assert_eq!(holes.each_ref().map(|hole| hole.is_read()), [false, true, true]);
    }
}
