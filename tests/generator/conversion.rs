//! `convert_to`: types to convert a key's value to, and values that they fit.

use super::random::Random;
use super::words::{Kind, TEXTS};

/// Types that fit nearly every value of a kind, or that most values of it can be made into; as JSON writes them.
fn fitting(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Number => &[
            r#""Integer""#,
            r#""Float""#,
            r#""Numeric""#,
            r#""String""#,
            r#"["Integer", 10]"#,
            r#"["Integer", 10, true]"#,
            r#"["Numeric", true]"#,
            r#"["Float", true]"#,
            r#""Integer[0, 100]""#,
            r#""Optional[Integer]""#,
            r#""NotUndef[Float]""#,
            r#""Init[Integer]""#,
            r#"["String", "%05d"]"#,
            r#"["String", "%p"]"#,
            r#""Sensitive[Numeric]""#,
            r#""Timespan""#,
        ],
        Kind::Flag => {
            &[r#""Boolean""#, r#"["String", "%y"]"#, r#""Optional[Boolean]""#, r#""Sensitive""#, r#""Integer""#]
        }
        Kind::Stamp => &[
            r#""Timestamp""#,
            r#"["Timestamp", "%Y-%m-%d"]"#,
            r#"["Timestamp", ["%Y-%m-%dT%H:%M:%S", "%F"]]"#,
            r#"["Timestamp", ["%F %T", "%F"], "+02:00"]"#,
            r#""Optional[Timestamp]""#,
            r#""String""#,
            r#""Sensitive[Timestamp]""#,
        ],
        Kind::Span => &[
            r#""Timespan""#,
            r#"["Timespan", ["%H:%M:%S", "%M:%S", "%S"]]"#,
            r#""Timespan[0]""#,
            r#"["Timespan", "%D-%H:%M:%S"]"#,
            r#""String""#,
        ],
        Kind::Version => &[
            r#""SemVer""#,
            r#""SemVerRange""#,
            r#""String[1]""#,
            r#""SemVer['>=1.0.0']""#,
            r#""Sensitive[SemVer]""#,
            r#""Pattern[/\\A\\d/]""#,
        ],
        Kind::Scalar => &[
            r#""String""#,
            r#""String""#,
            r#""Sensitive""#,
            r#"["Array", true]"#,
            r#""Optional[String]""#,
            r#""NotUndef[String]""#,
            r#"["String", "%s"]"#,
            r#"["String", "%p"]"#,
            r#"["String", "%-8s|"]"#,
            r#""Array""#,
            r#""Init[String]""#,
            r#"["Init[String, '%p']"]"#,
            r#""Sensitive[String]""#,
        ],
        Kind::Array => &[
            r#""Array""#,
            r#""Array[Data]""#,
            r#""Array[Any]""#,
            r#""Array[Scalar]""#,
            r#"["Array", true]"#,
            r#"["Array", false]"#,
            r#""Optional[Array]""#,
            r#""String""#,
            "[\"String\", \"%#a\"]",
            r#"["String", "%(a"]"#,
            r#"["String", "% a"]"#,
            r#""Sensitive""#,
            r#""Tuple[Any, 0, 9]""#,
            r#""Array[Variant[String, Numeric, Undef, Array, Hash, Boolean]]""#,
        ],
        Kind::Hash => &[
            r#""Hash""#,
            r#""Hash[String, Any]""#,
            r#""Hash[String, Data]""#,
            r#""Hash[Any, Data]""#,
            r#""Array""#,
            r#"["Array", true]"#,
            r#""String""#,
            "[\"String\", \"%#h\"]",
            r#"["String", "%(h"]"#,
            r#""Sensitive""#,
            r#""Sensitive[Hash]""#,
            r#""Optional[Hash]""#,
            r#""Struct[{Optional[name] => Any, Optional[port] => Any, Optional[ensure] => Any, Optional[tags] => Any}]""#,
        ],
        Kind::Mixed => &[r#""String""#, r#""Sensitive""#, r#"["Array", true]"#, r#""Array""#, r#"["String", "%p"]"#],
    }
}

/// Types that fit some values, fail on others, or stand in no relation to them.
const ELSE: [&str; 62] = [
    r#""Integer""#,
    r#""Float""#,
    r#""Numeric""#,
    r#""Boolean""#,
    r#"["Integer", 16]"#,
    r#"["Integer", 2]"#,
    r#"["Integer", 8]"#,
    r#"["Integer", "default"]"#,
    r#"["String", "%d"]"#,
    r#"["String", "%x"]"#,
    r#"["String", "%.2f"]"#,
    r#"["String", "%u"]"#,
    r#"["String", "%C"]"#,
    r#"["String", {"Integer": "%x"}]"#,
    r#"["String", {"Array": {"format": "%a", "separator": ";"}}]"#,
    r#""String[1, 5]""#,
    r#""String[3]""#,
    r#""Enum[red, green]""#,
    r#""Enum['red', 'green', true]""#,
    r#""Pattern[/^r/, /e/]""#,
    r#""Regexp""#,
    r#"["Regexp", true]"#,
    r#""Binary""#,
    r#"["Binary", "%s"]"#,
    r#"["Binary", "%r"]"#,
    r#""URI""#,
    r#""Timestamp""#,
    r#""Timespan""#,
    r#""SemVer""#,
    r#""SemVerRange""#,
    r#""Type""#,
    r#""Hash""#,
    r#"["Hash", "tree"]"#,
    r#"["Hash", "hash_tree"]"#,
    r#""Hash[String, String]""#,
    r#""Hash[String, Integer, 1, 2]""#,
    r#""Array[String]""#,
    r#""Array[Integer]""#,
    r#""Array[Any, 2]""#,
    r#""Array[Data, 0, 1]""#,
    r#""Array[Array[Any]]""#,
    r#""Array[Hash]""#,
    r#""Tuple[String, String]""#,
    r#""Tuple[Any, Integer, 1, 3]""#,
    r#""Struct[{name => String, port => Integer}]""#,
    r#""Struct[{Optional[name] => String}]""#,
    r#""Variant[Integer, String]""#,
    r#""Optional[Integer[1, 10]]""#,
    r#""NotUndef""#,
    r#""Optional""#,
    r#""Scalar""#,
    r#""Data""#,
    r#""RichData""#,
    r#""Any""#,
    r#""Undef""#,
    r#""Collection""#,
    r#""Iterable""#,
    r#""Init[Array, true]""#,
    r#""Init[Timestamp, '%F']""#,
    r#""Sensitive[Integer]""#,
    r#""Puppet::LookupValue""#,
    r#""Callable""#,
];

/// Texts that are not a type, not a sound one, or not one that values are made of.
const BROKEN: [&str; 34] = [
    r#""Integer[""#,
    r#""Integer[1, 2, 3]""#,
    r#""Integer[5, 1]""#,
    r#""Integer[a]""#,
    r#""Array[""#,
    r#""Foo""#,
    r#""ntp::Servers""#,
    r#""Ntp::Servers""#,
    r#""foo""#,
    r#""integer""#,
    r#""""#,
    r#"" ""#,
    r#""Integer, 5""#,
    r#""String[x]""#,
    r#""Enum[]""#,
    r#""Pattern[/(/]""#,
    r#""Struct[{1 => String}]""#,
    r#""File['/x']""#,
    r#""Class['ntp']""#,
    r#""Integer[1+1]""#,
    r#""%{role}""#,
    r#""String[%{count}]""#,
    r#""%{lookup('color')}""#,
    r#"["%{literal('Integer')}"]"#,
    "5",
    "true",
    "{}",
    r#"{"Integer": 1}"#,
    "[]",
    "[null]",
    "[5]",
    r#"[["Integer"]]"#,
    r#"["Integer", 99]"#,
    r#"["Integer", 10, true, 1]"#,
];

/// A value of `convert_to` for a key of the kind `kind`, as JSON writes it.
pub(crate) fn convert_to(random: &mut Random, kind: Kind) -> &'static str {
    let chosen = choose(random, kind);
    let collects = |name: &&str| chosen.contains(name);
    let counts = ["Array", "Hash", "Tuple", "Struct", "Collection", "Itera"].iter().any(collects);
    if counts && random.large { "\"String\"" } else { chosen }
}

