//! The classes in the last catalogs of nodes.
//!
//! They are asked for some nodes at a time, by name. So each answer is of whole nodes and of a bounded size, and the
//! server need not sort the resources of all nodes for each page.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::PATH;
use crate::inventory::FetchError;
use crate::inventory::http::Http;
use crate::node::CatalogClasses;

/// The most nodes that are asked for at a time: some 50,000 classes.
const NODES: usize = 250;

/// The remedy if the server does not know such queries.
const ADVICE: &str = "it cannot tell the classes of nodes: leave 'classes' of 'puppetdb' out";

/// A class of a node.
#[derive(Deserialize)]
struct Row {
    certname: String,
    title: String,
}

/// A profile on its line.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Returns profiles, one a line, with the classes in the nodes' catalogs. A node without a catalog gets none.
pub(super) async fn added(http: &Http, lines: &[u8]) -> Result<Vec<u8>, FetchError> {
    let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let mut whole = Vec::new();
    for lines in lines.chunks(NODES) {
        let name = |line: &&[u8]| Some(serde_json::from_slice::<Named>(line).ok()?.name);
        let names: Vec<Option<String>> = lines.iter().map(name).collect();
        let classes = of_nodes(http, &names).await?;
        for (line, name) in lines.iter().zip(names) {
            let classes = name.and_then(|name| classes.get(&name));
            let (Some(classes), Some((_, inside))) = (classes, line.split_last()) else {
                whole.extend_from_slice(line);
                whole.push(b'\n');
                continue;
            };
            let classes: Vec<&str> = classes.names().collect();
            whole.extend_from_slice(inside);
            whole.extend_from_slice(format!(",\"catalog_classes\":{}}}\n", json!(classes)).as_bytes());
        }
    }
    Ok(whole)
}

/// Asks for the classes of some nodes. A node without a catalog is not in the answer: each catalog has a class, `main`.
async fn of_nodes(http: &Http, names: &[Option<String>]) -> Result<BTreeMap<String, CatalogClasses>, FetchError> {
    let names: Vec<&String> = names.iter().flatten().collect();
    let of_these = json!(["and", ["=", "type", "Class"], ["in", "certname", ["array", names]]]);
    let query = json!(["from", "resources", ["extract", ["certname", "title"], of_these]]);
    let answer = http.post(PATH, json!({ "query": query }).to_string()).await.map_err(advised)?;
    let rows: Vec<Row> = serde_json::from_slice(&answer.body).map_err(|error| FetchError::Malformed {
        url: http.url(PATH),
        reason: format!("line {}, column {} has no list of classes", error.line(), error.column()),
    })?;
    let mut titles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Row { certname, title } in rows {
        titles.entry(certname).or_default().push(title);
    }
    let classes = |titles: Vec<String>| CatalogClasses::of(titles.iter().map(String::as_str));
    Ok(titles.into_iter().map(|(certname, titles)| (certname, classes(titles))).collect())
}

fn advised(error: FetchError) -> FetchError {
    match error {
        FetchError::Refused { url, status: status @ (400 | 500), said, .. } => {
            FetchError::Refused { url, status, said, advice: ADVICE }
        }
        other => other,
    }
}
