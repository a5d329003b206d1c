//! The hidden marker at the start of each comment, by which it is found again.

use std::fmt;

/// The maximum length of an id, in characters.
const MAX_ID: usize = 64;

/// The first characters of each marker.
const START: &str = "<!-- hierad-review: ";
const END: &str = " -->";

/// The id of a configuration, which has its own comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id(String);

impl Id {
    /// Makes an id from a short text of letters, digits, dots, single dashes and underscores, or returns `None` for
    /// other texts.
    pub fn new(text: &str) -> Option<Id> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_good = !text.is_empty() && text.len() <= MAX_ID && text.chars().all(is_plain) && !text.contains("--");
        is_good.then(|| Id(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The order of the runs for one commit: the number of a run, and that of its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Run(pub u64, pub u64);

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The marker of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) id: Id,
    /// The id of the commit that was reviewed.
    pub(super) head: String,
    pub(super) run: Run,
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{} head={} run={}{END}", self.id.0, self.head, self.run)
    }
}

impl Marker {
    /// Reads the marker that a comment begins with.
    pub(super) fn read(body: &str) -> Option<Marker> {
        let line = body.lines().next()?.strip_prefix(START)?.trim_end().strip_suffix(END)?;
        let mut words = line.split(' ');
        let id = Id::new(words.next()?)?;
        let mut marker = Marker { id, head: String::new(), run: Run::default() };
        for word in words {
            match word.split_once('=') {
                Some(("head", head)) => head.clone_into(&mut marker.head),
                Some(("run", run)) => {
                    let (run, attempt) = run.split_once('.')?;
                    marker.run = Run(run.parse().ok()?, attempt.parse().ok()?);
                }
                // The marker of a later version may say more.
                _ => {}
            }
        }
        Some(marker)
    }

    /// Returns a body that begins with the marker.
    pub(super) fn prepended_to(&self, text: &str) -> String {
        format!("{self}\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let id = Id::new("site-a.b_c").unwrap();
        let marker = Marker { id, head: "a".repeat(40), run: Run(17, 2) };
        assert_eq!(Marker::read(&marker.prepended_to("# text")), Some(marker.clone()));
        // GitHub stores lines as browsers send them.
        assert_eq!(Marker::read(&marker.prepended_to("text").replace('\n', "\r\n")), Some(marker));
        for other in
            ["", "text", "text\n<!-- hierad-review: a head=b run=1.1 -->", "<!-- hierad-review: a b", "<!-- x -->"]
        {
            assert_eq!(Marker::read(other), None, "{other}");
        }
    }

    #[test]
    fn an_id_cannot_end_the_marker() {
        for bad in ["", "a b", "a-->", "a--b", "ä", &"a".repeat(65)] {
            assert_eq!(Id::new(bad), None, "{bad}");
        }
    }
}
