//! The hooks as text: the files of `hooks/`, with the program that they fall back on.

use clap::ValueEnum;

/// A hook that hierad has a script for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Hook {
    PostCommit,
    PostMerge,
    PostRewrite,
    PostReceive,
    PreReceive,
    PrePush,
}

/// The program that the files of `hooks/` fall back on if hierad is not on the path, as for many graphical programs.
const PROGRAM: &str = "/usr/local/bin/hierad";

/// A text that each script contains, even one that was changed by hand.
const MARK: &str = "Written and removed by `hierad hooks`";

impl Hook {
    pub(super) const ALL: [Hook; 6] =
        [Hook::PostCommit, Hook::PostMerge, Hook::PostRewrite, Hook::PostReceive, Hook::PreReceive, Hook::PrePush];

    /// Returns the hooks for repositories in which commits are made, or for those that only receive them.
    pub(super) fn usual(has_work_tree: bool) -> &'static [Hook] {
        if has_work_tree {
            &[Hook::PostCommit, Hook::PostMerge, Hook::PostRewrite, Hook::PrePush]
        } else {
            &[Hook::PostReceive]
        }
    }

    /// Returns git's name for the hook.
    pub(super) fn name(self) -> &'static str {
        match self {
            Hook::PostCommit => "post-commit",
            Hook::PostMerge => "post-merge",
            Hook::PostRewrite => "post-rewrite",
            Hook::PostReceive => "post-receive",
            Hook::PrePush => "pre-push",
            Hook::PreReceive => "pre-receive",
        }
    }

    /// Returns the new name of the previous hook, which the script runs first.
    pub(super) fn previous_name(self) -> String {
        format!("{}.before-hierad", self.name())
    }

    fn source(self) -> &'static str {
        match self {
            Hook::PostCommit => include_str!("../../../hooks/post-commit"),
            Hook::PostMerge => include_str!("../../../hooks/post-merge"),
            Hook::PostRewrite => include_str!("../../../hooks/post-rewrite"),
            Hook::PostReceive => include_str!("../../../hooks/post-receive"),
            Hook::PrePush => include_str!("../../../hooks/pre-push"),
            Hook::PreReceive => include_str!("../../../hooks/pre-receive"),
        }
    }

    /// Returns the script that falls back on `program`.
    pub(super) fn script(self, program: &str) -> String {
        self.source().replace(PROGRAM, &quoted(program))
    }

    /// Returns the program that `text` falls back on, or `None` if it is not this hook's script.
    pub(super) fn program_in(self, text: &str) -> Option<String> {
        let (start, end) = self.source().split_once(PROGRAM)?;
        let word = text.strip_prefix(start)?.strip_suffix(end)?;
        let program = unquoted(word);
        (quoted(&program) == word).then_some(program)
    }
}

/// Returns true if `text` is, or once was, a script of hierad's.
pub(super) fn is_marked(text: &str) -> bool {
    text.contains(MARK)
}

/// Returns true if a hook uses its own name for more than its folder: it would not work under another name.
pub(super) fn asks_for_its_name(text: &str) -> bool {
    let folder = ["dirname \"$0\"", "dirname -- \"$0\"", "dirname $0"];
    let rest = folder.iter().fold(text.to_owned(), |text, folder| text.replace(folder, ""));
    ["$0", "${0", "argv[0]", "PROGRAM_NAME", "__FILE__"].iter().any(|name| rest.contains(name))
}

/// Returns a shell word that means `text`.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the text of a word that [`quoted`] made.
fn unquoted(word: &str) -> String {
    let inside = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
    inside.map_or_else(|| word.to_owned(), |inside| inside.replace(r"'\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_knows_its_own_program() {
        for hook in Hook::ALL {
            for program in [PROGRAM, "/opt/it's here/hierad", "''", "/a\n/hierad", "$(rm)"] {
                let script = hook.script(program);
                assert_eq!(hook.program_in(&script).as_deref(), Some(program), "{script}");
                assert!(is_marked(&script));
                assert_eq!(hook.program_in(&format!("{script}#\n")), None);
                assert_eq!(hook.program_in(&script.replace(&quoted(program), "x y")), None, "{program}");
            }
            assert_eq!(hook.script(PROGRAM), hook.source());
            assert!(hook.source().contains(&hook.previous_name()), "{hook:?}");
            assert!(hook.source().contains(&format!("hooks run {} ", hook.name())), "{hook:?}");
        }
        assert_eq!(Hook::PostCommit.program_in(&Hook::PrePush.script(PROGRAM)), None);
        assert_eq!(quoted("/opt/it's here/hierad"), r"'/opt/it'\''s here/hierad'");
    }

    #[test]
    fn a_hook_may_look_for_its_folder_but_not_at_its_name() {
        let folder = "HERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nexec lint \"$@\" $1";
        assert!(!asks_for_its_name(folder));
        for text in ["case ${0##*/} in", ". \"${0%/*}/h\"", "hook=$(basename \"$0\")", "File.basename(__FILE__)"] {
            assert!(asks_for_its_name(text), "{text}");
        }
    }
}
