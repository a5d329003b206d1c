//! The commits that a command looks through, with the flags of `git log`.

use clap::Args;

use crate::app::Workspace;
use crate::cli::Result;
use crate::history::commits::Span;
use crate::pattern::Pattern;

/// The commits of a history.
#[derive(Debug, Args)]
pub(super) struct SpanArguments {
    /// The last commit [default: HEAD]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Only commits since this date, in any form that git reads
    #[arg(long, value_name = "DATE", visible_alias = "after")]
    since: Option<String>,
    /// Only commits until this date: the last of them is the end
    #[arg(long, value_name = "DATE", visible_alias = "before")]
    until: Option<String>,
}

impl SpanArguments {
    /// Returns the revision that the history ends with: that of the range, if there is one.
    pub(super) fn tip_name<'a>(&'a self, range: Option<&'a str>) -> &'a str {
        match range.and_then(|range| range.split_once("..")) {
            Some((_, "")) | None => self.rev.as_deref().unwrap_or("HEAD"),
            Some((_, tip)) => tip,
        }
    }

    /// Returns the commits, those of the range `A..B` if there is one.
    pub(super) fn span(&self, workspace: &Workspace, range: Option<&str>) -> Result<Span> {
        let repository = &workspace.repository;
        if let (Some(range), Some(rev)) = (range, &self.rev) {
            return Err(format!("{range} already names the last commit: remove --rev {rev}").into());
        }
        let tip = repository.resolve(self.tip_name(range))?;
        let without = range.and_then(|range| range.split_once("..")).map(|(without, _)| without);
        let without = without.filter(|name| !name.is_empty()).map(|name| repository.resolve(name)).transpose()?;
        let date = |text: &Option<String>| -> Result<Option<i64>> {
            Ok(text.as_deref().map(|text| repository.date(text)).transpose()?.flatten())
        };
        let span = Span { tip, without, since: date(&self.since)?, until: date(&self.until)?, author: None };
        Ok(span.ended(repository)?)
    }
}

/// Divides words into patterns of keys and, if one of them has two dots, a range of commits.
pub(super) fn divided(words: &[String]) -> Result<(Vec<Pattern>, Option<&str>)> {
    let is_range = |word: &&String| word.contains("..") && !word.starts_with("re:");
    let mut ranges = words.iter().filter(is_range);
    let range = ranges.next().map(String::as_str);
    if let (Some(first), Some(second)) = (range, ranges.next()) {
        return Err(format!("{first} and {second} are two ranges of commits: name one").into());
    }
    if let Some(range) = range.filter(|range| range.contains("...")) {
        return Err(format!("{range}: a history follows one branch; write A..B").into());
    }
    let keys = words.iter().filter(|word| !is_range(word));
    let keys = keys.map(|word| word.parse::<Pattern>().map_err(|error| format!("{word}: {error}").into()));
    Ok((keys.collect::<Result<_>>()?, range))
}
