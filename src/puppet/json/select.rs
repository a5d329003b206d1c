//! Reads parts of JSON documents, fast: most of a node's facts are never looked at.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::value::{Picked, Selection, Value};

/// The maximum nesting depth of wanted values. Deeper ones are left to the exact reader, which has its own limit.
const MAX_NESTING: usize = 90;

/// Reads the part of a document that `selection` wants, as [`parse`](super::parse) reads it. The rest is skipped, but
/// the first skipped entry of a hash stays as undef, to show that there was one. Returns `None` if the document needs
/// the exact reader.
pub fn select(content: &[u8], selection: &Selection) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_slice(content);
    let value = PartlyWanted { selection, depth: 0 }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// A value that is only read in part.
#[derive(Clone, Copy)]
struct PartlyWanted<'a> {
    selection: &'a Selection,
    depth: usize,
}

impl<'a> PartlyWanted<'a> {
    fn inside<E: Error>(self, selection: &'a Selection) -> Result<PartlyWanted<'a>, E> {
        let depth = self.depth + 1;
        if depth > MAX_NESTING { Err(E::custom("too deep")) } else { Ok(PartlyWanted { selection, depth }) }
    }
}

impl<'de> DeserializeSeed<'de> for PartlyWanted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Refuses floats and large integers: the exact reader converts them as Ruby does.
impl<'de> Visitor<'de> for PartlyWanted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that is read alike by all")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Undef)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Integer).map_err(E::custom)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inside(&Selection::Whole)?;
        let mut values = Vec::new();
        if matches!(self.selection, Selection::Entries(entries) if entries.is_empty()) {
            // Only the existence of the array is wanted.
            while items.next_element_seed(Skipped(self.depth + 1))?.is_some() {}
            return Ok(Value::array(values));
        }
        while let Some(item) = items.next_element_seed(inner)? {
            values.push(item);
        }
        Ok(Value::array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut picked = Picked::new(self.selection);
        while let Some(Key(key)) = entries.next_key()? {
            if let Some(selection) = self.selection.entry(&key) {
                let value = entries.next_value_seed(self.inside(selection)?)?;
                picked.add(&*key, value);
            } else {
                entries.next_value_seed(Skipped(self.depth + 1))?;
                picked.leave_out(&key);
            }
        }
        Ok(Value::hash(picked.hash()))
    }
}

/// A skipped value at this depth. Anything that the exact reader may refuse is left to it.
#[derive(Clone, Copy)]
struct Skipped(usize);

impl<'de> DeserializeSeed<'de> for Skipped {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that is accepted by all")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    /// Refuses large numbers: an integer with very many digits looks like a float, too.
    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if value.abs() < 1e18 { Ok(()) } else { Err(E::custom("large")) }
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.inside()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inner = self.inside()?;
        while entries.next_key_seed(inner)?.is_some() {
            entries.next_value_seed(inner)?;
        }
        Ok(())
    }
}

impl Skipped {
    fn inside<E: Error>(self) -> Result<Skipped, E> {
        if self.0 >= MAX_NESTING { Err(E::custom("too deep")) } else { Ok(Skipped(self.0 + 1)) }
    }
}

/// A name, copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::json;

    #[test]
    fn what_is_selected_is_what_the_exact_reader_reads() {
        let documents = [
            r#"{"a": 1, "b": {"c": "x\ny\u00e9\ud83d\ude00", "d": [1, null, true, {"e": ""}]}, "a": 2}"#,
            r#" [ -1 , 9223372036854775807, "\"\\\/" ] "#,
            "{}",
            "null",
            r#""text""#,
        ];
        for document in documents {
            let exact = json::parse(document.as_bytes());
            assert_eq!(select(document.as_bytes(), &Selection::Whole), Some(exact.value), "{document}");
        }
        let left_to_it = [
            "1.5",
            "[-0]",
            "9223372036854775808",
            "/**/1",
            r#""\q""#,
            r#""\ud800""#,
            "{\"a\": \"\u{1}\"}",
            "{} x",
            "{\"a\"",
        ];
        for document in left_to_it {
            assert_eq!(select(document.as_bytes(), &Selection::Whole), None, "{document}");
        }
    }

    #[test]
    fn what_is_passed_over_is_checked() {
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100), "]".repeat(100));
        let many_digits = format!("{{\"a\": {}}}", "1".repeat(30_000));
        for document in
            [deep.as_str(), &many_digits, r#"{"a": "\ud800"}"#, r#"{"a": [{"\ud800": 1}]}"#, "{\"a\": \"\u{1}\"}"]
        {
            assert_eq!(select(document.as_bytes(), &Selection::default()), None, "{document:.40}");
        }
    }

    #[test]
    fn what_is_not_wanted_is_passed_over() {
        let mut selection = Selection::default();
        selection.add(&["os", "family"]);
        selection.add(&["list", "x"]);
        let document =
            r#"{"os": {"family": "Debian", "release": {"major": 12.5}, "name": 1e9}, "list": [1], "up": 0.1}"#;
        let expected = r#"{"os": {"family": "Debian", "release": null}, "list": [1], "up": null}"#;
        assert_eq!(select(document.as_bytes(), &selection), Some(json::parse(expected.as_bytes()).value));
    }
}
