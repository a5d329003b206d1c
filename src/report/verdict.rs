//! What all writers say in the same words.

use super::visible::visible;
use super::{Alike, Count, FindingChange, Item, KeyChange, Leaf, Origin, Report, Verdict};
use crate::diff::ChangeKind;
use crate::hiera::{ErrorKind, Outcome};

impl Report {
    /// Whether the commit changes anything. A commit that takes all sight away, or gives it back, does.
    pub fn judgement(&self) -> Verdict {
        if !self.changes.is_empty() || self.is_blind.before != self.is_blind.after {
            Verdict::Changes
        } else if self.blind_spots.is_empty() && !self.is_blind.after {
            Verdict::NoChange
        } else {
            Verdict::NoChangeSeen
        }
    }

    /// The verdict, in one line.
    pub fn verdict(&self) -> String {
        let Report { nodes, keys, .. } = self;
        let compared = format!("{} and {}", count(nodes.total, "node"), count(keys.total, "key"));
        if nodes.total == 0 || keys.total == 0 {
            return format!("nothing compared: {compared}");
        }
        if keys.changed == 0 {
            return format!("no effective change ({compared} compared)");
        }
        let nodes = share(*nodes);
        let (failing, unknown) = (self.keys_of("fails"), self.keys_of("unknown"));
        if failing == keys.changed && unknown == 0 {
            let verb = if failing == 1 { "fails" } else { "fail" };
            return format!("{} {verb} on {nodes}", count(failing, "key"));
        }
        let verb = if keys.changed == 1 { "changes" } else { "change" };
        let part = |n, one: &str, many: &str| match n {
            0 => String::new(),
            1 => format!(", 1 of them {one}"),
            n => format!(", {} of them {many}", number(n)),
        };
        let parts = part(failing, "fails", "fail") + &part(unknown, "becomes unknown", "become unknown");
        format!("{} {verb} on {nodes}{parts}", count(keys.changed, "key"))
    }

    /// What makes the verdict worth less than it seems.
    pub fn warnings(&self) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.nodes.total == 0 {
            warnings.push("there are no node profiles, so no change can be seen");
        }
        if self.keys.total == 0 {
            warnings.push("no data file has a key, so no change can be seen");
        }
        warnings
    }

    /// How many keys have a change that goes by `word`.
    fn keys_of(&self, word: &str) -> usize {
        let mut keys: Vec<_> = self.changes.iter().filter(|c| c.word() == word).map(|c| &c.key).collect();
        keys.dedup();
        keys.len()
    }
}

impl KeyChange {
    /// What happens, in a word or two.
    pub fn word(&self) -> &'static str {
        let unknown = |outcome: Option<&Outcome>| matches!(outcome, Some(Outcome::Failed(error)) if error.kind == ErrorKind::Unknown);
        match self.kind {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Reordered => "reordered",
            ChangeKind::Failed | ChangeKind::ErrorChanged if unknown(self.outcome.after.as_deref()) => "unknown",
            ChangeKind::Failed => "fails",
            ChangeKind::Recovered if unknown(self.outcome.before.as_deref()) => "known",
            ChangeKind::Recovered => "recovers",
            ChangeKind::ErrorChanged => "new error",
        }
    }
}

impl Item {
    /// What to know of the changes that the first one stands for.
    pub(super) fn note(&self) -> Option<String> {
        let others = self.others.len();
        match self.alike {
            Alike::Equal => None,
            Alike::OwnName => Some(format!("each node with its own name; {} more like this", number(others))),
            Alike::Shape => Some(format!("an example; {} with other values", count(others, "more change"))),
        }
    }
}

impl Leaf {
    /// The place, behind the name of its key.
    pub(super) fn path(&self, change: &KeyChange) -> String {
        self.change.path().map(|path| path.below(&change.key)).unwrap_or_default()
    }

    /// Where both sides come from: one place, or two where they are in different files.
    pub(super) fn origins(&self) -> Option<String> {
        let shown = |origin: &Origin| visible(&origin.place.to_string()).into_owned();
        match (&self.origin.before, &self.origin.after) {
            (Some(before), Some(after)) if before.place.path != after.place.path => {
                Some(format!("{} -> {}", shown(before), shown(after)))
            }
            (_, Some(origin)) | (Some(origin), None) => Some(shown(origin)),
            (None, None) => None,
        }
    }
}

/// `1 key`, `2 keys`.
pub(super) fn count(n: usize, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", number(n))
}

/// `12,345`.
pub(super) fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `all 143 nodes`, `12 of 143 nodes`.
pub(super) fn share(nodes: Count) -> String {
    match nodes {
        Count { total: 1, .. } => "the only node".to_owned(),
        Count { total: 2, changed: 2 } => "both nodes".to_owned(),
        Count { total, changed } if total == changed => format!("all {} nodes", number(total)),
        Count { total, changed } => format!("{} of {} nodes", number(changed), number(total)),
    }
}

/// The heading over findings of one side.
pub(super) fn findings_heading(findings: &[&FindingChange]) -> String {
    let word = if findings.first().is_some_and(|f| f.is_new) { "new" } else { "gone" };
    count(findings.len(), &format!("{word} finding"))
}
