//! Checks `accept:`, the blind spots and faults that are known and accepted.

use std::collections::BTreeMap;

use crate::blind_spots::accept::Accepted;
use crate::checks::acceptable;
use crate::pattern::Pattern;
use crate::settings::Origin;
use crate::settings::SettingsError;
use crate::settings::raw::OneOrMany;
use crate::settings::source::SourceFile;

/// The maximum number of names in a file of the tree: compiling each takes time.
const MAX_NAMES: usize = 1000;

/// The maximum size of a compiled name of the tree, in bytes.
const MAX_PATTERN_SIZE: usize = 64 << 10;

/// Checks the names and patterns of each code.
pub(super) fn check(source: &SourceFile<'_>, raw: BTreeMap<String, OneOrMany>) -> Result<Accepted, SettingsError> {
    let mut accepted = Accepted::default();
    let is_trusted = *source.origin == Origin::Trusted;
    let parse = |name: &String| if is_trusted { name.parse() } else { Pattern::bounded(name, MAX_PATTERN_SIZE) };
    let count: usize = raw.values().map(|names| names.as_slice().len()).sum();
    if !is_trusted && count > MAX_NAMES {
        let text = format!("'accept' in the tree has {count} names: at most {MAX_NAMES} are allowed");
        return Err(source.invalid(&["accept"], text));
    }
    for (code, names) in raw {
        let invalid = |text: String| source.invalid(&["accept", &code], text);
        if !acceptable().any(|(known, _)| known == code) {
            let known: Vec<String> = acceptable().map(|(code, names)| format!("{code} ({names})")).collect();
            return Err(invalid(format!("'accept' has an unknown code '{code}'; use one of {}", known.join(", "))));
        }
        let patterns = names
            .as_slice()
            .iter()
            .map(parse)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(error.to_string()))?;
        accepted.0.insert(code.clone(), patterns);
    }
    Ok(accepted)
}
