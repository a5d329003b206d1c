//! Shortens lists of node names: `web[01-09].example.com, db01.example.com and 9 more`.

use std::iter::Peekable;

use unicode_width::UnicodeWidthStr;

use super::visible::{shorten, visible};
use super::wording::number;
use crate::node::NodeSet;
use crate::report::{Between, Description, Group, NodeNames, Report};

impl Report {
    /// Returns the heading of a group, in few words.
    pub fn heading_of(&self, group: &Group) -> String {
        heading(self, group, SHORT)
    }
}

/// The columns of a short heading.
const SHORT: usize = 40;

/// Returns the heading of a group: the share of the nodes and their names, in about `columns`.
pub(in crate::report) fn heading(report: &Report, group: &Group, columns: usize) -> String {
    if let Between::Nodes(compared) = &report.between {
        return shorten(&compared.arrow(), columns);
    }
    let share = report.share_of(group.nodes.len());
    match which(report, group, columns.saturating_sub(share.width() + 2)) {
        Some((but, names)) => format!("{share}: {but}{names}"),
        None => share,
    }
}

/// Returns true if the names of `nodes`, and of the nodes in `except`, are harder to read than a description.
pub(in crate::report) fn is_longer(names: &NodeNames, [nodes, except]: [&NodeSet; 2], who: &Description) -> bool {
    let fits = |nodes: &NodeSet, columns: usize| {
        let mut left = Some(columns);
        for range in ranges(names.names_of(nodes), MAX_RUNS[0]) {
            left = left.and_then(|left| left.checked_sub(range.text.width()));
            if left.is_none() {
                return false;
            }
            left = left.map(|left| left.saturating_sub(2));
        }
        true
    };
    let columns_of_names =
        |nodes: &NodeSet, lead: &str| who.most_columns_of_names(nodes.len()).saturating_sub(lead.len());
    !fits(nodes, columns_of_names(nodes, "")) && (except.is_empty() || !fits(except, columns_of_names(except, ALL_BUT)))
}

/// The words before the names of the nodes that are not in a group.
const ALL_BUT: &str = "all but ";

/// Returns the description of a group's nodes or their names in about `columns`, with the words that go before them.
/// Returns `None` if the number of nodes says it all.
pub(in crate::report) fn which(report: &Report, group: &Group, columns: usize) -> Option<(&'static str, String)> {
    let who = group.who.as_ref().map(Description::to_string).filter(|who| who.width() <= columns);
    if let Some(who) = who { Some(("", who)) } else { names_of_group(report, group, columns) }
}

/// Returns the names of a group's nodes in about `columns`, with the words that go before them. Returns `None` if the
/// number of nodes says it all.
pub(in crate::report) fn names_of_group(
    report: &Report,
    group: &Group,
    columns: usize,
) -> Option<(&'static str, String)> {
    let Group { nodes, except, .. } = group;
    if let Between::Nodes(compared) = &report.between {
        return Some(("", shorten(&compared.arrow(), columns)));
    }
    let total = report.nodes.total;
    if nodes.len() == total && total != 1 {
        return None;
    }
    let ranges = |nodes| ranges(report.names.names_of(nodes), MAX_RUNS[0]);
    let by_exception = !except.is_empty() && is_shorter(ranges(except), ranges(nodes));
    let exception = || (ALL_BUT, names(report, except, columns.saturating_sub(ALL_BUT.len())));
    Some(if by_exception { exception() } else { ("", names(report, nodes, columns)) })
}

/// Returns true if `one` ends before `other`.
fn is_shorter(mut one: impl Iterator, mut other: impl Iterator) -> bool {
    loop {
        match (one.next(), other.next()) {
            (None, other) => return other.is_some(),
            (Some(_), None) => return false,
            (Some(_), Some(_)) => {}
        }
    }
}

/// Returns as many names as fit `columns`, and the number of the others.
pub(in crate::report) fn names(report: &Report, nodes: &NodeSet, columns: usize) -> String {
    fitting(&report.names.names_of(nodes), nodes.len(), columns)
}

