//! Parts of values as JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use super::BlamedPart;
use crate::fleet::Fleet;
use crate::puppet::json::compact;
use crate::visible::visible_json;

impl BlamedPart {
    /// Returns the part as one line of JSON, in which no character hides others. `fleet` has its nodes.
    pub fn to_json(&self, fleet: &Fleet) -> serde_json::Result<String> {
        let place = self.origin.as_ref().map(|origin| &origin.place);
        let wire = Wire {
            key: &self.key,
            path: self.path.below(&self.key),
            value: self.value.as_ref().ok().map(compact).map(RawValue::from_string).transpose()?,
            error: self.value.as_ref().err().map(ToString::to_string),
            varies: self.varies,
            nodes: fleet.names(&self.nodes).map(|name| &**name).collect(),
            commit: self.commit.id.to_string(),
            boundary: self.is_boundary,
            author: &self.commit.author,
            time: self.commit.time.to_string(),
            summary: &self.commit.summary,
            file: place.map(|place| &*place.path),
            line: place.and_then(|place| place.line),
            level: self.origin.as_ref().map(|origin| &*origin.level),
        };
        Ok(visible_json(&serde_json::to_string(&wire)?).into_owned())
    }
}

/// The members of a part.
#[derive(Serialize)]
struct Wire<'a> {
    key: &'a str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Left out where it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    varies: bool,
    nodes: Vec<&'a str>,
    commit: String,
    boundary: bool,
    author: &'a str,
    time: String,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'a str>,
}
