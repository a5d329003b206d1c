//! The changed lines of a commit with the effect of each, and the sources of a value: the places that contribute to
//! it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::idle::{Idle, NoEffect};
use super::line_reason::LineReason;
use crate::diagnostic::Place;
use crate::diff::Diff;
use crate::node::NodeSet;
use crate::report::numbers::count;

/// The way in which a place contributes to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum How {
    /// It holds the value.
    #[default]
    Value,
    /// It holds a part of a value that was merged from several places.
    Merge,
    /// It knocks an entry or item out of a deep merge.
    KnockOut,
    /// It holds the value of a key that `%{alias()}` refers to.
    Alias,
    /// It holds the value of a key that `%{lookup()}` or `%{hiera()}` refers to.
    Lookup,
    /// It holds a text with variables.
    Variable,
    /// It holds the `lookup_options` that decide how the key is merged.
    LookupOptions,
    /// It is the lookup in a manifest that says how the key is merged.
    Manifest,
    /// It holds the `lookup_options` that convert the value.
    Conversion,
    /// It is the level in `hiera.yaml`.
    Hierarchy,
}

impl How {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            How::Value => "value",
            How::Merge => "merge",
            How::KnockOut => "knock_out",
            How::Alias => "alias",
            How::Lookup => "lookup",
            How::Variable => "variable",
            How::LookupOptions => "lookup_options",
            How::Manifest => "manifest",
            How::Conversion => "conversion",
            How::Hierarchy => "hierarchy",
        }
    }
}

/// A place that contributes to a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The file and line.
    pub place: Place,
    /// The level of the hierarchy, if it is a place of data.
    pub level: Option<Arc<str>>,
    /// The way in which it contributes.
    pub how: How,
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Before the change.
    Before,
    /// After it.
    After,
}

impl Side {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Before => "before",
            Side::After => "after",
        }
    }

    /// Returns the other side.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Before => Side::After,
            Side::After => Side::Before,
        }
    }

    /// Returns this side of `both`.
    pub fn pick<T>(self, both: &Diff<T>) -> &T {
        match self {
            Side::Before => &both.before,
            Side::After => &both.after,
        }
    }

    /// Returns this side of `both`, mutably.
    pub fn of_mut<T>(self, both: &mut Diff<T>) -> &mut T {
        match self {
            Side::Before => &mut both.before,
            Side::After => &mut both.after,
        }
    }
}

/// The change of a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileChange {
    /// The file exists before and after.
    #[default]
    Edited,
    /// The file did not exist.
    New,
    /// The file was deleted.
    Deleted,
}

impl FileChange {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            FileChange::Edited => "edited",
            FileChange::New => "new",
            FileChange::Deleted => "deleted",
        }
    }

    /// Returns words that follow the name of the file, or nothing.
    pub(in crate::report) fn words(self) -> &'static str {
        match self {
            FileChange::Edited => "",
            FileChange::New => " (new file)",
            FileChange::Deleted => " (deleted)",
        }
    }
}

/// The maximum number of keys that words name.
const MAX_NAMED: usize = 4;

/// Changed lines that follow each other and have the same effect.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedLines {
    /// The file, and the first of the lines.
    pub place: Place,
    /// The last of the lines.
    pub last: u32,
    /// The change of the file as a whole.
    pub file: FileChange,
    /// The side that has them: lines before the change were removed, lines after it were added.
    pub side: Side,
    /// Their effect.
    pub effect: Effect,
    /// The lines without which they would have a further effect: the other half of data that moved. Positions in
    /// [`Report::lines`](crate::report::Report::lines).
    pub with: Vec<usize>,
    /// The keys that they belong to, in the order of the file.
    pub keys: Vec<Arc<str>>,
    /// The lines as they are written, if no known node reads the file, so that nothing else shows their content.
    /// Empty if a value in them may be secret.
    pub text: Vec<String>,
}

/// The effect of changed lines.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The lines change keys. The differences say which lines cause them.
    Changes {
        /// The keys.
        keys: BTreeSet<Arc<str>>,
        /// The nodes on which at least one of them changes because of these lines.
        nodes: NodeSet,
    },
    /// The lines change nothing on any node that was compared.
    None(Idle),
    /// Nothing is known of their effect.
    Unknown(UnknownEffect),
}

/// The reason why the effect of lines is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownEffect {
    /// No profile reaches the file.
    Unreached,
    /// Only functions in Ruby read the file.
    Function,
    /// The key fails, or its value cannot be known.
    Value,
    /// Too much changes for all of it to be traced.
    NotTraced,
    /// A filter hides some changes.
    Hidden,
}

