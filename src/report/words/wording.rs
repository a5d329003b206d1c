//! Wording that all writers share: headlines, counts, shares of nodes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::visible::{in_headline, visible};
use crate::diff::{ChangeKind, Diff};
use crate::hiera::Outcome;
use crate::node::NodeSet;
pub use crate::report::numbers::{count, number};
use crate::report::{
    Between, BlindSpot, CHANGED_VARIABLE, ChangedLines, ComparedNode, Count, Effect, FileChange, FindingChange, Group,
    How, Item, KeyChange, Leaf, LeafFold, Origin, Report, Source, UnknownEffect, Verdict,
};

/// Returns the name in `Name <address>`.
pub fn author_name(author: &str) -> &str {
    author.split(" <").next().unwrap_or(author)
}

/// Returns the day of a time in RFC 3339.
pub fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

impl Report {
    /// Returns the verdict. A commit that makes everything unreadable, or readable again, is a change.
    pub fn verdict(&self) -> Verdict {
        if !self.changes.is_empty() || self.is_unreadable.before != self.is_unreadable.after {
            Verdict::Changes
        } else if self.blind_spots.is_empty() && !self.is_unreadable.after {
            Verdict::NoChange
        } else {
            Verdict::NoChangeSeen
        }
    }

    /// Returns a summary such as `3 files, 6 changed lines, each with an effect`, or `None` if no line of data changed.
    pub fn lines_summary(&self) -> Option<String> {
        let all: usize = self.lines.iter().map(ChangedLines::len).sum();
        if all == 0 {
            return None;
        }
        let kinds = self.kinds_of_lines();
        let effects = match (kinds[0].0, all) {
            (1, 1) => "with an effect".to_owned(),
            (changing, all) if changing == all => "each with an effect".to_owned(),
            (0, all) if kinds[4].0 == 0 && kinds.iter().any(|(count, _)| *count == all) => {
                let text = kinds.iter().find(|(count, _)| *count == all).map_or("", |(_, text)| text);
                if all == 1 { text.to_owned() } else { format!("all {text}") }
            }
            _ => {
                let parts = kinds.iter().filter(|(count, _)| *count > 0);
                parts.map(|(count, text)| format!("{} {text}", number(*count))).collect::<Vec<_>>().join(", ")
            }
        };
        Some(format!("{}, {}, {effects}", self.changed_files(), count(all, "changed line")))
    }

    /// Returns the number of files with changed lines, such as `3 files (1 new)`.
    fn changed_files(&self) -> String {
        let files: BTreeMap<&str, FileChange> =
            self.lines.iter().map(|lines| (&*lines.place.path, lines.file)).collect();
        let number_of = |change| files.values().filter(|file| **file == change).count();
        let numbers = [FileChange::New, FileChange::Deleted].map(|change| (number_of(change), change.as_str()));
        if let Some((all, word)) = numbers.into_iter().find(|(all, _)| *all == files.len()) {
            return count(all, &format!("{word} file"));
        }
        let some = numbers.iter().filter(|(some, _)| *some > 0).map(|(some, word)| format!("{} {word}", number(*some)));
        match some.collect::<Vec<_>>().join(", ") {
            some if some.is_empty() => count(files.len(), "file"),
            some => format!("{} ({some})", count(files.len(), "file")),
        }
    }

