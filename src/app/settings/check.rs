//! Checks `check:`, the selection of faults for `hierad check`.

use crate::diagnostic::Severity;
use crate::settings::SettingsError;
use crate::settings::raw;
use crate::settings::source::SourceFile;

/// The faults that `hierad check` reports, unless a flag says otherwise.
#[derive(Debug, Clone, Default)]
pub struct CheckSetting {
    /// The minimum severity.
    pub severity: Option<Severity>,
}

pub(super) fn check(source: &SourceFile<'_>, raw: &raw::Check) -> Result<CheckSetting, SettingsError> {
    let severity = match raw.severity.as_deref() {
        None => None,
        Some("note") => Some(Severity::Note),
        Some("warning") => Some(Severity::Warning),
        Some("error") => Some(Severity::Error),
        Some(other) => {
            let text = format!("'severity' must be note, warning or error, not '{other}'");
            return Err(source.invalid(&["check", "severity"], text));
        }
    };
    Ok(CheckSetting { severity })
}
