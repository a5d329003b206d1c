//! Reads the HTML of views, as far as the tests need it.

use regex::Regex;

/// The texts of all elements that a pattern finds, without tags.
pub(super) fn all(document: &str, pattern: &str) -> Vec<String> {
    let pattern = Regex::new(&format!("(?s){pattern}")).unwrap();
    pattern.captures_iter(document).map(|found| text(found.get(1).unwrap().as_str())).collect()
}

/// The rows of the table with this class, each with its cells.
pub(super) fn rows(document: &str, class: &str) -> Vec<Vec<String>> {
    let table = Regex::new(&format!("(?s)<table class=\"{class}\">(.*?)</table>")).unwrap();
    let row = Regex::new("(?s)<tr[^>]*>(.*?)</tr>").unwrap();
    let cell = Regex::new("(?s)<t[hd][^>]*>(.*?)</t[hd]>").unwrap();
    let Some(table) = table.captures_iter(document).last() else { return Vec::new() };
    let body = table[1].split_once("<tbody>").unwrap().1;
    let cells = |row: &str| cell.captures_iter(row).map(|cell| cell[1].to_owned()).collect();
    row.captures_iter(body).map(|row| cells(&row[1])).collect()
}

/// A text without tags.
pub(super) fn text(html: &str) -> String {
    let bare = Regex::new("(?s)<[^>]*>").unwrap().replace_all(html, "").into_owned();
    bare.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The value of a cell: the last of the texts that it has, as JSON, or its error.
pub(super) fn value(cell: &str) -> Result<serde_json::Value, String> {
    let codes = all(cell, "<code>(.*?)</code>");
    let last = codes.last().unwrap();
    if ["fails", "unknown"].iter().any(|word| cell.contains(&format!("{word}</span>"))) {
        Err(last.clone())
    } else {
        Ok(serde_json::from_str(last).unwrap())
    }
}
