//! The last catalogs of nodes: their classes and, if the server records them, the keys that were looked up.
//!
//! They are requested for some nodes at a time, by name. So each answer contains whole nodes and has a bounded size,
//! and the server need not sort the resources of all nodes for each page.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::PATH;
use crate::hiera::class_of_parameter;
use crate::inventory::FetchError;
use crate::inventory::sources::http::Http;
use crate::node::{Catalog, Names};

/// The maximum number of nodes in a request. They have some 50,000 classes, and half a million keys.
const MAX_NODES: usize = 250;

/// The remedy if the server does not know such queries.
const ADVICE: &str = "it does not know the classes of nodes: remove 'classes' of 'puppetdb'";

/// A class of a node, or a key that was looked up for it.
#[derive(Deserialize)]
struct Row {
    certname: String,
    #[serde(alias = "title")]
    name: String,
}

/// A line with a profile.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Returns profiles, one per line, with what is known about the nodes' catalogs. A node without a catalog is
/// unchanged.
pub(super) async fn with_catalogs(http: &Http, lines: &[u8]) -> Result<Vec<u8>, FetchError> {
    let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let (has_records, mut whole) = (has_records(http).await?, Vec::new());
    for lines in lines.chunks(MAX_NODES) {
        let name = |line: &&[u8]| Some(serde_json::from_slice::<Named>(line).ok()?.name);
        let names: Vec<Option<String>> = lines.iter().map(name).collect();
        let catalogs = fetch_catalogs(http, &names, has_records).await?;
        for (line, name) in lines.iter().zip(names) {
            let catalog = name.and_then(|name| catalogs.get(&name));
            let (Some(Catalog { classes, keys }), Some((_, inside))) = (catalog, line.split_last()) else {
                whole.extend_from_slice(line);
                whole.push(b'\n');
                continue;
            };
            whole.extend_from_slice(inside);
            for (field, names) in [("catalog_classes", classes), ("catalog_keys", keys)] {
                let Some(names) = names else { continue };
                let names: Vec<&str> = names.iter().collect();
                whole.extend_from_slice(format!(",\"{field}\":{}", json!(names)).as_bytes());
            }
            whole.extend_from_slice(b"}\n");
        }
    }
    Ok(whole)
}

/// Asks for the catalogs of some nodes. Only a node without one is missing from the answer: each catalog has a class,
/// `main`.
async fn fetch_catalogs(
    http: &Http,
    names: &[Option<String>],
    has_records: bool,
) -> Result<BTreeMap<String, Catalog>, FetchError> {
    let names: Vec<&String> = names.iter().flatten().collect();
    let of_these = json!(["in", "certname", ["array", names]]);
    let classes = json!(["extract", ["certname", "title"], ["and", ["=", "type", "Class"], of_these]]);
    let classes = by_node(rows(http, json!(["from", "resources", classes])).await.map_err(with_advice)?);
    let keys = if has_records { by_node(rows(http, lookups_query(&of_these)).await?) } else { BTreeMap::new() };
    let catalog = |(certname, titles): (String, Vec<String>)| {
        let classes = Names::of_classes(titles.iter().map(String::as_str));
        let keys = keys.get(&certname).map(|keys| without_parameters(&classes, keys));
        (certname, Catalog { classes: Some(classes), keys })
    };
    Ok(classes.into_iter().map(catalog).collect())
}

/// Returns the query for the keys that were looked up for the last catalogs of some nodes. Records of other catalogs
/// are left out: not every catalog is sent with one.
fn lookups_query(of_these: &Json) -> Json {
    let last = json!(["from", "catalogs", ["extract", ["certname", "catalog_uuid"], of_these]]);
    let of_last = json!(["in", ["certname", "catalog_uuid"], last]);
    let keys = json!(["and", ["=", "type", "hiera"], of_these, of_last]);
    json!(["from", "catalog_input_contents", ["extract", ["certname", "name"], keys]])
}

/// Returns the keys that belong to no parameter of these classes: lookups of parameters are implied, and there are
/// thousands.
fn without_parameters(classes: &Names, keys: &[String]) -> Names {
    let classes: Vec<&str> = classes.iter().collect();
    let is_of_these = |key: &str| class_of_parameter(key).is_some_and(|class| classes.binary_search(&class).is_ok());
    Names::of_keys(keys.iter().map(String::as_str).filter(|key| !is_of_these(key)))
}

/// Returns true if the server has records of lookups. Servers before 6.5 do not support them, and later ones have
/// them only if a Puppet server sends them.
async fn has_records(http: &Http) -> Result<bool, FetchError> {
    let any_record = json!(["from", "catalog_input_contents", ["extract", ["certname", "name"]], ["limit", 1]]);
    match rows(http, any_record).await {
        Ok(rows) => Ok(!rows.is_empty()),
        Err(FetchError::Refused { status: 400 | 404, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn rows(http: &Http, query: Json) -> Result<Vec<Row>, FetchError> {
    let answer = http.ask(Method::POST, PATH, json!({ "query": query }).to_string()).await?;
    serde_json::from_slice(&answer.body).map_err(|error| FetchError::Malformed {
        url: http.url(PATH),
        reason: format!("line {}, column {} has no list of names", error.line(), error.column()),
    })
}

fn by_node(rows: Vec<Row>) -> BTreeMap<String, Vec<String>> {
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Row { certname, name } in rows {
        by_node.entry(certname).or_default().push(name);
    }
    by_node
}

fn with_advice(error: FetchError) -> FetchError {
    match error {
        FetchError::Refused { url, status: status @ (400 | 500), body_start, .. } => {
            FetchError::Refused { url, status, body_start, advice: ADVICE }
        }
        other => other,
    }
}
