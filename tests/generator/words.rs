//! The vocabulary that hierarchies, data, options and profiles share.

/// The kind of value that a key tends to have on all levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, a number or the like.
    Scalar,
    /// A sequence.
    Array,
    /// A mapping.
    Hash,
    /// Anything.
    Mixed,
    /// A number, or a text of one.
    Number,
    /// A boolean, or a word for one.
    Flag,
    /// A point in time.
    Stamp,
    /// A length of time.
    Span,
    /// A version, or a range of versions.
    Version,
}

/// The keys of an environment's data and their kinds; later ones are looked up by earlier ones.
pub(crate) const KEYS: [(&str, Kind); 30] = [
    ("summary", Kind::Scalar),
    ("report", Kind::Hash),
    ("motd", Kind::Mixed),
    ("ntp::servers", Kind::Array),
    ("ntp::options", Kind::Hash),
    ("ntp::driftfile", Kind::Scalar),
    ("apache::vhosts", Kind::Hash),
    ("apache::port", Kind::Number),
    ("apache::mods", Kind::Array),
    ("users", Kind::Hash),
    ("packages", Kind::Array),
    ("zones", Kind::Array),
    ("classes", Kind::Array),
    ("a", Kind::Mixed),
    ("b", Kind::Hash),
    ("c", Kind::Array),
    ("two words", Kind::Mixed),
    ("dotted.key", Kind::Scalar),
    ("limit", Kind::Number),
    ("enabled", Kind::Flag),
    ("since", Kind::Stamp),
    ("timeout", Kind::Span),
    ("release", Kind::Version),
    ("::rooted", Kind::Scalar),
    ("Grüße", Kind::Scalar),
    ("deep", Kind::Hash),
    ("list", Kind::Array),
    ("region", Kind::Scalar),
    ("color", Kind::Scalar),
    ("number", Kind::Number),
];

/// Keys whose names or spelling in YAML are odd; as YAML writes them.
pub(crate) const ODD_KEYS: [&str; 12] =
    ["\"\"", "1", "1.5", "true", "~", ":sym", "\"%{role}\"", "\"a b.c\"", "'\"q\"'", "\" lead\"", "0x10", "it's"];

/// The keys inside hashes.
pub(crate) const INNER: [&str; 8] = ["name", "port", "ensure", "tags", "opts", "0", "a b", "x.y"];

/// Texts of little meaning.
pub(crate) const TEXTS: [&str; 14] = [
    "red",
    "green",
    "blue",
    "alpha",
    "beta",
    "one two",
    "présent",
    "--red",
    "--alpha",
    "--",
    "~x",
    "100%",
    "{brace}",
    "it's \"so\"",
];

/// Certificate names of nodes.
pub(crate) const NODES: [&str; 5] =
    ["web01.example.com", "web02.example.com", "db01.example.org", "standalone", "mail.sub.example.com"];

/// Values of `os.family`.
pub(crate) const FAMILIES: [&str; 3] = ["Debian", "RedHat", "windows"];

/// Values of the variable `role`.
pub(crate) const ROLES: [&str; 3] = ["web", "db", "mail"];

/// Values of the variable `site`.
pub(crate) const SITES: [&str; 2] = ["berlin", "oslo"];

/// The items of the fact `tiers`.
pub(crate) const TIERS: [&str; 4] = ["gold", "silver", "a b", "x.y"];

/// The environments' name, in every generated repository.
pub(crate) const ENVIRONMENT: &str = "production";
