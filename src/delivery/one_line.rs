//! Turns messages of servers and commands into one line, for logs and the queue.

use crate::diagnostic;
use crate::visible::visible;

/// Decodes untrusted text to one line, without anything that a terminal would act on.
pub fn one_line(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    visible(&words.trim_matches([' ', '\n', '\r', '\t', '\0']).replace(['\n', '\r', '\t'], " ")).into_owned()
}

/// Returns an error with its causes, in one line.
pub fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    one_line(diagnostic::describe(error).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_one_line() {
        assert_eq!(one_line(b" no\r\nsuch \x1b[31mhook\xff\n\0"), "no  such \\u001b[31mhook\u{fffd}");
    }

    #[test]
    fn each_cause_is_described_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Link(&'static str, #[source] Option<Box<Link>>);
        let end = Link("refused", None);
        let middle = Link("cannot connect: refused", Some(end.into()));
        assert_eq!(describe(&Link("cannot send", Some(middle.into()))), "cannot send: cannot connect: refused");
    }
}
