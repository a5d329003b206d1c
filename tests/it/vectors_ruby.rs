//! Numbers, symbols and characters are shown as the real Ruby did when `tests/puppet/record_ruby.rb` ran.

use hierad::value::Value;

fn recorded() -> serde_json::Value {
    serde_json::from_str(include_str!("../vectors/ruby.json")).expect("the vectors are JSON")
}

fn pairs(of: &str) -> Vec<(String, String)> {
    let recorded = recorded();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    recorded[of].as_array().expect("a list").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

#[test]
fn floats_are_shown_as_by_ruby() {
    for (bits, text) in pairs("floats") {
        let float = f64::from_bits(u64::from_str_radix(&bits, 16).expect("bits"));
        assert_eq!(Value::Float(float).to_s(), text, "{bits}");
    }
}

#[test]
fn symbols_are_shown_as_by_ruby() {
    for (name, text) in pairs("symbols") {
        assert_eq!(Value::Symbol(name.as_str().into()).inspect(), text);
    }
}

#[test]
fn characters_are_shown_as_by_ruby() {
    let recorded = recorded();
    let code = |value: &serde_json::Value| value.as_u64().and_then(|n| u32::try_from(n).ok()).expect("a code point");
    let ranges = recorded["printable"].as_array().expect("a list");
    let ranges: Vec<_> = ranges.iter().map(|range| code(&range[0])..=code(&range[1])).collect();
    let mut next = 0;
    for c in (0x80..=0x10_ffff).filter_map(char::from_u32) {
        while ranges.get(next).is_some_and(|range| *range.end() < u32::from(c)) {
            next += 1;
        }
        let printable = ranges.get(next).is_some_and(|range| range.contains(&u32::from(c)));
        let shown = Value::from(String::from(c)).inspect();
        assert_eq!(shown == format!("\"{c}\""), printable, "U+{:04X}", u32::from(c));
    }
}
