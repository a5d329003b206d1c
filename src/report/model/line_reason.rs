//! The names of the reasons why changed lines have no effect, or why it is unknown.

/// A reason why changed lines have no effect, or why their effect is unknown, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineReason {
    /// The data is the same.
    Equal,
    /// Another place gives the key its value.
    Shadowed,
    /// Another place gives the same value.
    Same,
    /// The value moved with the commit.
    Moved,
    /// The lines are merged with others, and the result is the same.
    Merged,
    /// The lines change no value.
    Unused,
    /// No profile reaches the file.
    Unreached,
    /// Only functions in Ruby read the file.
    Function,
    /// The key fails, or its value cannot be known.
    UnknownValue,
    /// Too much changes for all of it to be traced.
    NotTraced,
    /// A filter hides some changes.
    Hidden,
}

impl LineReason {
    /// All reasons, with their names in reports and those in policies.
    pub const ALL: [(LineReason, &'static str, &'static str); 11] = [
        (LineReason::Equal, "equal", "equal"),
        (LineReason::Shadowed, "shadowed", "shadowed"),
        (LineReason::Same, "same", "same"),
        (LineReason::Moved, "moved", "moved"),
        (LineReason::Merged, "merged_away", "merged-away"),
        (LineReason::Unused, "unused", "unused"),
        (LineReason::Unreached, "unreached", "unreached"),
        (LineReason::Function, "function", "function"),
        (LineReason::UnknownValue, "unknown_value", "unknown-value"),
        (LineReason::NotTraced, "not_traced", "not-traced"),
        (LineReason::Hidden, "hidden", "hidden"),
    ];

    /// Returns its name in reports.
    pub fn as_str(self) -> &'static str {
        LineReason::ALL.iter().find(|(reason, ..)| *reason == self).map_or("", |(_, name, _)| name)
    }
}
