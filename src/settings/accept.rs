//! Checks `accept:`, the blind spots that are known and accepted.

use std::collections::BTreeMap;

use super::SettingsError;
use super::raw::OneOrMany;
use super::source::SourceFile;
use crate::pattern::Pattern;
use crate::pipeline::blind_spots::accept::{Accepted, CODES};

/// Checks the names and patterns of each code.
pub(super) fn check(source: &SourceFile<'_>, raw: BTreeMap<String, OneOrMany>) -> Result<Accepted, SettingsError> {
    let mut accepted = Accepted::default();
    for (code, names) in raw {
        let invalid = |text: String| source.invalid(&["accept", &code], text);
        if !CODES.iter().any(|(known, _)| *known == code) {
            let known: Vec<String> = CODES.iter().map(|(code, of)| format!("{code} ({of})")).collect();
            return Err(invalid(format!("'accept' has no '{code}'; it takes {}", known.join(", "))));
        }
        let patterns = names.into_vec().into_iter().map(|name| name.parse::<Pattern>());
        let patterns = patterns.collect::<Result<Vec<_>, _>>().map_err(|error| invalid(error.to_string()))?;
        accepted.0.insert(code.clone(), patterns);
    }
    Ok(accepted)
}
