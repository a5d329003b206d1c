//! Knows the fields of node profiles in all their forms, and tells profiles from other documents.

use crate::pattern::nearest;
use crate::value::{Hash, is_number};

/// The fields of hierad's own form.
const OWN: [&str; 9] =
    ["name", "environment", "facts", "trusted", "variables", "server_facts", CATALOG_CLASSES, CATALOG_KEYS, GUESSED];

/// The name of no variable: its value is the error with which Puppet refuses the variables of a node, if it does.
pub const REFUSAL: &str = "\0refusal";

/// Names that no fact, variable or fact of the server can have, as Puppet has set them before.
const REFUSED_EARLY: [&str; 2] = ["facts", "server_facts"];

/// Names that a node cannot have because the class `main` sets them.
pub const REFUSED_LATE: [&str; 3] = ["module_name", "title", "name"];

/// Returns true if Puppet refuses a node with a variable of this name.
pub fn is_refused(name: &str) -> bool {
    REFUSED_EARLY.contains(&name) || REFUSED_LATE.contains(&name) || is_number(name)
}

/// Returns the names that Puppet refuses, with one number that stands for all numbers.
pub(super) fn refused_names() -> impl Iterator<Item = &'static str> {
    REFUSED_EARLY.into_iter().chain(REFUSED_LATE).chain(["0"])
}

/// The field that says of a profile that nobody has asked the node.
pub(super) const GUESSED: &str = "guessed";

/// The field of the classes in a node's catalog. An ENC's `classes` are only those that the classifier assigns.
pub(super) const CATALOG_CLASSES: &str = "catalog_classes";

/// The field of the classes that a node classifier assigns, with the parameters that it gives them.
pub(crate) const CLASSES: &str = "classes";

/// The field of the keys that were looked up for a node's catalog.
pub(super) const CATALOG_KEYS: &str = "catalog_keys";

/// Fields of other tools: an ENC, the fact caches and `puppet facts`, `PuppetDB`, onceover. Those that are not read
/// change no answer.
const FOREIGN: [&str; 12] = [
    "certname",
    "parameters",
    "values",
    "timestamp",
    "expiration",
    "producer_timestamp",
    "producer",
    "hash",
    CLASSES,
    "resources",
    "package_inventory",
    "trusted_external",
];

/// Fields that only a profile has, and no hash of plain facts.
const DECISIVE: [&str; 8] =
    ["facts", "values", "trusted", "variables", "parameters", "server_facts", CATALOG_CLASSES, CATALOG_KEYS];

/// Facts that show that a hash is the output of `facter`.
const CORE_FACTS: [&str; 6] = ["networking", "os", "clientcert", "fqdn", "kernel", "facterversion"];

/// Returns the names that show the form of a document. They must be read, whatever else is wanted.
pub(super) fn telling() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(FOREIGN).chain(CORE_FACTS)
}

/// A field that no profile has.
pub(super) struct Unknown {
    /// The number of the entry.
    pub(super) at: usize,
    /// One sentence with the fault, and a field that may be meant.
    pub(super) text: String,
}

/// Returns the first field that does not belong in a profile, or `None` if all fields are known.
pub(super) fn unknown(hash: &Hash) -> Option<Unknown> {
    let is_known = |name: &str| OWN.contains(&name) || FOREIGN.contains(&name);
    let (at, (key, _)) = hash.iter().enumerate().find(|(_, (key, _))| !key.as_str().is_some_and(is_known))?;
    let name = key.to_s();
    let hint = match near(&name) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("it has {}", OWN.join(", ")),
    };
    Some(Unknown { at, text: format!("unknown field '{name}' of a node profile: {hint}") })
}

/// Returns the field that begins with `name`, such as `vars`, or else the most similar one; `None` if there is none.
fn near(name: &str) -> Option<&'static str> {
    const BEGINNING: usize = 3;
    /// The most letters that are written wrongly: others are another word.
    const FEW: usize = 2;
    let fields = || OWN.into_iter().chain(FOREIGN);
    let beginning = name.get(..BEGINNING);
    let begun = fields().find(|field| beginning.is_some_and(|beginning| field.starts_with(beginning)));
    let is_meant = |near: &&str| name.contains(*near) || strsim::osa_distance(name, near) <= FEW;
    begun.or_else(|| nearest(name, fields(), 1).into_iter().find(is_meant))
}

/// Returns true if a hash contains only facts, as `facter --json` prints them.
pub(super) fn is_plain_facts(hash: &Hash) -> bool {
    has_any(hash, &CORE_FACTS) && !is_decided(hash)
}

/// Returns true if a hash has a field that makes it a profile.
pub(super) fn is_decided(hash: &Hash) -> bool {
    has_any(hash, &DECISIVE)
}

fn has_any(hash: &Hash, names: &[&str]) -> bool {
    names.iter().any(|name| hash.get(name).is_some())
}
