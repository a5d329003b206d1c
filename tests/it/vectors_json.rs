//! JSON is read and written as the real Puppet did when `tests/puppet/record_json.rb` ran.

use hierad::puppet::json;
use hierad::visible::visible_json;
use serde_json::Value;

use crate::vectors_yaml::cases;

fn difference(input: &[u8], case: &Value) -> Option<String> {
    let parsed = json::parse(input);
    let recorded = |name: &str| case[name].as_str();
    if let Some(fault) = parsed.fault {
        return (recorded("error") != Some(&fault.text)).then_some(fault.text);
    }
    let (mut text, mut pretty) = (String::new(), String::new());
    json::write(&parsed.value, &mut text);
    json::pretty(&parsed.value, &mut pretty);
    // Ruby leaves DEL as it is; nothing that is active leaves hierad so.
    let differs = |recorded: &str, text: &str| visible_json(recorded) != text;
    if recorded("value").is_none_or(|recorded| differs(recorded, &text)) {
        return Some(text);
    }
    recorded("pretty").is_some_and(|recorded| differs(recorded, &pretty)).then_some(pretty)
}

#[test]
fn json_is_read_and_written_as_by_puppet() {
    let cases = cases("json.ndjson");
    assert!(cases.len() > 200);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(input, case)| Some(format!("{case}\n  here: {}", difference(input, case)?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn json_marks_are_lines() {
    let marks = json::parse(b"// first\n{\"a\": 1,\n \"b\": [2,\n  3], \"a\": 4}").marks;
    let line_of_a = marks.children[0].line;
    let lines_of_b: Vec<u32> = marks.children[1].children.iter().map(|item| item.line).collect();
    assert_eq!((marks.line, line_of_a, marks.children[1].line, lines_of_b), (2, 4, 3, vec![3, 4]));
}
