//! Rows of answers, and the profiles that they become.
//!
//! Values are copied as they are written, so that no number changes on the way.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use serde_json::value::RawValue;

use super::query::fact;

/// A row: its columns by their names.
pub(super) type Row<'a> = BTreeMap<String, &'a RawValue>;

/// Profiles, one a line.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: Vec<u8>,
    names: HashSet<String, RandomState>,
}

impl Lines {
    /// Returns the number of profiles.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// Adds the node `name` of a row. Returns false if it is there already.
    pub(super) fn add(&mut self, name: String, row: &Row<'_>) -> Result<bool, String> {
        if self.names.contains(&name) {
            return Ok(false);
        }
        let mut line = Line::new(&mut self.text);
        line.text("name", &name);
        for column in ["environment", "timestamp"] {
            if let Some(value) = row.get(column) {
                line.value(column, value);
            }
        }
        add_facts(&mut line, row).map_err(|error| format!("{name}: {error}"))?;
        line.end();
        self.names.insert(name);
        Ok(true)
    }
}

/// Returns the certname of a row, or `None` if it has none.
pub(super) fn certname(row: &Row<'_>) -> Option<String> {
    let name: String = serde_json::from_str(row.get("certname")?.get()).ok()?;
    (!name.is_empty()).then_some(name)
}

/// Adds facts and trusted data. `PuppetDB` also lists trusted data as a fact `trusted`, which no node really has.
fn add_facts(line: &mut Line<'_>, row: &Row<'_>) -> serde_json::Result<()> {
    let mut facts: Row<'_> = match row.get("facts") {
        Some(facts) => serde_json::from_str(facts.get())?,
        None => row.iter().filter_map(|(name, value)| Some((fact(name)?.to_owned(), *value))).collect(),
    };
    if facts.len() <= 2 && facts.contains_key("data") {
        facts = factset(facts["data"])?;
    }
    let trusted = facts.remove("trusted");
    if let Some(trusted) = row.get("trusted").copied().or(trusted) {
        line.value("trusted", trusted);
    }
    line.hash("facts", facts.iter());
    Ok(())
}

/// Returns the facts of a factset, which lists them one by one.
fn factset(data: &RawValue) -> serde_json::Result<Row<'_>> {
    #[derive(serde::Deserialize)]
    struct Fact<'a> {
        name: String,
        #[serde(borrow)]
        value: &'a RawValue,
    }
    let facts: Vec<Fact<'_>> = serde_json::from_str(data.get())?;
    Ok(facts.into_iter().map(|fact| (fact.name, fact.value)).collect())
}

/// A line that is being written: a JSON object.
struct Line<'a> {
    text: &'a mut Vec<u8>,
}

impl Line<'_> {
    fn new(text: &mut Vec<u8>) -> Line<'_> {
        text.push(b'{');
        Line { text }
    }

    fn name(&mut self, name: &str) {
        if self.text.last() != Some(&b'{') {
            self.text.push(b',');
        }
        push_text(self.text, name);
        self.text.push(b':');
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        push_text(self.text, value);
    }

    /// Adds a value, unless it is null, which stands for none.
    fn value(&mut self, name: &str, value: &RawValue) {
        if value.get() != "null" {
            self.name(name);
            push_value(self.text, value.get());
        }
    }

    fn hash<'r>(&mut self, name: &str, entries: impl Iterator<Item = (&'r String, &'r &'r RawValue)>) {
        self.name(name);
        let mut inner = Line::new(self.text);
        entries.for_each(|(name, value)| inner.value(name, value));
        self.text.push(b'}');
    }

    fn end(self) {
        self.text.extend(b"}\n");
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    _ = serde_json::to_writer(out, text);
}

/// Copies a JSON value without the white space between its parts, which may contain line breaks.
fn push_value(out: &mut Vec<u8>, value: &str) {
    if !value.contains('\n') {
        out.extend(value.as_bytes());
        return;
    }
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in value.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b' ' | b'\n' | b'\r' | b'\t' if !is_text => continue,
            _ => {}
        }
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(row: &str) -> String {
        let row: Row<'_> = serde_json::from_str(row).unwrap();
        let mut lines = Lines::default();
        assert!(lines.add(certname(&row).unwrap(), &row).unwrap());
        assert!(!lines.add(certname(&row).unwrap(), &row).unwrap(), "once more");
        String::from_utf8(lines.text).unwrap()
    }

    #[test]
    fn values_are_copied_as_written() {
        let row = r#"{"certname":"a","environment":null,"trusted":{"certname":"a"},"facts.n":123456789012345678901234567890.10,
            "facts.none":null,"facts.text":"a \" b\n","facts.spaced":{
              "k": [1,
                "x y"] }}"#;
        let facts = r#""n":123456789012345678901234567890.10,"spaced":{"k":[1,"x y"]},"text":"a \" b\n""#;
        assert_eq!(line(row), format!("{{\"name\":\"a\",\"trusted\":{{\"certname\":\"a\"}},\"facts\":{{{facts}}}}}\n"));
    }

    #[test]
    fn trusted_data_is_no_fact() {
        let expected = "{\"name\":\"a\",\"environment\":\"e\",\"trusted\":{\"x\":1},\"facts\":{\"os\":2}}\n";
        let inventory = r#"{"certname":"a","environment":"e","trusted":{"x":1},"facts":{"os":2,"trusted":{"x":1}}}"#;
        let data = r#"[{"name":"os","value":2},{"name":"trusted","value":{"x":1}}]"#;
        let factset = format!(r#"{{"certname":"a","environment":"e","facts":{{"href":"/x","data":{data}}}}}"#);
        for row in [inventory, &factset] {
            assert_eq!(line(row), expected);
        }
    }
}
