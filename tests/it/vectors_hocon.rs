//! HOCON is read as the gem did when `tests/puppet/record_hocon.rb` ran.

use hierad::puppet::document::FaultKind;
use hierad::puppet::{hocon, json};
use hierad::visible::visible_json;
use serde_json::Value;

use crate::vectors_yaml::{cases, cases_of};

/// An address of a Ruby object, which the gem has in some texts by mistake.
const ADDRESS: &str = "#<StringIO:0x";

/// Returns hierad's answer if it is not the recorded one.
fn difference(input: &[u8], case: &Value) -> Option<String> {
    let parsed = hocon::parse(input);
    let Some(fault) = parsed.fault else {
        let mut text = String::new();
        json::write(&parsed.value, &mut text);
        // Ruby leaves some active characters as they are; hierad writes escapes.
        let is_recorded = case["value"].as_str().is_some_and(|recorded| visible_json(recorded) == text);
        return (!is_recorded).then_some(text);
    };
    let is_recorded = match fault.kind {
        FaultKind::Syntax => {
            case["error"].as_str().is_some_and(|error| error == &*fault.text || error.contains(ADDRESS))
        }
        // A document that depends on what was read before it fails in a process that has read nothing else.
        FaultKind::Exception | FaultKind::Outside => case.get("exception").is_some(),
        _ => false,
    };
    (!is_recorded).then(|| format!("{:?}: {}", fault.kind, fault.text))
}

/// `HIERAD_HOCON_CASES` names a file of other cases, as `record_hocon.rb --random` prints them.
#[test]
fn hocon_is_read_as_by_puppet() {
    let cases = match std::env::var_os("HIERAD_HOCON_CASES") {
        Some(path) => cases_of(&std::fs::read_to_string(path).unwrap()),
        None => cases("hocon.ndjson"),
    };
    assert!(cases.len() > 300);
    let wrong = cases.iter().filter_map(|(input, case)| Some(format!("{case}\n  here: {}", difference(input, case)?)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn hocon_marks_are_lines() {
    let marks = hocon::parse(b"# first\na = 1\nb.c =\n 2\nb { d = [1\n 2] }\n").marks;
    let lines: Vec<u32> = marks.children.iter().map(|entry| entry.line).collect();
    let inner: Vec<u32> = marks.children[1].children.iter().map(|entry| entry.line).collect();
    let items: Vec<u32> = marks.children[1].children[0].children.iter().map(|item| item.line).collect();
    assert_eq!((lines, inner, items), (vec![2, 5], vec![5, 3], vec![5, 6]));
}
