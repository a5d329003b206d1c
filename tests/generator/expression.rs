//! Interpolation expressions `%{...}`, sound and odd ones.

use super::random::Random;
use super::words::{INNER, KEYS, Kind};

/// The place of an expression, which decides what it may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// The value of the key with this number in [`KEYS`]; greater numbers are safe to look up.
    Value(usize),
    /// A value that may look up only a few keys without going round in circles: a module's, a variable's.
    Aside,
    /// A place where methods are refused: a path, a datadir, an option.
    Config,
}

const VARIABLES: [&str; 34] = [
    "role",
    "::role",
    "site",
    "::site",
    "environment",
    "::environment",
    "os.family",
    "::os.family",
    "facts.os.family",
    "facts.os.release.major",
    "::facts.site",
    "facts.count",
    "ratio",
    "flag",
    "list",
    "list.0",
    "list.1.0",
    "os",
    "facts.os.release",
    "tiers",
    "trusted.certname",
    "::trusted.hostname",
    "trusted.domain",
    "trusted.authenticated",
    "trusted.extensions.pp_role",
    "trusted.external",
    "server_facts.environment",
    "clientcert",
    "fqdn",
    "facts.networking.fqdn",
    "enc",
    "enc_hash.a.b",
    "nested.list.0.name",
    "quirk",
];

const MISSING: [&str; 10] = [
    "nope",
    "::nope",
    "facts.nope",
    "facts.os.nope",
    "trusted.extensions.nope",
    "list.9",
    "list.-1",
    "facts.nothing",
    "nope::nope",
    "enc_hash.a.b.c",
];

const EMPTY: [&str; 8] = ["", "::", "\"\"", "''", "\"::\"", "'::'", " ", "  ::  "];

const QUOTED: [&str; 9] = [
    "\"os.family\"",
    "facts.\"os\".family",
    "'role'",
    "facts.'dotted.fact'",
    "\"dotted.fact\"",
    "enc_hash.'a'.\"b\"",
    "facts.os.'release'.major",
    "\"role\"",
    "' role '",
];

const MALFORMED: [&str; 12] = [
    "os..family",
    ".role",
    "role.",
    "\"role",
    "'a'b",
    "os.\"\"",
    "lookup('color'",
    "lookup(color)",
    "role.x",
    "lookup ( 'color' )",
    "a\"b\"",
    "::",
];

/// A text that holds one or two expressions.
pub(crate) fn text(random: &mut Random, place: Place) -> String {
    match random.weighted(&[46, 30, 14, 6, 4]) {
        0 => whole(random, place),
        1 => format!("{}-{}", random.pick(&["x", "é", "pre fix", "%", "a: b"]), embedded(random, place)),
        2 => format!("{} / {}", embedded(random, place), embedded(random, place)),
        3 => format!("{} %{{}} }} %{{", embedded(random, place)),
        _ => format!("{}\n{}", embedded(random, place), random.pick(&["line", "", "%{role}"])),
    }
}

/// One expression that may be a whole value, an alias for instance.
pub(crate) fn whole(random: &mut Random, place: Place) -> String {
    let alias = match place {
        Place::Config => 0,
        _ => 22,
    };
    if random.percent(alias) { call(random, place, "alias") } else { embedded(random, place) }
}

/// One expression inside a longer text; rarely an alias, which is refused there.
pub(crate) fn embedded(random: &mut Random, place: Place) -> String {
    if let Place::Config = place {
        return variable(random);
    }
    match random.weighted(&[48, 30, 5, 4, 6, 4, 1, 1, 1, 2]) {
        0 => variable(random),
        1 => call(random, place, "lookup"),
        2 => call(random, place, "hiera"),
        3 => {
            let literal = random.pick(&["%", "%{role}", "x", "{", " ", "a.b"]);
            wrap(random, &format!("literal('{literal}')"))
        }
        4 => scope(random),
        5 => spaced(random, EMPTY.as_slice()),
        6 => call(random, place, "alias"),
        7 => {
            let unknown = random.pick(&["LOOKUP", "Lookup", "lookups", "eval", "_", "hiera_hash", "Alias"]);
            call(random, place, unknown)
        }
        8 => spaced(random, MALFORMED.as_slice()),
        _ => put_together(&call(random, place, "lookup")),
    }
}

