//! Variables of paths that profiles lack: what they are called, and what to do about them.

use super::accept;
use crate::report::Remedy;

/// The code of blind spots and faults of such variables.
pub(in crate::pipeline) const UNDEFINED: &str = "undefined-variable";

/// Returns a variable's name without leading colons. Ask the fleet for the name as written: any other makes it read all
/// profiles again.
pub(in crate::pipeline) fn plain(variable: &str) -> &str {
    variable.trim_start_matches("::")
}

/// Returns the remedy for a variable, given by its plain name, that profiles lack.
pub(in crate::pipeline) fn fix(name: &str) -> Remedy {
    let line = accept::line(UNDEFINED, [name]);
    Remedy::with_yaml("set it in the profiles or, if these nodes have none, put into hierad.yaml", line)
}