/// Returns as many of `count` names as fit `columns`, and the number of the others.
fn fitting<'n>(names: &(impl Iterator<Item = &'n str> + Clone), count: usize, columns: usize) -> String {
    let ranges = |runs| ranges(names.clone(), runs);
    let fits = |runs: &usize| ranges(*runs).next().is_none_or(|range| range.text.width() + MORE_WIDTH <= columns);
    let all = ranges(MAX_RUNS.into_iter().find(fits).unwrap_or(1));
    // Only a few of thousands of names may fit, so this stops soon after the width is exceeded.
    let (mut ranges, mut whole) = (Vec::new(), 0_usize);
    for range in all {
        let is_enough = whole > columns.saturating_add(2) && ranges.len() > 1;
        if is_enough {
            break;
        }
        whole += range.text.width() + 2;
        ranges.push(range);
    }
    if whole <= columns.saturating_add(2) {
        return ranges.into_iter().map(|range| range.text).collect::<Vec<_>>().join(", ");
    }
    let mut text = String::new();
    let mut left = count;
    for (i, range) in ranges.iter().enumerate() {
        let rest = left - range.count;
        let more = if rest == 0 { String::new() } else { format!(" and {} more", number(rest)) };
        let separator = if i == 0 { "" } else { ", " };
        let used = text.width() + separator.len() + more.len();
        if i == 0 {
            text.push_str(&shorten(&range.text, columns.saturating_sub(used).max(16)));
        } else if used + range.text.width() <= columns {
            text.push_str(separator);
            text.push_str(&range.text);
        } else {
            return format!("{text} and {} more", number(left));
        }
        left = rest;
    }
    text
}

/// The approximate width of ` and 9 more`.
const MORE_WIDTH: usize = 14;

/// The maximum numbers of runs in one pair of brackets, tried in this order.
const MAX_RUNS: [usize; 4] = [16, 8, 4, 2];

/// One or several names.
struct Range {
    text: String,
    count: usize,
}

/// The part of a name around its number.
#[derive(PartialEq)]
struct Pattern<'a> {
    prefix: &'a str,
    digits: usize,
    suffix: &'a str,
}

/// Groups names into ranges, with at most `most` runs of numbers each.
fn ranges<'n>(names: impl Iterator<Item = &'n str>, most: usize) -> impl Iterator<Item = Range> {
    let mut rest = names.peekable();
    std::iter::from_fn(move || range(&mut rest, most))
}

/// Takes the first range from `names`.
fn range<'n>(names: &mut Peekable<impl Iterator<Item = &'n str>>, most: usize) -> Option<Range> {
    let name = names.next()?;
    let Some((pattern, first)) = pattern(name) else {
        return Some(Range { text: visible(name).into_owned(), count: 1 });
    };
    let mut runs = vec![(first, first)];
    let mut count = 1;
    while let Some((_, number)) = names.peek().and_then(|n| self::pattern(n)).filter(|(p, _)| *p == pattern) {
        let full = runs.len() == most;
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ if full => break,
            _ => runs.push((number, number)),
        }
        names.next();
        count += 1;
    }
    let text = if count == 1 { visible(name).into_owned() } else { bracket(&pattern, &runs) };
    Some(Range { text, count })
}

fn bracket(pattern: &Pattern<'_>, runs: &[(u64, u64)]) -> String {
    let width = pattern.digits;
    let run = |(first, last): &(u64, u64)| {
        if first == last { format!("{first:0width$}") } else { format!("{first:0width$}-{last:0width$}") }
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    format!("{}[{}]{}", visible(pattern.prefix), runs.join(","), visible(pattern.suffix))
}

/// Splits a name at the last number of its first label.
fn pattern(name: &str) -> Option<(Pattern<'_>, u64)> {
    let label = name.split('.').next()?;
    let end = label.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = label[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + label[at..].chars().next().map_or(1, char::len_utf8));
    let number = label[start..end].parse().ok().filter(|n| *n < u64::MAX)?;
    Some((Pattern { prefix: &name[..start], digits: end - start, suffix: &name[end..] }, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[&str], columns: usize, expected: &str) {
        assert_eq!(fitting(&nodes.iter().copied(), nodes.len(), columns), expected);
    }

    #[test]
    fn numbered_names_become_ranges() {
        check(&["a", "web01.x", "web02.x", "web03.x", "web05.x"], 80, "a, web[01-03,05].x");
        check(&["web09.x", "web10.x", "web10.y"], 80, "web[09-10].x, web10.y");
        check(&["web8", "web9", "web10"], 80, "web[8-9], web10");
        check(&["rack1-web1.x", "rack1-web2.x", "rack2-web1.x"], 80, "rack1-web[1-2].x, rack2-web1.x");
        check(&["é1é", "é2é", "99999999999999999999"], 80, "é[1-2]é, 99999999999999999999");
    }

    #[test]
    fn names_that_do_not_fit_are_counted() {
        check(&["alpha", "beta", "gamma", "delta"], 21, "alpha and 3 more");
        check(&["alpha", "beta", "gamma", "delta"], 24, "alpha, beta and 2 more");
        check(&["alpha", "beta", "gamma", "delta"], 25, "alpha, beta, gamma, delta");
        check(&["a-name-that-is-far-too-long-for-its-place", "beta"], 30, "a-name-that-is-far…, beta");
    }
}
