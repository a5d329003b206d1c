//! The description says what the server does.

use std::collections::BTreeSet;

use hierad::forge::ALL;
use hierad::forge::webhook::Proof;
use serde_json::{Value as Json, json};

use super::client::{Answer, Daemon};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// The value of a `$ref`, or what stands there itself.
fn followed<'d>(document: &'d Json, value: &'d Json) -> &'d Json {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

/// Fails unless an answer to a method of a path is one of those that are described.
fn check(document: &Json, (path, method): (&str, &str), answer: &Answer) {
    let described = &document["paths"][path][method]["responses"];
    let response = &described[answer.status.to_string()];
    assert!(response.is_object(), "{method} {path}: {} is not among {described}", answer.status);
    let content = followed(document, response)["content"].as_object().unwrap();
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
    let schema = &content.get(kind).unwrap_or_else(|| panic!("{method} {path}: {kind} is not described"))["schema"];
    if !kind.ends_with("json") {
        return;
    }
    let body: Json = serde_json::from_str(&answer.body).unwrap();
    let schema = followed(document, schema);
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(body.get(name.as_str().unwrap()).is_some(), "{method} {path}: no {name} in {body}");
    }
    // What the server says is described; reports and the description itself have contracts of their own.
    if let (Some(described), Some(said)) = (schema["properties"].as_object(), body.as_object())
        && schema["properties"]["schema"].is_null()
    {
        let missing: BTreeSet<_> = said.keys().filter(|name| !described.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{method} {path}: {missing:?} are not described");
    }
}

#[test]
fn routes_answer_as_described() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    site.files("-- data/common.yaml\nmotd: hi\n");
    let commit = site.commit("hi").to_string();
    daemon.wait_for_reports(1);
    let document = daemon.get("/openapi.json").json();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut seen = BTreeSet::new();
    for (path, asked) in [
        ("/health/live", vec!["/health/live"]),
        ("/health/ready", vec!["/health/ready"]),
        ("/metrics", vec!["/metrics"]),
        ("/openapi.json", vec!["/openapi.json"]),
        ("/v1/reports", vec!["/v1/reports", "/v1/reports?limit=0"]),
        ("/v1/reports/stream", vec!["/v1/reports/stream?x=1"]),
        ("/v1/reports/{commit}", vec![&format!("/v1/reports/{commit}?branch=main"), "/v1/reports/x"]),
        ("/v1/diff", vec!["/v1/diff", "/v1/diff?to=HEAD&format=json", "/v1/diff?format=x", "/v1/diff?to=nobody"]),
        ("/v1/nodes", vec!["/v1/nodes", "/v1/nodes?limit=x"]),
        ("/v1/nodes/{certname}", vec!["/v1/nodes/web01", "/v1/nodes/x"]),
        ("/v1/history", vec!["/v1/history", "/v1/history?key=x", "/v1/history?key=re:[", "/v1/history?after=x"]),
        ("/v1/blame", vec!["/v1/blame?node=web01", "/v1/blame?key=x", "/v1/blame", "/v1/blame?x=y"]),
    ] {
        for asked in asked {
            check(&document, (path, "get"), &daemon.get(asked));
        }
        seen.insert(path.to_owned());
    }
    for body in [json!({"node": "web01", "keys": ["port"]}), json!({"node": "x", "keys": ["port"]}), json!(1)] {
        check(&document, ("/v1/lookup", "post"), &daemon.post("/v1/lookup", &body));
    }
    check(&document, ("/v1/webhooks/{forge}", "post"), &daemon.post("/v1/webhooks/github", &json!({})));
    seen.extend(["/v1/lookup".to_owned(), "/v1/webhooks/{forge}".to_owned()]);
    let described: BTreeSet<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(described, seen);
}

#[test]
fn all_forges_that_send_webhooks_are_described() {
    let document: Json = serde_json::from_str(include_str!("../../../src/daemon/http/openapi.json")).unwrap();
    let parameters = document["paths"]["/v1/webhooks/{forge}"]["post"]["parameters"].as_array().unwrap();
    let names: Vec<&str> = ALL.iter().map(|forge| forge.name()).collect();
    assert_eq!(parameters[0]["schema"]["enum"], json!(names));
    let described =
        |name: &str| parameters.iter().any(|known| name.eq_ignore_ascii_case(known["name"].as_str().unwrap()));
    for forge in ALL {
        let webhooks = &forge.constants().webhooks;
        let (Proof::Token(proof) | Proof::Signature(proof, _)) = webhooks.proof;
        assert!(described(webhooks.event) && described(proof), "{forge:?}");
    }
}
