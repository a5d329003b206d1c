//! Places inside a value: `ntp::servers[1]`, `users.bob.uid`.

use std::fmt;

use super::{Secrecy, Value};

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A hash entry, by its key.
    Key(Value),
    /// An array item, by its position.
    Index(usize),
}

/// A place inside the value of a key; empty for the value itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ValuePath(pub Vec<Segment>);

impl ValuePath {
    /// This place's child.
    #[must_use]
    pub fn child(&self, segment: Segment) -> ValuePath {
        let mut segments = self.0.clone();
        segments.push(segment);
        ValuePath(segments)
    }

    /// Returns the value at this place of `root`.
    pub fn value_in<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, segment| match (segment, value) {
            (Segment::Key(k), Value::Hash(h)) => h.get_value(k),
            (Segment::Index(i), Value::Array(a)) => a.get(*i),
            _ => None,
        })
    }

    /// Returns the secrecy of the names on the way, or `None` if none is a secret.
    pub fn secrecy(&self) -> Option<Secrecy> {
        let name = |segment: &Segment| match segment {
            Segment::Key(key) => key.secrecy(),
            Segment::Index(_) => None,
        };
        self.0.iter().map(name).fold(None, Secrecy::join)
    }

    /// Returns `root` with `secrecy` applied to the value at this place. The names on the way to it become as secret
    /// as they are in this path.
    pub fn seal(&self, root: &Value, secrecy: Option<Secrecy>) -> Value {
        seal(&self.0, root, secrecy)
    }

    /// Returns the place, written after the name of its key like Puppet's dotted keys: `key.entry[0]`.
    pub fn below(&self, key: &str) -> String {
        format!("{key}{self}")
    }
}

fn seal(path: &[Segment], value: &Value, secrecy: Option<Secrecy>) -> Value {
    let Some((segment, rest)) = path.split_first() else { return value.sealed(secrecy) };
    match (segment, value) {
        (Segment::Index(i), Value::Array(items)) => {
            let item = |(at, item): (usize, &Value)| if at == *i { seal(rest, item, secrecy) } else { item.clone() };
            items.iter().enumerate().map(item).collect()
        }
        (Segment::Key(name), Value::Hash(hash)) => {
            let entry = |(key, value): (&Value, &Value)| match key == name {
                true if key.secrecy().is_none() => (key.sealed(name.secrecy()), seal(rest, value, secrecy)),
                true => (key.clone(), seal(rest, value, secrecy)),
                false => (key.clone(), value.clone()),
            };
            Value::hash(hash.iter().map(entry).collect())
        }
        _ => value.clone(),
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Index(i) => write!(f, "[{i}]")?,
                Segment::Key(Value::String(s)) if is_plain(s.visible()) => write!(f, ".{}", s.visible())?,
                Segment::Key(Value::String(s)) => write!(f, ".{}", quote(s.visible()))?,
                Segment::Key(other) => write!(f, ".{}", other.inspect())?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '\'', '"', '[', ']', ' ', '\n', '\t'])
}

/// Quotes in dotted keys have no escapes, so a key that single quotes cannot hold is shown as Ruby's `inspect` does.
fn quote(key: &str) -> String {
    if !key.contains('\'') && !key.chars().any(char::is_control) {
        format!("'{key}'")
    } else {
        Value::from(key).inspect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_a_dotted_key() {
        let path = ValuePath(vec![
            Segment::Key("bob".into()),
            Segment::Index(1),
            Segment::Key("a.b".into()),
            Segment::Key(Value::Integer(5)),
        ]);
        assert_eq!(path.below("users"), "users.bob[1].'a.b'.5");
    }
}
