//! A forge's API as its description has it: `tests/forge`.

use std::path::Path;

use serde_json::Value as Json;

/// One operation.
pub(super) struct Operation(Json);

/// The arguments of a request: those of the path in their order, and the query.
pub(super) struct Arguments {
    /// The name of the server, as the client has it.
    pub(super) host: String,
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
}

/// Reads the description of a forge.
pub(super) fn operations(name: &str) -> Vec<Operation> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forge").join(format!("{name}.json"));
    let read: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    read["operations"].as_array().unwrap().iter().cloned().map(Operation).collect()
}

impl Operation {
    pub(super) fn id(&self) -> &str {
        self.0["id"].as_str().unwrap()
    }

    /// Returns the arguments if a request is for this operation, or an error if they are not allowed.
    pub(super) fn matches(&self, method: &str, target: &str) -> Option<Result<Arguments, String>> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pattern: Vec<&str> = self.0["path"].as_str().unwrap().split('/').collect();
        let given: Vec<&str> = path.split('/').collect();
        if self.0["method"] != method || pattern.len() != given.len() {
            return None;
        }
        let mut found = Vec::new();
        for (pattern, given) in pattern.iter().zip(given) {
            match pattern.strip_prefix('{') {
                Some(name) => found.push((name.trim_end_matches('}'), decoded(given))),
                None if *pattern != given => return None,
                None => {}
            }
        }
        Some(self.arguments(&found, query))
    }

    fn arguments(&self, path: &[(&str, String)], query: &str) -> Result<Arguments, String> {
        for (name, value) in path {
            self.parameter(name, "path", value)?;
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), decoded(value))
        };
        let query: Vec<(String, String)> = pairs.map(pair).collect();
        for (name, value) in &query {
            self.parameter(name, "query", value)?;
        }
        Ok(Arguments { host: String::new(), path: path.iter().map(|(_, value)| value.clone()).collect(), query })
    }

    fn parameter(&self, name: &str, place: &str, value: &str) -> Result<(), String> {
        let all = self.0["parameters"].as_array().unwrap();
        let known = all.iter().find(|parameter| parameter["name"] == name && parameter["in"] == place);
        let schema = &known.ok_or_else(|| format!("no parameter {name} in the {place}"))?["schema"];
        let value = if schema["type"] == "integer" {
            value.parse::<u64>().map(Json::from).map_err(|_| format!("{name} is no number: {value}"))?
        } else {
            Json::from(value)
        };
        check(schema, &value, true, name)
    }

    /// Fails unless the body of a request is allowed.
    pub(super) fn check_body(&self, body: &[u8]) -> Result<Json, String> {
        let Some(schema) = self.0.get("body") else {
            return if body.is_empty() { Ok(Json::Null) } else { Err("this takes no body".to_owned()) };
        };
        let body: Json = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        check(schema, &body, true, "body")?;
        Ok(body)
    }

    /// Returns the status of success and the example of its body.
    pub(super) fn success(&self) -> (u16, Json) {
        let (status, answer) = self.0["answers"].as_object().unwrap().iter().next().unwrap();
        (status.parse().unwrap(), answer["example"].clone())
    }

    /// Fails unless an answer is as described.
    pub(super) fn check_answer(&self, answer: &Json) {
        let (_, described) = self.0["answers"].as_object().unwrap().iter().next().unwrap();
        if !described.is_null() {
            check(&described["schema"], answer, false, "answer")
                .unwrap_or_else(|wrong| panic!("{}: {wrong}", self.id()));
        }
    }
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&more[..2]).unwrap(), 16).unwrap());
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Fails unless a value is as a schema says; if `strict`, it may have no property that the schema does not name.
pub(super) fn check(schema: &Json, value: &Json, strict: bool, place: &str) -> Result<(), String> {
    if value.is_null() && schema["nullable"] == true {
        return Ok(());
    }
    for (name, is_all) in [("oneOf", false), ("anyOf", false), ("allOf", true)] {
        let Some(parts) = schema[name].as_array() else { continue };
        // The parts of a choice name what is required; the whole names what there is.
        let passed = parts.iter().filter(|part| check(part, value, false, place).is_ok()).count();
        if passed == 0 || (is_all && passed < parts.len()) {
            return Err(format!("{place} fits no {name}: {value}"));
        }
    }
    let is_right = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    if !is_right {
        return Err(format!("{place} must be {}: {value}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return Err(format!("{place} must be one of {}: {value}", schema["enum"]));
    }
    let over = |limit: &str, length: usize| schema[limit].as_u64().is_some_and(|most| length as u64 > most);
    if over("maxLength", value.as_str().map_or(0, |text| text.chars().count()))
        || over("maxItems", value.as_array().map_or(0, Vec::len))
        || over("maximum", usize::try_from(value.as_u64().unwrap_or_default()).unwrap())
    {
        return Err(format!("{place} is too long"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        if value.get(name).is_none() {
            return Err(format!("{place} lacks {name}"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => check(schema, inner, strict, &format!("{place}.{name}"))?,
            None if strict && schema["properties"].is_object() => return Err(format!("{place} has no {name}")),
            None => {}
        }
    }
    if let Some(schema) = schema.get("items") {
        for item in value.as_array().into_iter().flatten() {
            check(schema, item, strict, &format!("{place}[]"))?;
        }
    }
    Ok(())
}
