//! The promises of `docs/security.md`: whose they are, what they keep, and the tests that hold them.

use std::fs;

use regex::Regex;

use super::pages::{page, root};

const WHO: [&str; 6] = ["T", "P", "F", "H", "N", "L"];
const WHAT: [&str; 7] = ["Code", "Files", "Values", "Verdict", "Policies", "Reports", "Machine"];

/// A promise as the page has it.
struct Promise<'p> {
    /// The heading of its list.
    what: &'p str,
    /// Its text with the tests below it, in one line.
    text: String,
}

/// Returns the promises of a page: the items of the lists below its heading "Promises".
fn promises(page: &str) -> Vec<Promise<'_>> {
    let (mut promises, mut what) = (Vec::<Promise>::new(), "");
    let lines = page.lines().skip_while(|line| *line != "## Promises").skip(1);
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        if let Some(heading) = line.strip_prefix("### ") {
            what = heading;
        } else if line.starts_with("- ") && !what.is_empty() {
            promises.push(Promise { what, text: line.to_owned() });
        } else if let Some(promise) = promises.last_mut() {
            promise.text += line;
        }
    }
    promises
}

#[test]
fn each_promise_has_a_test_that_is_there() {
    let page = page("docs/security.md");
    let promises = promises(&page);
    assert!(promises.len() > 80, "{}", promises.len());
    let form = Regex::new(r"^- \*\*([A-Z, ]+):\*\* (.+?)  - (`.+)$").unwrap();
    let word = Regex::new("`([^`]+)`").unwrap();
    let mut wrong = Vec::new();
    for Promise { what, text: promise } in promises {
        let parts = form.captures(&promise).unwrap_or_else(|| panic!("no promise: {promise}"));
        let is_known = parts[1].split(", ").all(|who| WHO.contains(&who)) && WHAT.contains(&what);
        let (mut text, mut count) = (String::new(), 0);
        for name in word.captures_iter(&parts[3]) {
            if name[1].contains('/') {
                text = fs::read_to_string(root().join(&name[1])).unwrap_or_default();
                count += usize::from(text.contains("#[test]"));
            } else if !text.contains(&format!("fn {}(", &name[1])) {
                wrong.push(format!("no test {}: {promise}", &name[1]));
            }
        }
        if !is_known || count == 0 {
            wrong.push(promise);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