/// A text that gives the expression, which is interpolated where another lookup gets it.
fn put_together(expression: &str) -> String {
    expression.replacen('%', "%%{}", 1)
}

/// A variable, nearly always one that exists.
fn variable(random: &mut Random) -> String {
    match random.weighted(&[82, 3, 13, 2]) {
        0 => spaced(random, VARIABLES.as_slice()),
        1 => spaced(random, MISSING.as_slice()),
        2 => spaced(random, QUOTED.as_slice()),
        _ => spaced(random, EMPTY.as_slice()),
    }
}

fn scope(random: &mut Random) -> String {
    let name = if random.percent(90) { random.pick(&VARIABLES) } else { random.pick(&MISSING) };
    let quote = quote_for(random, name);
    wrap(random, &format!("scope({quote}{name}{quote})"))
}

fn spaced(random: &mut Random, expressions: &[&str]) -> String {
    let expression = random.one(expressions);
    wrap(random, expression)
}

fn wrap(random: &mut Random, expression: &str) -> String {
    match random.weighted(&[90, 8, 1, 1]) {
        0 => format!("%{{{expression}}}"),
        1 => format!("%{{ {expression}  }}"),
        2 => format!("%{{\t{expression}\n}}"),
        _ => format!("%{{{expression}"),
    }
}

fn call(random: &mut Random, place: Place, method: &str) -> String {
    let key = target(random, place);
    let quote = quote_for(random, &key);
    match random.weighted(&[94, 2, 2, 2]) {
        0 => wrap(random, &format!("{method}({quote}{key}{quote})")),
        1 => wrap(random, &format!("{method}( {quote}{key}{quote} )")),
        2 => wrap(random, &format!("{method}({quote}{key}\")")),
        _ => wrap(random, &format!("{method}({quote} {key} {quote})")),
    }
}

fn quote_for(random: &mut Random, text: &str) -> char {
    let double = if text.contains('\'') {
        100
    } else if text.contains('"') {
        0
    } else {
        40
    };
    if random.percent(double) { '"' } else { '\'' }
}

/// The key that a lookup names: one that comes later in the list, so that few of them end in a circle.
fn target(random: &mut Random, place: Place) -> String {
    let first = match place {
        Place::Value(key) if random.percent(95) => (key + 1).min(KEYS.len() - 1),
        Place::Value(_) => 0,
        Place::Aside | Place::Config => KEYS.len() - 4,
    };
    let mut key = |wanted: Option<Kind>| {
        let keys: Vec<_> =
            KEYS[first..].iter().filter(|(_, kind)| wanted.is_none_or(|wanted| *kind == wanted)).collect();
        keys.get(random.index(keys.len().max(1))).map_or("color", |(key, _)| key).to_owned()
    };
    let any = key(None);
    let array = key(Some(Kind::Array));
    let hash = key(Some(Kind::Hash));
    match random.weighted(&[73, 10, 6, 4, 3, 3, 1]) {
        0 => any,
        1 => format!("{hash}.{}", random.pick(&INNER)),
        2 => format!("{array}.{}", random.between(0, 3)),
        3 => format!("{hash}.'{}'.{}", random.pick(&INNER), random.pick(&INNER)),
        4 => format!("ntp::{}", random.pick(&["servers", "options.port", "nope"])),
        5 => random.pick(&["nope", "nope.x", "nope::x", "lookup_options", "lookup_options.a", "1", "a.x"]).to_owned(),
        _ => random
            .pick(&["a..b", "a.", ".a", "'color'", "color. 0", "::color", "deep.name.tags.0", " color "])
            .to_owned(),
    }
}