impl UnknownEffect {
    /// Returns the reason as a [`LineReason`], as lines without effect have it.
    pub fn kind(self) -> LineReason {
        match self {
            UnknownEffect::Unreached => LineReason::Unreached,
            UnknownEffect::Function => LineReason::Function,
            UnknownEffect::Value => LineReason::UnknownValue,
            UnknownEffect::NotTraced => LineReason::NotTraced,
            UnknownEffect::Hidden => LineReason::Hidden,
        }
    }

    /// Returns words for it.
    pub fn words(self) -> &'static str {
        match self {
            UnknownEffect::Unreached => "no known node reads the file",
            UnknownEffect::Function => "functions in Ruby read the file",
            UnknownEffect::Value => "the key fails or is unknown",
            UnknownEffect::NotTraced => "not looked into, since too much changes",
            UnknownEffect::Hidden => "hidden by the filter",
        }
    }
}

impl Effect {
    /// Returns its name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Effect::Changes { .. } => "changes",
            Effect::None(_) => "none",
            Effect::Unknown(_) => "unknown",
        }
    }

    /// Returns the reason on most nodes why there is no effect, or why it is unknown.
    pub fn reason(&self) -> Option<LineReason> {
        match self {
            Effect::Changes { .. } => None,
            Effect::None(idle) => Some(idle.first.reason.kind()),
            Effect::Unknown(reason) => Some(reason.kind()),
        }
    }

    /// Returns true if this is the reason on some of the nodes.
    pub fn has_reason(&self, reason: LineReason) -> bool {
        match self {
            Effect::None(idle) => idle.all().any(|part| part.reason.kind() == reason),
            _ => self.reason() == Some(reason),
        }
    }

    /// Returns true if there is no effect because the data is the same.
    pub fn is_of_equal_data(&self) -> bool {
        matches!(self, Effect::None(idle) if idle.is(&NoEffect::Equal))
    }

    /// Returns words such as `no effect: shadowed by nodes/web02.yaml:3`, or `None` if the lines change something.
    pub fn words(&self) -> Option<String> {
        match self {
            Effect::Changes { .. } => None,
            Effect::None(idle) => Some(format!("no effect: {}", idle.words())),
            Effect::Unknown(reason) => Some(format!("effect unknown: {}", reason.words())),
        }
    }
}

impl ChangedLines {
    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.place.line.map_or(1, |first| (self.last.saturating_sub(first) as usize) + 1)
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if it is worth saying that the lines have no effect: for comments and blanks that is obvious, and
    /// some lines are shown as text.
    pub fn is_telling(&self) -> bool {
        match &self.effect {
            Effect::Changes { .. } => false,
            Effect::None(_) => !self.effect.is_of_equal_data(),
            Effect::Unknown(UnknownEffect::Unreached) => !self.keys.is_empty() && self.text.is_empty(),
            Effect::Unknown(_) => true,
        }
    }

    /// Returns words for the effect, or `None` if the lines change something. If it is unknown, they name the keys.
    pub fn words(&self) -> Option<String> {
        let words = self.effect.words()?;
        if self.keys.is_empty() || !matches!(self.effect, Effect::Unknown(_)) {
            return Some(words);
        }
        let keys: Vec<&str> = self.keys.iter().take(MAX_NAMED).map(|key| &**key).collect();
        Some(match self.keys.len() - keys.len() {
            0 => format!("{words} ({})", keys.join(", ")),
            more => format!("{words} ({} and {})", keys.join(", "), count(more, "more key")),
        })
    }

    /// Returns a heading for lines that change nothing, or whose effect is unknown.
    pub(in crate::report) fn heading(all: &[&ChangedLines]) -> String {
        let number: usize = all.iter().map(|lines| lines.len()).sum();
        let unknown = all.iter().filter(|lines| matches!(lines.effect, Effect::Unknown(_))).count();
        let verb = if number == 1 { "has" } else { "have" };
        let what = match unknown {
            0 => "no effect",
            unknown if unknown == all.len() => "an effect that is unknown",
            _ => "no effect, or one that is unknown",
        };
        format!("{} {verb} {what}", count(number, "changed line"))
    }

    /// Returns the place with the last line, such as `data/common.yaml:3-7`.
    pub fn range(&self) -> String {
        match self.place.line {
            Some(first) if first < self.last => format!("{}-{}", self.place, self.last),
            _ => self.place.to_string(),
        }
    }
}
