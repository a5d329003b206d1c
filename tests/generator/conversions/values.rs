//! Random values, and those that a type is likely to make something of.

use serde_json::{Map, Value as Json, json};

use super::{Random, typed};

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+1",
    "- 1",
    "42",
    "007",
    "08",
    "017",
    "-017",
    "0x1F",
    "0X1f",
    "-0x1f",
    "0b11",
    "0B101",
    "1_000",
    "1.5",
    "-1.5",
    "+ 1.5",
    "1.",
    ".5",
    "1e3",
    "1E3",
    "1e-3",
    "1e+3",
    "0.0",
    "00.5",
    "0e5",
    "0.1e2",
    "1e400",
    "12345678901234567890",
    "0xfffffffffffffffffff",
    " 1",
    "1 ",
    "1\n",
    "ff",
    "123456789.123456789",
    "5e-324",
    "1__0",
    "0o17",
    "0d9",
    "1e5.5",
    "0x1.8p1",
    "NaN",
    "Infinity",
    "--1",
    "+-1",
    "1,5",
];
const WORDS: &[&str] = &[
    "",
    "a",
    "abc",
    "hello world",
    "it's",
    "say \"x\"",
    "tab\tend",
    "é☃",
    "a\\b",
    "$v",
    " pad ",
    "foo::bar",
    "ÀB cD",
    "yes",
    "No",
    "TRUE",
    "f",
    "undef",
    "default",
    "A",
    "b",
    "a\nb",
    "ß",
    "ǆx",
    "İ",
    "x\u{7f}",
    "\u{a0}x\u{a0}",
    "::a::",
    "1 2",
];
const TIMES: &[&str] = &[
    "2020-01-31",
    "2020-01-31T12:30:45",
    "2020-01-31 12:30:45.123",
    "2020-02-31",
    "1-1-1",
    "-0044-03-15",
    "12345-01-01",
    "2020-01-31T12:30:45 UTC",
    "2020-01-31 12:30:45.5 EST",
    "2020-01-31T12:30:45 +0130",
    "2020-01-31 +02:00",
    "2020-01-31T24:00:00",
    "2020-01-31T23:59:60",
    "31/01/2020",
    "Jan 5 2020",
    "5 January 2020 3:04 PM",
    "Fri, 31 Jan 2020",
    "20200131",
    "1580474000",
    "12:30",
    "2020-031",
    "2020-W05-5",
    "2020-01-31T12:30:45Z",
    "2020-01-31T12:30:45.678+01:00",
];
const SPANS: &[&str] = &[
    "1",
    "0",
    "-1",
    "1.5",
    "1:2",
    "1:2:3",
    "1-2:3:4",
    "1-2:3:4.5",
    "-1-2:3:4.005",
    "25:61:61",
    "100:00",
    "1-2",
    " 1",
    "99999999999",
    "10:20:30.123456789",
    "1h",
    "02",
    "0-00:00:01",
    "1-00:00",
];
const VERSIONS: &[&str] = &[
    "1.2.3",
    "0.0.0",
    "1.2",
    "01.2.3",
    "1.2.3-rc1",
    "1.2.3-rc.1.2+build.5",
    "1.2.3-01",
    "1.2.3+",
    "v1.2.3",
    "3.0.0",
    "1.2.3\n",
];
const RANGES: &[&str] = &[
    ">=1.0.0",
    ">1.0.0 <2.0.0",
    ">= 1.0.0 < 2.0.0",
    "1.x",
    "1.2.x",
    "*",
    "~1.2.3",
    "~1.2",
    "~>1.2",
    "^1.2.3",
    "^0.2.3",
    "^0.0.3",
    "<=1",
    "<=1.2",
    ">1",
    ">1.2",
    "1.0.0 - 2.0.0",
    "1 - 2.1",
    ">1 || <0.5",
    "<2 || >=2",
    ">2 <1",
    "=1.2.3",
    ">=1.2.3-rc1 <1.2.4",
    "1.2.3 || 1.2.4",
    "<=1.0.0 || >=1.0.0",
    "~0",
    "^0",
    "> 1.x",
];
const URIS: &[&str] = &[
    "http://example.com",
    "HTTP://Example.COM/Path",
    "http://u:p@h:80/a/b?c=d&e#f",
    "https://h:443/",
    "ftp://h/a;type=i",
    "mailto:a@b.c",
    "file:///etc/hosts",
    "urn:isbn:1",
    "ldap://h/dc=x?cn?sub",
    "puppet:///modules/a/b",
    "/path",
    "path/x",
    "a:b",
    "a b",
    "http://[::1]/",
    "http://h:/",
    "?q",
    "#f",
    "//h/p",
    "http://é/",
    "http:",
    "http://h/%zz",
    "x+y.z-1://h",
    "http://h?a b",
    "ws://h/x",
    "http://1.2.3.4:80",
    "mailto:a@b.c?subject=x",
    "ftp://h/%2Fa",
];
const BASE64: &[&str] = &[
    "YWJj",
    "YWI=",
    "YQ==",
    "YQ",
    "YW Jj",
    "YWJj\n",
    "_-8=",
    "/+8=",
    "!!!!",
    "YWJjZA",
    "Y",
    "YWJj====",
    "YR==",
    "YWJjYWJj\nYWJj",
    "=",
    "====",
];
const PATTERNS: &[&str] = &[
    "a",
    "a/b",
    "a\\/b",
    "(",
    "[",
    "*",
    "(?<x>a)\\k<x>",
    "a b#c",
    "a\nb",
    "\\",
    "é",
    "(?i)a",
    "a{2,1}",
    "\\p{Alpha}",
    "[[:alpha:]]",
    "(?<=a+)b",
    "a**",
    "(?:a|b)+",
    "[a-",
    "a)",
];
const KINDS: &[&str] = &[
    "Integer",
    "Integer[1, 3]",
    "Enum[b, a]",
    "Array[Integer]",
    "Hash[String, Integer]",
    "Optional[String]",
    "Struct[{a => Integer}]",
    "String",
    "Any",
    "Tuple[Integer, String]",
];

