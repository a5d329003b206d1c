//! Scalars: as YAML writes them, the ones that YAML 1.1 reads oddly before all, and as JSON does.

use super::random::Random;
use super::words::TEXTS;

const HOSTILE: [&str; 70] = [
    "yes",
    "no",
    "on",
    "Off",
    "y",
    "n",
    "True",
    "FALSE",
    "~",
    "null",
    "Null",
    "nil",
    "''",
    "\"\"",
    "017",
    "0o17",
    "08",
    "0x1F",
    "0b101",
    "1_000",
    "1,000",
    "1:30",
    "1:30:15",
    "1:30.5",
    "-1:30",
    "1.5",
    ".5",
    "1.",
    "1.0",
    "100.0",
    "-0",
    "-0.0",
    "+7",
    "1e3",
    "1.0e3",
    "1.0e+3",
    "1e+3",
    "1.5E-7",
    "0.1_5",
    "1__0",
    ".inf",
    "-.INF",
    "+.inf",
    ".",
    "-x",
    "...x",
    ":sym",
    "\":quoted\"",
    "':s'",
    "\":text\"",
    "x :y",
    "!!str 5",
    "!!int \"3\"",
    "!!float 3",
    "!!float \"1.5\"",
    "!ruby/symbol tagged",
    "! 5",
    "!local thing",
    "!!bool \"yes\"",
    "!!null x",
    "=",
    "\"\\u00fc\\n\\t\"",
    "'don''t'",
    "9007199254740993",
    "123456789012345678901234567890",
    "1.7976931348623157e+308",
    "0xff_ff",
    "12e03",
    "190:20:30",
    "!binary aGVsbG8=",
];

/// Values that fail a whole file, or at least the key.
const RARE: [&str; 8] =
    [".nan", "2001-12-14", "2001-12-14 21:59:43", "!binary /+8=", "!ruby/regexp /x/", "*nowhere", "!!set {a, b}", "<<"];

/// A scalar as YAML writes it.
pub(crate) fn yaml(random: &mut Random) -> String {
    if random.permille(1) && random.percent(15) {
        return random.pick(&RARE).to_owned();
    }
    match random.weighted(&[52, 26, 20, 2]) {
        0 => {
            let text = random.pick(&TEXTS);
            quoted(random, text)
        }
        1 => (random.between(0, 40)).to_string(),
        2 => bounded(random, &HOSTILE),
        _ => {
            random.pick(&["|\n  literal\n  block", "|-\n  chomped", ">\n  folded\n  text", ">-\n  a\n\n  b"]).to_owned()
        }
    }
}

/// One of `scalars`, and a large integer only where there may be some.
fn bounded(random: &mut Random, scalars: &[&str]) -> String {
    let scalar = random.pick(scalars);
    let digits = scalar.len() > 9 && scalar.bytes().all(|byte| byte.is_ascii_digit());
    let large = digits || scalar.starts_with("1e22") || scalar.starts_with("1e30");
    (if large && !random.large { "7" } else { scalar }).to_owned()
}

/// A scalar as JSON writes it.
pub(crate) fn json(random: &mut Random) -> String {
    match random.weighted(&[60, 20, 20]) {
        0 => json_text(random.pick(&TEXTS)),
        1 => random.between(0, 40).to_string(),
        _ => bounded(
            random,
            &[
                "null",
                "true",
                "false",
                "1.0",
                "1e3",
                "-0",
                "-0.0",
                "1.5E-7",
                "\"\\u00fc\\/\"",
                "\"\"",
                "\":sym\"",
                "123456789012345678901234567890",
                "100000.0",
                "1e22",
                "\"\\ud83d\\ude00\"",
            ],
        ),
    }
}

/// A text as a YAML scalar, in one of the styles that can hold it.
pub(crate) fn quoted(random: &mut Random, text: &str) -> String {
    let style = random.weighted(&[70, 15, 15]);
    match style {
        0 if plain(text) => text.to_owned(),
        1 if !text.contains('\n') => format!("'{}'", text.replace('\'', "''")),
        _ => json_text(text),
    }
}

/// A text as JSON writes it, which YAML reads as well.
pub(crate) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns true if a text means itself in YAML without quotes.
fn plain(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    first.is_alphabetic()
        && !text.ends_with([' ', ':'])
        && !text.contains(['\n', '\t', '{', '}', '[', ']', ',', '#', '"'])
        && !text.contains(": ")
        && !["yes", "no", "on", "off", "true", "false", "null"].contains(&text)
}

/// A scalar of HOCON: one of JSON, or text without quotes, which reads as something else at times; rarely one that
/// spoils the file.
pub(crate) fn hocon(random: &mut Random) -> String {
    const BARE: [&str; 17] = [
        "yes",
        "10 s",
        "512k",
        "a b",
        "trueish",
        "010",
        "09",
        "1.2.3",
        "-",
        "1e5",
        "1.0",
        "1e30",
        "null x",
        "{a: 1} {b: 2}",
        "[1] [2]",
        "${?nothing}",
        "${?a.b}x",
    ];
    const SPOILING: [&str; 7] = ["foo//x", "\"\"\"a\nb\"\"\"", "[1] x", "x {a: 1}", "${missing}", "\"\\ud83d\"", "+1"];
    if random.permille(1) {
        return random.pick(&SPOILING).to_owned();
    }
    if random.percent(15) { bounded(random, &BARE) } else { json(random) }
}
