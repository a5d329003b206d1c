//! HOCON is read as the gem did when `tests/puppet/record_hocon.rb` ran.
//!
//! `HIERAD_HOCON_CASES` names a file of more cases, such as that script prints for random documents.

use hierad::puppet::document::FaultKind;
use hierad::puppet::{hocon, json};
use serde_json::Value;

use crate::vectors_yaml::{cases, cases_of};

/// How the answers differ: in the outcome, which never may be, or in an error's text.
fn difference(input: &[u8], case: &Value) -> Option<(bool, String)> {
    let parsed = hocon::parse(input);
    let Some(fault) = parsed.fault else {
        let mut text = String::new();
        json::write(&parsed.value, &mut text);
        return (case["value"].as_str() != Some(&text)).then_some((true, text));
    };
    let shown = format!("{:?}: {}", fault.kind, fault.text);
    match fault.kind {
        FaultKind::Syntax => {
            (case["error"].as_str() != Some(&fault.text)).then(|| (case.get("value").is_some(), shown))
        }
        FaultKind::Exception => case.get("exception").is_none().then(|| (case.get("value").is_some(), shown)),
        // What depends on more than the document fails in a process that has read nothing else.
        FaultKind::Outside => case.get("exception").is_none().then_some((true, shown)),
        _ => Some((true, shown)),
    }
}

fn report(cases: &[(Vec<u8>, Value)]) -> (Vec<String>, usize) {
    let differences = cases.iter().filter_map(|(input, case)| Some((case, difference(input, case)?)));
    let (outcomes, texts): (Vec<_>, Vec<_>) = differences.partition(|(_, (outcome, _))| *outcome);
    for (case, (_, text)) in texts.iter().take(20) {
        println!("text of {case}\n  here: {text}");
    }
    (outcomes.into_iter().map(|(case, (_, text))| format!("{case}\n  here: {text}")).collect(), texts.len())
}

#[test]
fn hocon_is_read_as_puppet_does() {
    let cases = cases("hocon.ndjson");
    assert!(cases.len() > 300);
    let (wrong, texts) = report(&cases);
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(texts * 100 <= cases.len(), "{texts} of {} texts differ", cases.len());
}

#[test]
fn more_hocon_is_read_as_puppet_does() {
    let Some(path) = std::env::var_os("HIERAD_HOCON_CASES") else { return };
    let cases = cases_of(&std::fs::read_to_string(path).unwrap());
    let (wrong, texts) = report(&cases);
    println!("{} cases, {} outcomes and {texts} texts differ", cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn marks_of_hocon_are_the_lines_of_keys_and_items() {
    let marks = hocon::parse(b"# first\na = 1\nb.c =\n 2\nb { d = [1\n 2] }\n").marks;
    let lines: Vec<u32> = marks.children.iter().map(|entry| entry.line).collect();
    let inner: Vec<u32> = marks.children[1].children.iter().map(|entry| entry.line).collect();
    let items: Vec<u32> = marks.children[1].children[0].children.iter().map(|item| item.line).collect();
    assert_eq!((lines, inner, items), (vec![2, 5], vec![5, 3], vec![5, 6]));
}
