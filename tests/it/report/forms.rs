//! The forms of reports for programs and browsers: JSON as its schema has it, HTML that no data can break.

use std::sync::LazyLock;

use hierad::report::Report;
use hierad::report::writers::html;
use serde_json::{Map, Value as Json};

use crate::support::schema::Schema;

/// The published schema, but with no other fields than it describes.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut schema = serde_json::from_str(include_str!("../../../docs/diff.schema.json")).unwrap();
    close(&mut schema);
    Schema::new(schema)
});

/// Forbids fields that a schema does not describe, in all its objects.
fn close(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            map.values_mut().for_each(close);
            if map.get("properties").is_some_and(|properties| !properties.is_array())
                && map.get("type") == Some(&"object".into())
            {
                map.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Json::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Checks that the JSON form of a report is as the schema says.
pub(crate) fn check_schema(json: &str) {
    SCHEMA.check(&serde_json::from_str(json).unwrap());
}

/// Returns the HTML form.
pub(super) fn page(report: &Report, budget: usize) -> String {
    let mut out = Vec::new();
    html::write(report, &html::Options { budget, ..html::Options::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Data that would be markup, or end the element or script that it is in.
pub(super) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&amp;<!--<script>";

pub(super) fn hostile() -> Report {
    let yaml = Json::Object(Map::from_iter([
        ("nodes".to_owned(), vec![HOSTILE].into()),
        ("before".to_owned(), serde_json::json!({ "*": { (HOSTILE): { "value": HOSTILE } } })),
        ("after".to_owned(), serde_json::json!({ "*": { (HOSTILE): { "value": [HOSTILE] } } })),
        ("commits".to_owned(), serde_json::json!({"after": {"id": HOSTILE, "summary": HOSTILE, "author": HOSTILE}})),
        ("branch".to_owned(), HOSTILE.into()),
    ]));
    super::report(&serde_yaml::to_value(yaml).unwrap())
}

#[test]
fn data_is_no_markup_in_html() {
    let page = page(&hostile(), usize::MAX);
    let ours = ["<!DOCTYPE html>", "<script type=\"application/json\" id=\"nodes\">", "<script>"];
    let begun: Vec<&str> =
        page.match_indices("<script").map(|(at, _)| page[at..].split_inclusive('>').next().unwrap()).collect();
    assert_eq!(begun, ours[1..]);
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("<!").count(), 1);
    assert!(!page.contains("<img"), "{page}");
    let names = page.split_once("id=\"nodes\">").unwrap().1.split_once("</script>").unwrap().0;
    assert_eq!(serde_json::from_str::<Vec<String>>(names).unwrap(), [HOSTILE]);
}

#[test]
fn pages_over_their_budget_count_what_is_left_out() {
    let page = page(&hostile(), 10);
    assert!(page.contains("<b>1 more group</b> of 1 change would make this page too large"), "{page}");
}

#[test]
fn lists_are_part_of_the_budget_of_a_page() {
    let finding = |n: usize| serde_json::json!({"code": "code", "text": format!("{HOSTILE} {n}"), "nodes": 1});
    let findings: Vec<Json> = (0..5_000).map(finding).collect();
    let yaml = serde_json::json!({ "nodes": ["a"], "before": {}, "after": {}, "findings": { "after": findings } });
    let report = super::report(&serde_yaml::to_value(yaml).unwrap());
    let fixed = page(&report, 0).len();
    for budget in [20_000, 200_000] {
        let page = page(&report, fixed + budget);
        assert!(page.len() <= fixed + budget && page.contains(" more</b>") && page.contains("5,000 new findings"));
    }
    assert!(!page(&report, usize::MAX).contains(" more</b>"));
}