fn choose(random: &mut Random, kind: Kind) -> &'static str {
    match random.weighted(&[78, 18, 4]) {
        0 => random.pick(fitting(kind)),
        1 => random.pick(&ELSE),
        _ => random.pick(&BROKEN),
    }
}

const NUMBERS: [&str; 28] = [
    "0",
    "1",
    "8080",
    "-7",
    "255",
    "3.5",
    "-0.25",
    "1e3",
    "100.0",
    "\"42\"",
    "\"-1\"",
    "\"+ 5\"",
    "\"0x1F\"",
    "\"017\"",
    "\"0b101\"",
    "\"3.14\"",
    "\"1e3\"",
    "\"08\"",
    "\"1_000\"",
    "\" 7\"",
    "\"12 monkeys\"",
    "\"ff\"",
    "\"\"",
    "true",
    "false",
    "null",
    "[\"0x10\", 16]",
    "{\"from\": \"77\", \"radix\": 8}",
];

const FLAGS: [&str; 10] = ["true", "false", "\"yes\"", "\"No\"", "\"Y\"", "\"TRUE\"", "1", "0", "0.0", "\"maybe\""];

const STAMPS: [&str; 14] = [
    "\"2020-02-29\"",
    "\"2020-01-31T12:30:45\"",
    "\"2020-01-31T12:30:45.123 UTC\"",
    "\"2020-01-31 12:30:45\"",
    "\"2020-02-31\"",
    "\"1969-12-31T23:59:59.5\"",
    "\"2020-01-31 12:30:45 +0130\"",
    "\"next week\"",
    "\"%{lookup('since')}\"",
    "4000",
    "1580474000.25",
    "-1",
    "{\"string\": \"2020-01-01\"}",
    "{\"string\": \"2020\", \"format\": \"%Y\"}",
];

