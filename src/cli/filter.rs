//! Checks that `--node` and `--key` match something.

use super::Result;
use crate::pattern::{Pattern, any, nearest};

/// The most names to suggest.
const SUGGESTED: usize = 3;

/// Fails if the patterns of `flag` match none of `names`, and suggests similar names.
pub(super) fn matches_something<'n, I: Iterator<Item = &'n str>>(
    flag: &str,
    patterns: &[Pattern],
    names: impl Fn() -> I,
) -> Result<()> {
    let Some(first) = patterns.first().filter(|_| !names().any(|name| any(patterns, name))) else { return Ok(()) };
    let what = flag.trim_start_matches('-');
    let near = nearest(first.as_str(), names(), SUGGESTED);
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    Err(format!("no {what} matches {flag} '{}'{hint}", first.as_str()).into())
}