/// A value that a type may make something of, by its name.
pub(super) fn near(random: &mut Random, kind: &str) -> Json {
    let name = kind.split(['[', ' ']).next().unwrap_or_default();
    match name {
        "Integer" | "Float" | "Numeric" | "Boolean" => number(random),
        "Array" | "Tuple" | "Hash" | "Struct" | "Collection" | "Iterable" | "Iterator" => container(random, 2),
        "Timestamp" => text(random, TIMES),
        "Timespan" => text(random, SPANS),
        "SemVer" => text(random, VERSIONS),
        "SemVerRange" => text(random, RANGES),
        "URI" => text(random, URIS),
        "Binary" => text(random, BASE64),
        "Regexp" => text(random, PATTERNS),
        "Type" => text(random, KINDS),
        _ => any(random, 2),
    }
}

/// Any value, containers to a depth.
pub(super) fn any(random: &mut Random, depth: u32) -> Json {
    match random.weighted(&[8, 25, 30, 12, 25]) {
        0 => random.one(&[json!(null), json!(true), json!(false)]),
        1 => number(random),
        2 => text(random, WORDS),
        3 => rich(random),
        _ if depth == 0 => text(random, WORDS),
        _ => container(random, depth - 1),
    }
}

fn number(random: &mut Random) -> Json {
    match random.weighted(&[35, 15, 20, 15, 10, 5]) {
        0 => text(random, NUMBERS),
        1 => json!(i64::from(random.between(0, 300)) - 100),
        2 => random.one(&[
            json!(0.0),
            json!(-0.0),
            json!(1.5),
            json!(-2.75),
            json!(1e20),
            json!(1e-7),
            json!(123_456.789),
            json!(1e15),
            json!(1e16),
            json!(0.1),
            json!(2.5),
            json!(1e300),
        ]),
        3 => random.one(&[
            json!(0),
            json!(255),
            json!(65),
            json!(1_u64 << 62),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(128_512),
            json!(0x11_0000),
        ]),
        4 => random.one(&[
            json!(true),
            json!(false),
            json!("yes"),
            json!("n"),
            json!("False"),
            typed("Float", "NaN"),
            typed("Float", "Infinity"),
        ]),
        _ => rich(random),
    }
}

/// One of the texts, changed in one place in few cases.
fn text(random: &mut Random, texts: &[&str]) -> Json {
    let mut chars: Vec<char> = random.pick(texts).chars().collect();
    if random.percent(25) {
        let at = random.index(chars.len() + 1);
        let with =
            random.one(&['0', '1', '9', '-', '+', '.', ':', ' ', 'e', 'x', '_', '/', '=', '\n', 'Z', '<', '%', 'é']);
        match chars.get_mut(at) {
            Some(c) if random.percent(50) => *c = with,
            Some(_) if random.percent(40) => _ = chars.remove(at),
            _ => chars.insert(at, with),
        }
    }
    json!(chars.into_iter().collect::<String>())
}