    /// Returns the number of changed lines of each kind.
    fn kinds_of_lines(&self) -> [(usize, &'static str); 6] {
        let mut kinds = [
            (0, "with an effect"),
            (0, "without effect"),
            (0, "of comments or layout"),
            (0, "in files that no known node reads"),
            (0, "whose effect is unknown"),
            // Because too much has changed.
            (0, "not looked into"),
        ];
        for lines in &self.lines {
            let kind = match &lines.effect {
                Effect::Changes { .. } => 0,
                Effect::None(_) => 1 + usize::from(lines.effect.is_of_equal_data()),
                Effect::Unknown(UnknownEffect::Unreached) => 3,
                Effect::Unknown(UnknownEffect::NotTraced) => 5,
                Effect::Unknown(_) => 4,
            };
            kinds[kind].0 += lines.len();
        }
        kinds
    }

    /// Returns the verdict in one line, with the policies that fail.
    pub fn headline(&self) -> String {
        let facts = match &self.between {
            Between::Revisions => String::new(),
            Between::Facts => match self.names.fleet.iter().next().filter(|_| self.names.fleet.len() == 1) {
                Some((_, only)) => format!("by other facts of {}: ", in_headline(only)),
                None => "by other facts of nodes: ".to_owned(),
            },
            Between::Nodes(compared) => format!("{}: ", in_headline(&compared.arrow())),
        };
        facts + &self.result()
    }

    /// Returns the headline without the words on what is compared, for a place that says it.
    pub fn result(&self) -> String {
        format!("{}{}{}", self.narrowed_words(), self.verdict_line(), self.policies_summary())
    }

    /// Returns words such as `narrowed to data/common.yaml: `, or nothing if the report is whole.
    fn narrowed_words(&self) -> String {
        let paths: Vec<Cow<'_, str>> = self.narrowed_to.iter().take(MAX_PATHS).map(|path| visible(path)).collect();
        match self.narrowed_to.len() - paths.len() {
            0 if paths.is_empty() => String::new(),
            0 => format!("narrowed to {}: ", paths.join(", ")),
            more => format!("narrowed to {} and {more} more: ", paths.join(", ")),
        }
    }

    /// Returns how many of the nodes are asked for, or `None` if all are.
    fn asked_for(&self) -> Option<String> {
        let (asked, all) = (self.nodes.total, self.names.fleet.len());
        (asked < all).then(|| format!("of {}, {} asked for", count(all, "node"), number(asked)))
    }

    /// Returns what a filter leaves and hides, in brackets to follow a headline; empty without a filter.
    fn filter_note(&self) -> String {
        let hidden = self.blind_spots.iter().find(|spot| spot.is_filtered()).map(|spot| in_headline(&spot.headline));
        let all: Vec<String> = self.asked_for().into_iter().chain(hidden).collect();
        if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
    }

    fn verdict_line(&self) -> String {
        let [mut new, standing] = [false, true].map(|is_standing| self.spots(is_standing).collect::<Vec<_>>());
        if self.verdict() == Verdict::Changes {
            new.retain(|spot| !spot.is_filtered());
        }
        let first = new.first().copied().or(self.blind_spots.first());
        let first = first.map_or_else(|| "nothing could be read".to_owned(), |spot| in_headline(&spot.headline));
        match self.verdict() {
            Verdict::NoChange => {
                let keys = count(self.keys.total, "key");
                if self.is_of_nodes() {
                    return format!("no difference ({keys} compared)");
                }
                let compared = match self.asked_for() {
                    Some(asked) => format!("{asked}; {keys} compared"),
                    None => format!("{} and {keys} compared", count(self.nodes.total, "node")),
                };
                format!("no effective change ({compared})")
            }
            Verdict::NoChangeSeen => {
                let asked = self.asked_for().map_or_else(String::new, |asked| format!(" ({asked})"));
                let change = if self.is_of_nodes() { "difference" } else { "change" };
                if new.is_empty() && !standing.is_empty() && !self.is_unreadable.after {
                    return format!("no {change} seen{asked} ({})", count(standing.len(), STANDING));
                }
                let more = match new.len() {
                    0 | 1 => String::new(),
                    spots => format!("; and {}", count(spots - 1, "more blind spot")),
                };
                format!("no {change} seen{asked}, but: {first}{more}")
            }
            Verdict::Changes => {
                let (spots, blind) = (new.len(), &self.is_unreadable);
                match (blind.before, blind.after) {
                    (before, after) if before != after => {
                        let (words, mark) = self.unreadable_words(after, &first);
                        join([words, self.changes_summary()], mark)
                    }
                    _ if spots == 0 => self.changes_summary() + &self.filter_note(),
                    _ => {
                        let one = if spots == 1 { "" } else { ", the first" };
                        let (changes, spots) =
                            (self.changes_summary() + &self.filter_note(), count(spots, "blind spot"));
                        format!("{changes}; {spots}{one}: {first}")
                    }
                }
            }
        }
    }

    /// Returns what it says if nothing can be read on one side, the later one or the earlier, and what follows it.
    fn unreadable_words(&self, is_later: bool, first: &str) -> (String, &'static str) {
        match (&self.between, is_later) {
            (Between::Nodes(nodes), true) => (format!("nothing can be read on {}: {first}", nodes.after), "; "),
            (Between::Nodes(nodes), false) => (format!("nothing can be read on {}", nodes.before), "; "),
            (_, true) => (format!("nothing can be read any more: {first}"), "; "),
            (_, false) => ("what could not be read before can be now".to_owned(), ": "),
        }
    }

    /// Returns the blind spots that existed before the commit, or the others.
    pub fn spots(&self, is_standing: bool) -> impl Iterator<Item = &BlindSpot> {
        self.blind_spots.iter().filter(move |spot| spot.is_standing == is_standing)
    }

    /// Returns the heading of the blind spots that existed before the commit, or of the others.
    pub(in crate::report) fn spots_heading(&self, is_standing: bool) -> String {
        let (filtered, spots): (Vec<_>, Vec<_>) = self.spots(is_standing).partition(|spot| spot.is_filtered());
        match (is_standing, spots.len(), filtered.is_empty()) {
            (true, spots, _) => format!("{}: unseen with or without this commit", count(spots, STANDING)),
            (false, 0, false) => self.asked_for().unwrap_or_else(|| "hidden by the filter".to_owned()),
            (false, spots, true) => count(spots, "blind spot"),
            (false, spots, false) => format!("{}, and what the filter hides", count(spots, "blind spot")),
        }
    }

    /// Returns the number of keys that change, and on how many nodes they do.
    fn changes_summary(&self) -> String {
        if self.keys.changed == 0 {
            return String::new();
        }
        if let Between::Nodes(compared) = &self.between {
            return self.differences_summary(compared);
        }
        let spread = self.spread();
        let (failing, unknown) = (self.keys_labelled("fails"), self.keys_labelled("unknown"));
        let keys = count(self.keys.changed, "key");
        let verb = |one: &'static str, many: &'static str| if self.keys.changed == 1 { one } else { many };
        if failing == self.keys.changed && unknown == 0 {
            return format!("{keys} {}{spread}", verb("fails", "fail"));
        }
        if self.keys_labelled("recovers") == self.keys.changed {
            return format!("{keys} {}{spread}", verb("recovers", "recover"));
        }
        let part = |n, one: &str, many: &str| match n {
            0 => String::new(),
            1 => format!("; 1 of them {one}"),
            n => format!("; {} of them {many}", number(n)),
        };
        let parts = part(failing, "fails", "fail") + &part(unknown, "becomes unknown", "become unknown");
        format!("{keys} {}{spread}{parts}{}", verb("changes", "change"), self.unused_summary())
    }

    /// Returns the number of keys that differ between two nodes, and where lookups fail.
    fn differences_summary(&self, compared: &Diff<ComparedNode>) -> String {
        let mut parts = String::new();
        for (is_unknown, one, many) in [(false, "fails", "fail"), (true, "is unknown", "are unknown")] {
            let after = self.keys_where(|change| fails(change.outcome.after.as_deref(), is_unknown));
            let before = self.keys_where(|change| fails(change.outcome.before.as_deref(), is_unknown));
            for (node, keys) in [(&compared.after, after), (&compared.before, before)] {
                match keys {
                    0 => {}
                    1 => _ = write!(parts, "; 1 of them {one} on {node}"),
                    n => _ = write!(parts, "; {} of them {many} on {node}", number(n)),
                }
            }
        }
        let verb = if self.keys.changed == 1 { "differs" } else { "differ" };
        format!("{} {verb}{parts}", count(self.keys.changed, "key"))
    }

    /// Returns true if it compares two nodes.
    pub(in crate::report) fn is_of_nodes(&self) -> bool {
        matches!(self.between, Between::Nodes(_))
    }

    /// Returns ` on all 161 nodes`, or `, one on all 161 nodes, one on 3` if the keys do not all change on the same
    /// nodes.
    fn spread(&self) -> String {
        let mut by_key: BTreeMap<&str, NodeSet> = BTreeMap::new();
        for change in &self.changes {
            by_key.entry(&change.key).or_default().union_with(&change.nodes);
        }
        if by_key.values().all(|nodes| nodes.len() == self.nodes.changed) {
            return format!(" on {}", share(self.nodes));
        }
        let mut keys_by_nodes: BTreeMap<usize, usize> = BTreeMap::new();
        for nodes in by_key.values() {
            *keys_by_nodes.entry(nodes.len()).or_default() += 1;
        }
        let (least, most) = (keys_by_nodes.keys().next().copied(), keys_by_nodes.keys().next_back().copied());
        let (Some(least), Some(most)) = (least, most) else { return String::new() };
        let union = share(self.nodes);
        if least == most {
            return format!(", each on {}, {union} in all", count(least, "node"));
        }
        if keys_by_nodes.len() > MAX_DISTINCT_COUNTS {
            return format!(", each on {} to {}, {union} in all", number(least), count(most, "node"));
        }
        let mut parts = Vec::new();
        for (nodes, keys) in keys_by_nodes.into_iter().rev() {
            let keys = if keys == 1 { "one".to_owned() } else { number(keys) };
            let nodes = if parts.is_empty() { share(Count { changed: nodes, ..self.nodes }) } else { number(nodes) };
            parts.push(format!("{keys} on {nodes}"));
        }
        format!(", {}", parts.join(", "))
    }

    /// Returns the number of keys that have a change with this label.
    fn keys_labelled(&self, label: &str) -> usize {
        self.keys_where(|change| change.label() == label)
    }

    /// Returns the number of keys that have such a change.
    fn keys_where(&self, is_wanted: impl Fn(&KeyChange) -> bool) -> usize {
        let mut keys: Vec<_> = self.changes.iter().filter(|change| is_wanted(change)).map(|c| &c.key).collect();
        keys.dedup();
        keys.len()
    }

    /// Returns the kind of change in a word or two; between two nodes nothing happens in time.
    pub(in crate::report) fn label(&self, change: &KeyChange) -> &'static str {
        match change.label() {
            "recovers" if self.is_of_nodes() => "works",
            "new error" if self.is_of_nodes() => "other error",
            label => label,
        }
    }
}

