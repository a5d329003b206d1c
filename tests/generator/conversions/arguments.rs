//! Random arguments beside the value: radixes, formats, zones.

use serde_json::{Value as Json, json};

use super::{Random, typed, values};

/// Arguments that the type takes, by its name, or any.
pub(super) fn of(random: &mut Random, kind: &str) -> Vec<Json> {
    let name = kind.split(['[', ' ']).next().unwrap_or_default();
    let choice = match name {
        _ if random.percent(8) => vec![values::any(random, 1)],
        "Integer" => vec![radix(random), json!(random.percent(50))],
        "Float" | "Numeric" | "Array" | "Tuple" | "Regexp" => vec![json!(random.percent(60))],
        "String" => vec![if random.percent(70) { json!(format(random)) } else { formats(random) }],
        "Hash" | "Struct" => vec![json!(random.pick(&["tree", "hash_tree", "tree", "x"]))],
        "Binary" => vec![json!(random.pick(&["%b", "%u", "%B", "%s", "%r", "%x"]))],
        "Timestamp" => {
            vec![time_format(random), json!(random.pick(&["UTC", "PST", "+0200", "-05:30", "xx", "", "CEST"]))]
        }
        "Timespan" => vec![span_format(random)],
        "SemVer" => vec![json!(1), json!(2), json!(random.pick(&["rc.1", "a b", "01"]))],
        "SemVerRange" => vec![typed("SemVer", "2.0.0"), json!(random.percent(50))],
        _ => vec![values::any(random, 0)],
    };
    let count = random.between(1, u32::try_from(choice.len()).unwrap_or(1)) as usize;
    choice.into_iter().take(count).collect()
}

fn radix(random: &mut Random) -> Json {
    random.one(&[json!(2), json!(8), json!(10), json!(16), json!(16), typed("Symbol", "default"), json!(3), json!("x")])
}

/// A format of one directive.
fn format(random: &mut Random) -> String {
    let flags: String =
        random.times(0, 2).map(|_| random.pick(&["-", "+", "#", "0", " ", "<", "[", "{", "(", "|"])).collect();
    let width = if random.percent(40) { random.between(1, 30).to_string() } else { String::new() };
    let precision = if random.percent(30) { format!(".{}", random.between(0, 20)) } else { String::new() };
    let letter = random.pick(&[
        "d", "x", "X", "o", "b", "B", "c", "s", "p", "e", "E", "f", "g", "G", "a", "A", "h", "u", "C", "t", "T", "y",
        "n", "v", "q", "D",
    ]);
    format!("%{flags}{width}{precision}{letter}")
}

/// Formats by type.
fn formats(random: &mut Random) -> Json {
    let entries: Vec<Json> = random
        .times(1, 3)
        .flat_map(|_| {
            let kind = random.pick(&[
                "Integer",
                "Any",
                "String",
                "Array",
                "Hash",
                "Float",
                "Numeric",
                "Boolean",
                "Scalar",
                "Collection",
                "Undef",
                "Array[Integer]",
                "Integer[0, 5]",
                "Type",
                "Struct",
                "Tuple",
                "Binary",
            ]);
            let format = if random.percent(50) { json!(format(random)) } else { container_format(random) };
            [typed("Type", kind), format]
        })
        .collect();
    typed("Hash", entries)
}

fn container_format(random: &mut Random) -> Json {
    let mut hash = serde_json::Map::new();
    for (name, choice) in [
        ("format", &["%a", "%h", "%#a", "%#h", "%<a", "%(h", "% a", "%s", "%p", "%#6a"][..]),
        ("separator", &[";", ", ", "", ",\n"]),
        ("separator2", &[": ", "=>", ""]),
    ] {
        if random.percent(60) {
            hash.insert(name.to_owned(), json!(random.pick(choice)));
        }
    }
    if random.percent(40) {
        let kind = random.pick(&["Integer", "Any", "String", "Array"]);
        hash.insert("string_formats".to_owned(), typed("Hash", vec![typed("Type", kind), json!(format(random))]));
    }
    Json::Object(hash)
}

fn time_format(random: &mut Random) -> Json {
    let directives = [
        "%Y", "%m", "%d", "%H", "%M", "%S", "%F", "%T", "%b", "%e", "%y", "%j", "%z", "%Z", "%s", "%L", "%N", "%I",
        "%p", "%a", "%B", "%D", "%R", "%%", "%:z", "%C", "%k", "%l", "%c", "%x", "%X", "%u", "%w", "%U", "%G", "%V",
        "%n", "%A",
    ];
    match random.weighted(&[50, 40, 10]) {
        0 => json!(random.pick(&[
            "%Y-%m-%d",
            "%F",
            "%FT%T",
            "%F %T.%L",
            "%d/%m/%Y",
            "%b %e %Y",
            "%d %B %Y %I:%M %p",
            "%a, %d %b %Y",
            "%Y%m%d",
            "%s",
            "%H:%M",
            "%FT%T %Z",
            "%F %z"
        ])),
        1 => json!(
            random
                .times(1, 4)
                .map(|_| random.pick(&directives))
                .collect::<Vec<_>>()
                .join(random.pick(&["", "-", " ", ":", "/"]))
        ),
        _ => json!([random.pick(&directives), "%F", "%FT%T"]),
    }
}

fn span_format(random: &mut Random) -> Json {
    let directives = ["%D", "%H", "%M", "%S", "%L", "%N", "%-H", "%_H", "%3S", "%-3S", "%3N", "%%", "%-L", "%6N", "%x"];
    match random.weighted(&[50, 40, 10]) {
        0 => json!(random.pick(&["%H:%M", "%M:%S", "%D-%H:%M:%S", "%S", "%S.%N", "%S.%L", "%H:%M:%S"])),
        1 => json!(
            random
                .times(1, 4)
                .map(|_| random.pick(&directives))
                .collect::<Vec<_>>()
                .join(random.pick(&["", "-", " ", ":", "."]))
        ),
        _ => json!(["%H:%M", random.pick(&directives)]),
    }
}
