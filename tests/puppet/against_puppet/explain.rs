//! Explanations: what `lookup --explain` and `--explain-options` tell about a few keys of a repository.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answers::Answers;

/// The number of lookups of a repository to explain.
const LOOKUPS: usize = 8;

/// Known differences between the explanations: `convert_to` puts types in the place of their names, relative folders of
/// a global version 3 are said as they are, a knock-out prefix changes what Puppet has found, hierad knows some of the
/// server's facts only, Ruby rewrites URIs, and what hierad does not know it cannot explain.
const DEPARTURES: [&str; 6] = [
    "#<Puppet::Pops::Types::",
    "Global Data Provider (hiera configuration version 3)",
    "\"knockout_prefix\" =>",
    "server_facts",
    "Original uri: ",
    "unknown to hierad",
];

/// A lookup to explain.
pub(crate) struct Asked {
    pub(crate) node: String,
    pub(crate) key: String,
    pub(crate) only_options: bool,
}

impl Asked {
    /// As `resolve.rb` wants it.
    pub(crate) fn request(&self) -> Value {
        json!({"node": self.node, "keys": [self.key], "only_options": self.only_options})
    }
}

/// Puppet's explanation.
pub(crate) struct Told {
    /// The text.
    pub(crate) text: String,
    /// The error that ends it, which is not in the text.
    pub(crate) error: Option<String>,
}

/// Some of the keys that have an answer, evenly among all; for half of them their options only.
pub(crate) fn chosen(answers: &Answers) -> Vec<Asked> {
    let pairs: Vec<(&String, &String)> =
        answers.iter().flat_map(|(node, keys)| keys.keys().map(move |key| (node, key))).collect();
    let step = pairs.len().div_ceil(LOOKUPS).max(1);
    let asked = |(number, (node, key)): (usize, &(&String, &String))| Asked {
        node: (*node).clone(),
        key: (*key).clone(),
        only_options: number % 2 == 1,
    };
    pairs.iter().step_by(step).enumerate().map(asked).collect()
}

/// Returns the first difference of two explanations, or `None`. hierad has an error at the end, and no sources of
/// secrets.
pub(crate) fn difference(asked: &Asked, puppet: &Told, hierad: &str, with_secrets: bool) -> Option<String> {
    let [mut theirs, ours] = [&*puppet.text, hierad].map(plain);
    if with_secrets {
        theirs = without_untold(&theirs, &ours);
    }
    if DEPARTURES.iter().any(|words| theirs.contains(words) || ours.contains(words)) {
        return None;
    }
    let same = if puppet.error.is_some() { ours.starts_with(&theirs) } else { ours == theirs };
    if same {
        return None;
    }
    let at = theirs.lines().zip(ours.lines()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| text.lines().skip(at.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n      ");
    let what = if asked.only_options { "options of " } else { "" };
    let mut text = format!("  {} {what}{:?}, from line {}", asked.node, asked.key, at + 1);
    _ = write!(text, "\n    Puppet\n      {}\n    hierad\n      {}", around(&theirs), around(&ours));
    Some(text)
}

/// A story without the interpolations, and all inside of them, that the other one goes on without.
fn without_untold(theirs: &str, ours: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut kept = String::new();
    let mut ours = ours.lines().peekable();
    let mut theirs = theirs.lines().peekable();
    while let Some(line) = theirs.next() {
        if line.trim_start().starts_with("Interpolation on ") && ours.peek() != Some(&line) {
            // The text that it is on may have several lines.
            let mut last = line;
            while !last.ends_with('"')
                && let Some(more) = theirs.next()
            {
                last = more;
            }
            while theirs.next_if(|inner| indentation(inner) > indentation(line)).is_some() {}
            continue;
        }
        ours.next();
        kept += line;
        kept.push('\n');
    }
    kept
}

/// An explanation without the places that only hierad tells.
fn plain(text: &str) -> String {
    let story = text.split_once("How it was found\n").map_or(text, |(_, story)| story);
    story.lines().flat_map(|line| [without_place(line), "\n"]).collect()
}

fn without_place(line: &str) -> &str {
    let is_place = |text: &str| text.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) {
        Some((before, place)) if is_place(place) => before,
        _ => line,
    }
}