/// Returns true for a lookup that fails, or one that is unknown.
fn fails(outcome: Option<&Outcome>, is_unknown: bool) -> bool {
    matches!(outcome, Some(Outcome::Failed(error)) if error.kind.is_unknown() == is_unknown)
}

impl KeyChange {
    /// Returns true if the key was not found before.
    pub(in crate::report) fn is_of_new_key(&self) -> bool {
        matches!(self.outcome.before.as_deref(), None | Some(Outcome::NotFound))
    }

    /// Returns the kind of change in a word or two.
    pub fn label(&self) -> &'static str {
        let unknown = |outcome| fails(outcome, true);
        match self.kind {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Reordered => "reordered",
            ChangeKind::Failed | ChangeKind::ErrorChanged if unknown(self.outcome.after.as_deref()) => "unknown",
            ChangeKind::Failed => "fails",
            ChangeKind::Recovered if unknown(self.outcome.before.as_deref()) => "known",
            ChangeKind::Recovered if !matches!(self.outcome.after.as_deref(), Some(Outcome::Found(_))) => "removed",
            ChangeKind::Recovered => "recovers",
            ChangeKind::ErrorChanged => "new error",
        }
    }
}

impl Report {
    /// Returns the changes of a group.
    pub(in crate::report) fn changes_of<'r>(&'r self, group: &'r Group) -> impl Iterator<Item = &'r KeyChange> {
        let all = group.items.iter().flat_map(|item| [&item.first].into_iter().chain(&item.others));
        all.map(|at| &self.changes[*at])
    }

