//! Sources that fail: what is told, and the nodes that stay in use.

use serde_json::json;

use super::puppetdb::{nodes, site, who};
use super::server::{PuppetDb, State, Trouble, node};
use crate::delivery::servers::Answer;

/// A change of the nodes of a server.
type Change = Box<dyn Fn(&mut State) + Send>;

fn say(status: &'static str, words: &'static str) -> Trouble {
    Box::new(move |_| Some(Answer::Say(status, words.to_owned())))
}

/// Troubles, and what is told of each.
fn troubles() -> Vec<(Trouble, &'static str)> {
    let partial = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[{\"certname\":";
    vec![
        (say("401 Unauthorized", "no"), "answers 401 (no): check 'token_file', or 'cert' and 'key'"),
        (say("403 Forbidden", "<html>"), "answers 403: check 'token_file'"),
        (
            say("404 Not Found", "Not Found"),
            "answers 404 (Not Found): check 'url': PuppetDB's query API, version 4, is not there",
        ),
        (say("500 Internal Server Error", "a\nb\x1b[31m"), "answers 500 (a b\\u001b[31m)"),
        (say("503 Service Unavailable", "PuppetDB is starting"), "answers 503 (PuppetDB is starting)"),
        (say("302 Found", ""), "answers 302: redirections are not followed"),
        (say("200 OK", "hunter2"), "line 1, column 1 has no list of nodes"),
        (say("200 OK", "{\"hunter2\": 1}"), "line 1, column 0 has no list of nodes"),
        (say("200 OK", "[{\"certname\":\"a\"}"), "line 1, column 17 has no list of nodes"),
        (say("200 OK", "[{\"certname\":\"\"}]"), "a node has no certname"),
        (say("200 OK", "[{\"facts\":{}}]"), "a node has no certname"),
        (Box::new(move |_| Some(Answer::Hang(partial))), "it takes too long"),
        (Box::new(|_| Some(Answer::Hang(""))), "it takes too long"),
        (Box::new(|_| Some(Answer::Close)), "there is no answer from"),
    ]
}

/// The setting of the time for an answer, which is short only where none comes.
fn patience(words: &str) -> &'static str {
    if words.contains("too long") { ", timeout: 0.5" } else { "" }
}

#[test]
fn the_last_nodes_stay_in_use() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, ", refresh: 0");
    let before = who(&site);
    for (trouble, words) in troubles() {
        server.settle(&site, &format!(", refresh: 0{}", patience(words)));
        server.change(|state| state.trouble = Some(trouble));
        assert_eq!(who(&site), before, "{words}");
        let printed = site.hierad("render --allow-blind --output -");
        printed.says(&[&format!("hierad: PuppetDB at {}: ", server.url), words, " s ago stay in use"]);
        assert!(!printed.err.contains("hunter2"), "{printed:#?}");
    }
    server.change(|state| state.trouble = None);
    assert_eq!(site.hierad("render --allow-blind --output -").is(0).err, "");
}

#[test]
fn without_nodes_it_is_an_error() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    for (trouble, words) in troubles() {
        server.settle(&site, patience(words));
        server.change(|state| state.trouble = Some(trouble));
        let told = format!("cannot ask PuppetDB at {} for nodes: ", server.url);
        site.hierad("render --output -").fails(&[&told, words]);
    }
}

#[test]
fn answers_without_an_end_are_cut_off() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, ", timeout: 900");
    server.change(|state| state.trouble = Some(Box::new(|_| Some(Answer::Endless("200 OK")))));
    let words = "/pdb/query/v4 returns an unusable answer: it has more than 512 MiB; a smaller 'page' makes it smaller";
    site.hierad("render --output -").fails(&[words]);
}

#[test]
fn nodes_without_a_fact_that_is_read_are_not_used() {
    let (site, server) = (site(), PuppetDb::with(nodes()));
    server.settle(&site, "");
    who(&site);
    server.change(|state| state.trouble = Some(say("500 Internal Server Error", "")));
    site.files("-- data/common.yaml\nwho: '%{facts.unread.much}'\n");
    site.commit("more");
    site.hierad("render --output -").fails(&["answers 500"]);
}

#[test]
fn pages_that_change_are_read_again() {
    let many =
        || (0..4500).map(|number| node(&format!("n{number:05}"), "e", json!({"role": "r"}), &json!({}))).collect();
    let appear = |name: &'static str| {
        move |state: &mut State| state.nodes.push(node(name, "e", json!({"role": "r"}), &json!({})))
    };
    let vanish = |name: &'static str| move |state: &mut State| state.nodes.retain(|node| node["certname"] != name);
    let move_over = move |state: &mut State| {
        vanish("n00007")(state);
        appear("n04400x")(state);
    };
    let changes: [(Change, usize); 4] = [
        (Box::new(appear("n00000x")), 4501),
        (Box::new(appear("n09999")), 4501),
        (Box::new(vanish("n00007")), 4499),
        // The number of nodes stays, but all of the next page is another.
        (Box::new(move_over), 4500),
    ];
    for (change, count) in changes {
        let (site, server) = (site(), PuppetDb::with(many()));
        server.settle(&site, ", page: 2000");
        let mut requests = 0;
        server.change(|state| {
            state.trouble = Some(Box::new(move |state| {
                requests += 1;
                if requests == 2 {
                    change(state);
                }
                None
            }));
        });
        assert_eq!(who(&site).len(), count);
    }
}

#[test]
fn pages_that_always_change_are_an_error() {
    let node = |number: usize| node(&format!("n{number:05}"), "e", json!({}), &json!({}));
    let (site, server) = (site(), PuppetDb::with((0..4500).map(node).collect()));
    server.settle(&site, ", page: 2000");
    let mut requests = 4500;
    server.change(|state| {
        state.trouble = Some(Box::new(move |state| {
            requests += 1;
            state.nodes.push(node(requests));
            None
        }));
    });
    site.hierad("render --output -").fails(&["the nodes changed between pages, 3 times in a row"]);
}
