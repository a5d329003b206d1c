//! The promises of `docs/security.md`: whose they are, what they keep, and the tests that hold them.

use std::fs;

use regex::Regex;

use super::pages::{page, root};

const WHO: [&str; 6] = ["T", "P", "F", "H", "N", "L"];
const WHAT: [&str; 7] = ["code", "files", "values", "verdict", "policies", "reports", "machine"];

#[test]
fn each_promise_has_a_test_that_is_there() {
    let security = page("docs/security.md");
    let rows = security.lines().skip_while(|line| !line.starts_with("| who | what | what holds |")).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 80, "{}", rows.len());
    let word = Regex::new("`([^`]+)`").unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [who, what, _, tests] = cells[..] else { panic!("{} cells: {row}", cells.len()) };
        let is_known = who.trim_start_matches("| ").split(", ").all(|who| WHO.contains(&who)) && WHAT.contains(&what);
        let (mut text, mut count) = (String::new(), 0);
        for name in word.captures_iter(tests) {
            if name[1].contains('/') {
                text = fs::read_to_string(root().join(&name[1])).unwrap_or_default();
                count += usize::from(text.contains("#[test]"));
            } else if !text.contains(&format!("fn {}(", &name[1])) && &name[1] != "verify" {
                wrong.push(format!("no test {}: {row}", &name[1]));
            }
        }
        if !is_known || count == 0 {
            wrong.push((*row).to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