fn rich(random: &mut Random) -> Json {
    match random.index(13) {
        0 => typed(
            "Timestamp",
            format!(
                "20{:02}-0{}-1{}T0{}:34:5{}.{:03}000000 UTC",
                random.between(0, 99),
                random.between(1, 9),
                random.between(0, 9),
                random.between(0, 9),
                random.between(0, 9),
                random.between(0, 999)
            ),
        ),
        1 => typed(
            "Timespan",
            random.pick(&[
                "1-02:03:04.5",
                "-0-00:00:01.25",
                "0-00:00:00.0",
                "100-00:00:00.000000001",
                "0-23:59:59.999",
            ]),
        ),
        2 => typed("SemVer", random.pick(&["1.2.3-rc.1+b.5", "1.2.3", "0.0.0", "2.0.0-a"])),
        3 => typed("SemVerRange", random.pick(&[">=1.0.0 <2.0.0", "1.2.3", ">1.0.0", "~1.2", "1.x || 3.x"])),
        4 => typed("Regexp", random.pick(&["a/(b)", "", "é", "\\d+", "x y"])),
        5 => typed("Binary", random.pick(&["aGVsbG8=", "//79", "", "AAEC"])),
        6 => typed("URI", random.pick(&["http://u@example.com:8080/p?q#f", "mailto:a@b.c", "/p"])),
        7 | 8 => typed("Type", random.pick(KINDS)),
        9 => typed("Sensitive", text(random, WORDS)),
        10 => typed("Sensitive", 5),
        11 => typed("Symbol", random.pick(&["default", "undef", "sym"])),
        _ => typed("BinaryString", random.pick(&["/w==", "YWL/", "gGE=", "/zEy"])),
    }
}

fn container(random: &mut Random, depth: u32) -> Json {
    match random.weighted(&[30, 25, 12, 10, 8, 15]) {
        0 => random.times(0, 4).map(|_| any(random, depth)).collect(),
        1 => hash(random, depth),
        2 => random.times(0, 4).map(|_| json!([any(random, 0), any(random, depth)])).collect(),
        3 => random.times(1, 3).map(|_| json!([path(random), any(random, depth)])).collect(),
        4 => {
            // Ruby and hierad differ in which times are one key.
            let entries = random.times(0, 3).map(|_| (any(random, 0), any(random, depth)));
            let mut unique: Vec<(Json, Json)> = Vec::new();
            for entry in entries {
                if unique.iter().all(|(key, _)| *key != entry.0) {
                    unique.push(entry);
                }
            }
            typed("Hash", unique.into_iter().flat_map(|(key, value)| [key, value]).collect::<Vec<_>>())
        }
        _ => arguments(random),
    }
}

/// A path into a tree of hashes.
fn path(random: &mut Random) -> Json {
    random.times(0, 3).map(|_| random.one(&[json!("a"), json!("b"), json!(0), json!(1), json!("c")])).collect()
}

fn hash(random: &mut Random, depth: u32) -> Json {
    let mut hash = Map::new();
    for _ in random.times(0, 3) {
        let key = random.pick(&["a", "b", "c d", "", "1", "é"]).to_owned();
        hash.insert(key, any(random, depth));
    }
    Json::Object(hash)
}

/// A hash of the names of arguments.
fn arguments(random: &mut Random) -> Json {
    let choice: &[(&str, &[&str])] = match random.index(7) {
        0 => &[("from", NUMBERS), ("radix", &["2", "8", "10", "16"]), ("abs", &["true"])],
        1 => &[
            ("string", TIMES),
            ("format", &["%F", "%Y-%m-%dT%H:%M:%S", "%d/%m/%Y"]),
            ("timezone", &["UTC", "PST", "+02:00", ""]),
        ],
        2 => &[("string", SPANS), ("format", &["%H:%M", "%M:%S", "%S", "%D-%H"])],
        3 => &[
            ("major", &["1", "2"]),
            ("minor", &["0", "3"]),
            ("patch", &["4"]),
            ("prerelease", &["rc.1", "a b"]),
            ("build", &["5"]),
        ],
        4 => &[
            ("scheme", &["http", "https", "mailto", "x"]),
            ("host", &["h", "example.com"]),
            ("port", &["80", "8080"]),
            ("path", &["/p", "p"]),
            ("query", &["q", "a=b"]),
            ("fragment", &["f"]),
            ("opaque", &["o"]),
            ("userinfo", &["u", "u:p"]),
        ],
        5 => &[("value", BASE64), ("format", &["%b", "%u", "%B", "%s", "%r"])],
        _ => &[
            ("negative", &["true", "false"]),
            ("days", &["1", "-2"]),
            ("hours", &["3", "30"]),
            ("minutes", &["4"]),
            ("seconds", &["5"]),
            ("nanoseconds", &["6"]),
        ],
    };
    let mut hash = Map::new();
    for (at, (name, texts)) in choice.iter().enumerate() {
        if random.percent(if at == 0 { 90 } else { 50 }) {
            let text = text(random, texts);
            // A number or a word, where it is one.
            let bare = text
                .as_str()
                .and_then(|text| text.parse::<Json>().ok())
                .filter(|json| !json.is_string() && !json.is_f64());
            hash.insert((*name).to_owned(), bare.filter(|_| random.percent(85)).unwrap_or(text));
        }
    }
    Json::Object(hash)
}
