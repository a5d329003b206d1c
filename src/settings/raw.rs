//! hierad.yaml as written.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash of settings")]
pub(super) struct Settings {
    pub(super) profiles: OneOrMany,
    pub(super) hiera_config: Option<String>,
    pub(super) environment: Option<String>,
    pub(super) puppet: Option<u64>,
    pub(super) global_hiera_config: Option<String>,
    pub(super) datadirs: BTreeMap<String, String>,
    pub(super) backends: BTreeMap<String, Backend>,
    pub(super) branches: OneOrMany,
}

/// A declared function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {not_found: true} or {values: FILE}")]
pub(super) struct Backend {
    pub(super) not_found: Option<bool>,
    pub(super) values: Option<String>,
    pub(super) command: Option<Vec<String>>,
}

/// A text or a list of texts.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> OneOrMany {
        OneOrMany::Many(Vec::new())
    }
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}
