//! Hashes, characters and scalars without digits are as in each Ruby in which `tests/puppet/record_rubies.rb` ran.

use hierad::puppet::{Ruby, yaml};
use hierad::value::Value;

const RECORDED: [(&str, &str); 3] = [
    ("3.1", include_str!("../vectors/rubies/3.1.json")),
    ("3.3", include_str!("../vectors/rubies/3.3.json")),
    ("3.4", include_str!("../vectors/rubies/3.4.json")),
];

fn each(check: impl Fn(Ruby, &serde_json::Value)) {
    for (version, recorded) in RECORDED {
        check(Ruby::of_version(version).unwrap(), &serde_json::from_str(recorded).unwrap());
    }
}

#[test]
fn values_are_shown_as_by_each_ruby() {
    each(|ruby, recorded| {
        for pair in recorded["texts"].as_array().unwrap() {
            let [document, text] = [&pair[0], &pair[1]].map(|text| text.as_str().unwrap());
            let parsed = yaml::parse_by(document.as_bytes(), ruby.psych());
            let shown = match &parsed.fault {
                Some(fault) => fault.text[..fault.text.find(": \"").unwrap()].to_owned(),
                None => parsed.value.text_in(ruby.notation()),
            };
            assert_eq!(shown, text, "{document} on Ruby {}", ruby.name());
        }
    });
}

#[test]
fn characters_are_shown_as_by_each_ruby() {
    each(|ruby, recorded| {
        let ranges = recorded["printable"].as_array().unwrap();
        let code = |value: &serde_json::Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let mut ranges = ranges.iter().map(|range| code(&range[0])..=code(&range[1])).peekable();
        for c in (0x80..=0x10_ffff).filter_map(char::from_u32) {
            while ranges.next_if(|range| *range.end() < u32::from(c)).is_some() {}
            let printable = ranges.peek().is_some_and(|range| range.contains(&u32::from(c)));
            let shown = Value::from_iter([Value::from(String::from(c))]).text_in(ruby.notation());
            assert_eq!(shown == format!("[\"{c}\"]"), printable, "U+{:04X} on Ruby {}", u32::from(c), ruby.name());
        }
    });
}
