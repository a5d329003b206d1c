//! Checks `check:`, the selection of faults for `hierad check`.

use crate::checks::CODES;
use crate::diagnostic::Severity;
use crate::settings::SettingsError;
use crate::settings::raw;
use crate::settings::source::SourceFile;

/// The faults that `hierad check` reports, unless a flag says otherwise.
#[derive(Debug, Clone, Default)]
pub struct CheckSetting {
    /// The least severity.
    pub severity: Option<Severity>,
    /// The codes of faults to ignore.
    pub allow: Vec<String>,
}

pub(super) fn check(source: &SourceFile<'_>, raw: raw::Check) -> Result<CheckSetting, SettingsError> {
    let invalid = |name: &str, text: String| source.invalid(&["check", name], text);
    let severity = match raw.severity.as_deref() {
        None => None,
        Some("note") => Some(Severity::Note),
        Some("warning") => Some(Severity::Warning),
        Some("error") => Some(Severity::Error),
        Some(other) => {
            return Err(invalid("severity", format!("'severity' is note, warning or error, not '{other}'")));
        }
    };
    let allow = raw.allow.into_vec();
    if let Some(unknown) = allow.iter().find(|code| !CODES.contains(&code.as_str())) {
        let text = format!("'allow' has no '{unknown}'; it takes {}", CODES.join(", "));
        return Err(invalid("allow", text));
    }
    Ok(CheckSetting { severity, allow })
}
