//! Hashes, characters, floats and scalars without digits are as in each Ruby where `tests/puppet/record_rubies.rb` ran.

use std::convert::Infallible;

use hierad::hiera::backend::{DataFile, Format};
use hierad::puppet::{ErrorKind, Ruby, format, yaml};
use hierad::value::Value;

const RECORDED: [(&str, &str); 5] = [
    ("3.1", include_str!("../vectors/rubies/3.1.json")),
    ("3.3", include_str!("../vectors/rubies/3.3.json")),
    ("3.4", include_str!("../vectors/rubies/3.4.json")),
    ("jruby-9.3", include_str!("../vectors/rubies/jruby-9.3.json")),
    ("jruby-9.4", include_str!("../vectors/rubies/jruby-9.4.json")),
];

fn each(check: impl Fn(Ruby, &serde_json::Value)) {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let base = read(RECORDED[0].1);
    for (version, recorded) in RECORDED {
        let mut recorded = read(recorded);
        for field in ["texts", "floats"] {
            // What is as in the first is recorded there.
            let own = recorded[field].as_array_mut().unwrap();
            let is_own = |line: &&serde_json::Value| own.iter().any(|other| other[0] == line[0]);
            let others: Vec<_> = base[field].as_array().unwrap().iter().filter(|line| !is_own(line)).cloned().collect();
            own.extend(others);
            assert_eq!(own.len(), base[field].as_array().unwrap().len(), "{field} of {version}");
        }
        check(Ruby::of_version(version).unwrap(), &recorded);
    }
}

#[test]
fn values_are_shown_as_by_each_ruby() {
    each(|ruby, recorded| {
        for pair in recorded["texts"].as_array().unwrap() {
            let document = pair[0].as_str().unwrap();
            let file = DataFile::parse(document.as_bytes(), Format::Yaml);
            let Ok(named) = file.read_otherwise(|| Ok::<_, Infallible>(document.as_bytes()));
            if named.iter().any(|(_, kind)| kind.servers().have(ruby)) {
                continue;
            }
            let text = pair[1].as_str().unwrap();
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

#[test]
fn floats_are_shown_as_by_each_ruby() {
    each(|ruby, recorded| {
        let formats = recorded["formats"].as_array().unwrap();
        let (mut unknown, mut wrong) = (0, Vec::new());
        for texts in recorded["floats"].as_array().unwrap() {
            let texts: Vec<&str> = texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
            let float = Value::Float(f64::from_bits(u64::from_str_radix(texts[0], 16).unwrap()));
            assert_eq!(float.text_in(ruby.notation()), texts[1], "{} on Ruby {}", texts[0], ruby.name());
            if texts[1] == "NaN" {
                continue; // It is of no type of Puppet's, so other formats count.
            }
            for (directive, expected) in formats.iter().map(|format| format.as_str().unwrap()).zip(&texts[2..]) {
                match format::convert(&float, Some(&directive.into()), ruby) {
                    Ok(text) if text == expected.as_bytes() => {}
                    Err(error) if expected.strip_prefix('!').is_some_and(|text| error.text.contains(text)) => {}
                    Err(error) if error.kind == ErrorKind::Unknown && ruby.is_jruby() => unknown += 1,
                    other => wrong.push(format!("{directive} of {} is {expected}: {other:?}", texts[1])),
                }
            }
        }
        let count = wrong.len();
        assert!(wrong.is_empty(), "Ruby {}: {count} are wrong:\n{}", ruby.name(), wrong.join("\n"));
        assert!(unknown < 500, "{unknown} are unknown on Ruby {}", ruby.name());
    });
}
