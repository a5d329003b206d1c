//! The comments: how wide they are, and how documentation begins.

use regex::Regex;

/// The most columns of a line of comment.
const COLUMNS: usize = 120;

/// Returns the places of comment lines that are too wide.
pub(super) fn wide(file: &str, text: &str) -> Vec<String> {
    let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COLUMNS;
    places(file, text, is_wide)
}

/// Returns the places of documentation that begins with a question word.
pub(super) fn questions(file: &str, text: &str) -> Vec<String> {
    let question = Regex::new(r"^\s*//[/!] (?:What|Whether|Who|Whose|Which|Where|How)\b").unwrap();
    let is_documentation = Regex::new(r"^\s*//[/!]").unwrap();
    let mut previous = "";
    let begins = |line| {
        let is_first = !is_documentation.is_match(previous);
        previous = line;
        is_first && question.is_match(line)
    };
    places(file, text, begins)
}

fn places<'t>(file: &str, text: &'t str, mut is_meant: impl FnMut(&'t str) -> bool) -> Vec<String> {
    let numbered = text.lines().enumerate().filter(|(_, line)| is_meant(line));
    numbered.map(|(number, line)| format!("{file}:{}: {}", number + 1, line.trim())).collect()
}
