//! JSON read exactly: `1` is not `1.0`, integers have any size, the order of entries counts.
//!
//! On purpose not the library's own reader: that is under test.

use std::fmt;

/// One JSON value.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// An integer's digits.
    Integer(String),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, in order.
    Map(Vec<(String, Json)>),
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Word(a), Json::Word(b)) => a == b,
            (Json::Integer(a), Json::Integer(b)) | (Json::Text(a), Json::Text(b)) => a == b,
            (Json::Float(a), Json::Float(b)) => a.to_bits() == b.to_bits(),
            (Json::List(a), Json::List(b)) => a == b,
            (Json::Map(a), Json::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Word(word) => f.write_str(word),
            Json::Integer(digits) => f.write_str(digits),
            Json::Float(float) => write!(f, "{float:?}"),
            Json::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
            Json::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Json::Map(entries) => {
                f.write_str("{")?;
                for (number, (key, value)) in entries.iter().enumerate() {
                    let comma = if number == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {value}", serde_json::Value::from(key.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}

impl Json {
    /// Reads one document.
    pub(crate) fn read(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at == text.len() { Ok(value) } else { Err(reader.fault("the end")) }
    }

    /// The value of an object's key.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Map(entries) => entries.iter().find(|(other, _)| other == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// An object's entries; none of other values.
    pub(crate) fn entries(&self) -> &[(String, Json)] {
        if let Json::Map(entries) = self { entries } else { &[] }
    }

    /// An array's items; none of other values.
    pub(crate) fn items(&self) -> &[Json] {
        if let Json::List(items) = self { items } else { &[] }
    }

    /// A string's text; empty of other values.
    pub(crate) fn text(&self) -> &str {
        if let Json::Text(text) = self { text } else { "" }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn fault(&self, expected: &str) -> String {
        let near: String = self.text[self.at..].chars().take(30).collect();
        format!("JSON: expected {expected} at byte {}, found {near:?}", self.at)
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn value(&mut self) -> Result<Json, String> {
        for word in ["null", "true", "false"] {
            if self.eat(word) {
                return Ok(Json::Word(word));
            }
        }
        if self.eat("[") {
            let mut items = Vec::new();
            self.sequence("]", |reader| {
                items.push(reader.value()?);
                Ok(())
            })?;
            return Ok(Json::List(items));
        }
        if self.eat("{") {
            let mut entries = Vec::new();
            self.sequence("}", |reader| {
                reader.space();
                let key = reader.string()?;
                if !reader.eat(":") {
                    return Err(reader.fault("a colon"));
                }
                entries.push((key, reader.value()?));
                Ok(())
            })?;
            return Ok(Json::Map(entries));
        }
        if self.text[self.at..].starts_with('"') { Ok(Json::Text(self.string()?)) } else { self.number() }
    }

    fn sequence(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.eat(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(end) {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.fault("a comma"));
            }
        }
    }

    /// Escapes are left to a reader that has them right; only the end of the string has to be found here.
    fn string(&mut self) -> Result<String, String> {
        let rest = &self.text[self.at..];
        if !rest.starts_with('"') {
            return Err(self.fault("a string"));
        }
        let mut escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let end = end.ok_or_else(|| self.fault("the end of a string"))? + 2;
        self.at += end;
        serde_json::from_str(&rest[..end]).map_err(|fault| fault.to_string())
    }

    fn number(&mut self) -> Result<Json, String> {
        let rest: &'a str = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(rest.len());
        let digits = &rest[..end];
        let number = if digits.contains(['.', 'e', 'E']) {
            digits.parse().map(Json::Float).ok()
        } else {
            digits.contains(|c: char| c.is_ascii_digit()).then(|| Json::Integer(digits.to_owned()))
        };
        let number = number.ok_or_else(|| self.fault("a value"))?;
        self.at += end;
        Ok(number)
    }
}