const SPANS: [&str; 14] = [
    "5",
    "0.5",
    "-3",
    "\"1\"",
    "\"1:30\"",
    "\"1:02:03\"",
    "\"2-12:00:00\"",
    "\"1:02:03.25\"",
    "\"soon\"",
    "[1, 2, 3, 4]",
    "{\"days\": 1, \"hours\": 2}",
    "{\"negative\": true, \"minutes\": 90}",
    "{\"string\": \"90\", \"format\": \"%S\"}",
    "{\"weeks\": 1}",
];

const VERSIONS: [&str; 14] = [
    "\"1.2.3\"",
    "\"0.9.0\"",
    "\"1.2.3-rc1\"",
    "\"1.2.3-rc.1+build.5\"",
    "\"1.2\"",
    "\"v1.2.3\"",
    "\">=1.0.0 <2.0.0\"",
    "\"1.x\"",
    "\"~1.2\"",
    "\"01.2.3\"",
    "[1, 2, 3]",
    "{\"major\": 1, \"minor\": 2, \"patch\": 3}",
    "{\"major\": \"1\"}",
    "1.2",
];

/// A value for a key of the kind `kind` in JSON, or `None` for kinds where any will do. The first few are sound.
pub(crate) fn value(random: &mut Random, kind: Kind) -> Option<String> {
    let values: &[&str] = match kind {
        Kind::Number => &NUMBERS,
        Kind::Flag => &FLAGS,
        Kind::Stamp => &STAMPS,
        Kind::Span => &SPANS,
        Kind::Version => &VERSIONS,
        Kind::Scalar | Kind::Array | Kind::Hash | Kind::Mixed => return None,
    };
    let sound = if random.percent(70) { values.len() / 3 } else { values.len() };
    let value = random.pick(&values[..sound]).to_owned();
    Some(if random.permille(20) { serde_json::Value::from(random.pick(&TEXTS)).to_string() } else { value })
}
