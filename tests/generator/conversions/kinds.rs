//! Random type expressions.

use super::Random;

const PLAIN: &[&str] = &[
    "Any",
    "Undef",
    "Default",
    "Scalar",
    "ScalarData",
    "Numeric",
    "Integer",
    "Float",
    "String",
    "Boolean",
    "Collection",
    "Array",
    "Hash",
    "Tuple",
    "Struct",
    "Optional",
    "NotUndef",
    "Type",
    "Iterable",
    "Iterator",
    "Sensitive",
    "Init",
    "Binary",
    "SemVer",
    "SemVerRange",
    "Timestamp",
    "Timespan",
    "URI",
    "Callable",
    "CatalogEntry",
    "Class",
    "Resource",
    "Runtime",
    "Data",
    "RichData",
    "Enum",
    "Pattern",
    "Regexp",
    "Variant",
];

/// Those that `new` makes most of, as often as the others together.
const MADE: &[&str] = &[
    "Integer",
    "Float",
    "Numeric",
    "String",
    "String",
    "Boolean",
    "Array",
    "Hash",
    "Timestamp",
    "Timespan",
    "SemVer",
    "SemVerRange",
    "Binary",
    "URI",
    "Regexp",
    "Sensitive",
    "Type",
];

/// A type expression; few are wrong.
pub(super) fn kind(random: &mut Random) -> String {
    let kind = match random.weighted(&[45, 15, 40]) {
        0 => random.pick(MADE).to_owned(),
        1 => random.pick(PLAIN).to_owned(),
        _ => bounded(random, 2),
    };
    if random.percent(3) { spoiled(random, &kind) } else { kind }
}

/// A type inside of others.
fn inner(random: &mut Random, depth: u32) -> String {
    match random.weighted(&[30, 20, 50]) {
        0 => random.pick(MADE).to_owned(),
        1 => random.pick(PLAIN).to_owned(),
        _ if depth == 0 => random.pick(&["Integer", "String", "Undef", "Any"]).to_owned(),
        _ => bounded(random, depth - 1),
    }
}

/// A type with parameters.
fn bounded(random: &mut Random, depth: u32) -> String {
    match random.index(21) {
        0 => format!("Integer[{}]", range(random, &["0", "-5", "1", "3", "7", "10", "100", "0x1f", "default"])),
        1 => format!("Float[{}]", range(random, &["0", "-5.5", "1.0", "3", "7.25", "1e3", "default"])),
        2 => format!("String[{}]", size(random)),
        3 => format!("Enum[{}]", list(random, &["a", "b", "abc", "'A'", "yes", "'1'", "\"x y\"", "true", "'é'", "''"])),
        4 => format!(
            "Pattern[{}]",
            list(random, &["/^a/", "/\\d+/", "/\\A[[:alpha:]]+\\z/", "'b.'", "/./", "/(?i:AB)/", "/^\\w*$/", "/\\s/"])
        ),
        5 => format!("Regexp[{}]", random.pick(&["/x/", "/a\\/b/", "'y'", "/\\d/"])),
        6 => format!("Boolean[{}]", random.pick(&["true", "false"])),
        7 => format!("Collection[{}]", size(random)),
        8 | 9 => sized(random, "Array", 1, depth),
        10 | 11 => sized(random, "Hash", 2, depth),
        12 => {
            let types = random.between(1, 3);
            sized(random, "Tuple", types, depth)
        }
        13 | 14 => record(random, depth),
        15 => {
            let types: Vec<String> = random.times(1, 3).map(|_| inner(random, depth)).collect();
            format!("Variant[{}]", types.join(", "))
        }
        16 => format!("{}[{}]", random.pick(&["Optional", "NotUndef"]), inner(random, depth)),
        17 => format!(
            "{}[{}]",
            random.pick(&["Type", "Sensitive", "Iterable", "Iterator", "Optional", "NotUndef"]),
            inner(random, depth)
        ),
        18 => format!("Init[{}]", inner(random, depth)),
        19 => random
            .pick(&[
                "SemVer['>=1.0.0']",
                "SemVer['1.x', '3.x']",
                "SemVer['>=1.0.0 <2.0.0']",
                "Timestamp['2020-01-01', '2021-01-01']",
                "Timestamp[default, '2020-01-01']",
                "Timespan['0-01:00:00']",
                "Timespan[1, 7200]",
                "Timespan[{hours => 1}, {days => 2}]",
                "Init[Integer, 16]",
                "Init[Array, true]",
                "Init[String, '%x']",
                "Callable[String]",
                "Callable[0, 0]",
                "Callable[[Integer], String]",
                "Runtime[ruby, 'Symbol']",
                "Class[a]",
                "Resource['file']",
                "Notify[x]",
                "NotUndef['a']",
                "Optional['b']",
            ])
            .to_owned(),
        _ => random
            .pick(&[
                "URI['http://example.com']",
                "URI[{scheme => 'http'}]",
                "URI[{port => 8080}]",
                "URI[{host => Enum[h, x]}]",
                "URI[{path => /p/}]",
            ])
            .to_owned(),
    }
}

fn range(random: &mut Random, bounds: &[&str]) -> String {
    let from = random.pick(bounds);
    if random.percent(30) { from.to_owned() } else { format!("{from}, {}", random.pick(bounds)) }
}

fn size(random: &mut Random) -> String {
    match random.weighted(&[40, 40, 15, 5]) {
        0 => random.between(0, 4).to_string(),
        1 => {
            let from = random.between(0, 3);
            format!("{from}, {}", from + random.between(0, 3))
        }
        2 => format!("default, {}", random.between(0, 4)),
        _ => "Integer[1, 2]".to_owned(),
    }
}

fn list(random: &mut Random, items: &[&str]) -> String {
    let chosen: Vec<&str> = random.times(1, 3).map(|_| random.pick(items)).collect();
    chosen.join(", ")
}

fn sized(random: &mut Random, name: &str, types: u32, depth: u32) -> String {
    let mut parts: Vec<String> = (0..types).map(|_| inner(random, depth)).collect();
    if random.percent(40) {
        parts.push(size(random));
    }
    format!("{name}[{}]", parts.join(", "))
}

fn record(random: &mut Random, depth: u32) -> String {
    let mut entries = Vec::new();
    for name in ["a", "b", "'c d'"].into_iter().take(random.between(1, 3) as usize) {
        let key = match random.weighted(&[60, 30, 10]) {
            0 => name.to_owned(),
            1 => format!("Optional[{name}]"),
            _ => format!("NotUndef[{name}]"),
        };
        entries.push(format!("{key} => {}", inner(random, depth)));
    }
    format!("Struct[{{{}}}]", entries.join(", "))
}

/// The expression with something taken out, doubled or put in.
fn spoiled(random: &mut Random, kind: &str) -> String {
    let mut chars: Vec<char> = kind.chars().collect();
    let at = random.index(chars.len());
    match random.index(4) {
        0 => _ = chars.remove(at),
        1 => chars.insert(at, chars[at]),
        2 => chars.insert(at, random.one(&['[', ']', ',', '1', ' ', '\'', '{', '/', '.', '-', ':', 'x'])),
        _ => chars.truncate(at),
    }
    chars.into_iter().collect()
}