    /// Returns the change that is shown for an item, under the pattern of the item's keys if it has several.
    pub(in crate::report) fn shown(&self, item: &Item) -> Cow<'_, KeyChange> {
        let first = self.first(item);
        match &item.pattern {
            Some(pattern) => Cow::Owned(KeyChange { key: pattern.as_str().into(), ..first.clone() }),
            None => Cow::Borrowed(first),
        }
    }

    /// Returns the keys of an item.
    pub(in crate::report) fn keys_of<'r>(&'r self, item: &'r Item) -> Vec<&'r str> {
        let mut keys: Vec<&str> = [item.first].iter().chain(&item.others).map(|at| &*self.changes[*at].key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

impl LeafFold {
    /// Returns the place of the differences: the key, followed by the path in its value or by the pattern of the paths.
    pub(in crate::report) fn place(&self, change: &KeyChange) -> String {
        match &self.path {
            Some(path) => format!("{}{path}", change.key),
            None => change.leaves[self.first].path(change),
        }
    }

    /// Returns the number of the differences.
    pub(in crate::report) fn count(&self) -> usize {
        1 + self.others.len()
    }
}

impl Leaf {
    /// Returns the key, followed by the path in its value.
    pub(in crate::report) fn path(&self, change: &KeyChange) -> String {
        self.change.path().map(|path| path.below(&change.key)).unwrap_or_default()
    }

    /// Returns the places of both sides: one place, or two if they are in different files; and after them one more
    /// place that contributes, if any. Between facts, their levels are named: these decide which place counts.
    pub(in crate::report) fn places(&self, report: &Report) -> Option<String> {
        let shown = |origin: &Origin| {
            let level = if report.is_of_facts() { format!(" ({})", origin.level) } else { String::new() };
            visible(&format!("{}{level}", origin.place)).into_owned()
        };
        let origins = self.origins();
        let places = match (origins.before, origins.after) {
            (Some(before), Some(after)) if before.place.path != after.place.path => {
                Some(format!("{} -> {}", shown(before), shown(after)))
            }
            (_, Some(origin)) | (Some(origin), None) => Some(shown(origin)),
            (None, None) => None,
        }?;
        let behind = self.contributing_source().map(|source| {
            let word = match source.how {
                How::KnockOut => "knocked out by ",
                How::LookupOptions | How::Conversion => "lookup_options at ",
                How::Manifest => "merged as in ",
                How::Hierarchy => "level at ",
                How::Alias | How::Lookup => "looking up ",
                _ => "from ",
            };
            format!(", {word}{}", visible(&source.place.to_string()))
        });
        Some(places + &behind.unwrap_or_default())
    }

    /// Returns true if a place contributes to the value in addition to the origin.
    pub(in crate::report) fn has_behind(&self) -> bool {
        self.contributing_source().is_some()
    }

    /// Returns the source that explains more than the origin: a reference to another key, or else one that only one
    /// side has, or else a lookup in a manifest.
    fn contributing_source(&self) -> Option<&Source> {
        let Diff { before, after } = self.sources();
        let is_reference = |source: &&Source| matches!(source.how, How::Alias | How::Lookup);
        let differs = |source: &&Source, others: &[Source]| source.how != How::Merge && !others.contains(source);
        let reference = after.iter().find(is_reference).or_else(|| before.iter().find(is_reference));
        let new = || after.iter().find(|source| differs(source, before));
        let gone = || before.iter().find(|source| differs(source, after));
        let from_manifest = || after.iter().chain(before).find(|source| source.how == How::Manifest);
        reference.or_else(new).or_else(gone).or_else(from_manifest)
    }
}

/// The name of a blind spot that exists both before and after a commit.
pub(in crate::report) const STANDING: &str = "standing blind spot";

/// The maximum number of paths that the headline names.
const MAX_PATHS: usize = 3;

/// The maximum number of different node counts that are listed one by one.
const MAX_DISTINCT_COUNTS: usize = 3;

/// Joins two texts, or returns the one that is not empty.
fn join(texts: [String; 2], separator: &str) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(separator)
}

/// Returns a share such as `all 143 nodes` or `12 of 143 nodes`.
pub(in crate::report) fn share(nodes: Count) -> String {
    match nodes {
        Count { total: 1, .. } => "the only node".to_owned(),
        Count { total: 2, changed: 2 } => "both nodes".to_owned(),
        Count { total, changed } if total == changed => format!("all {} nodes", number(total)),
        Count { total, changed } => format!("{} of {} nodes", number(changed), number(total)),
    }
}

/// Returns the heading of the findings of one side.
pub(in crate::report) fn findings_heading(findings: &[&FindingChange]) -> String {
    if findings.iter().all(|finding| finding.diagnostic.code == CHANGED_VARIABLE) {
        return format!(
            "{} {}",
            count(findings.len(), "variable"),
            if findings.len() == 1 { "differs" } else { "differ" }
        );
    }
    let word = if findings.first().is_some_and(|f| f.is_new) { "new" } else { "gone" };
    count(findings.len(), &format!("{word} finding"))
}
