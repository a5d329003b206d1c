//! The page: views of nodes, keys and commits for a browser.

mod headers;
mod live;

use std::sync::Arc;

use axum::Router;
use axum::extract;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::answers::{Answers, PageRequest, View};
use super::history::{self, pattern};
use super::parameters::{Name, Parameters};
use super::problem::{self, Problem};
use super::state::State;
use super::values::revision;
use crate::diff::Diff;
use crate::page::content::Content;
use crate::page::{self, Address, Frame};
use crate::pattern::Pattern;
use crate::report::ComparedNode;
use crate::workers::Stop;

/// The maximum number of variables that are set.
const MAX_SET: usize = 7;

/// The maximum length of a text that is searched for, in bytes.
const MAX_SEARCH: usize = 250;

/// Returns the routes of the views and of what they load.
pub(super) fn routes() -> Router<Arc<State>> {
    let file = |media_type: &'static str, text: String| {
        let text: Arc<str> = text.into();
        get(move || async move { ([(CONTENT_TYPE, media_type)], text.to_string()) })
    };
    Router::new()
        .route("/", get(start))
        .route("/live", get(live::listen))
        .route("/nodes", get(nodes))
        .route("/nodes/{name}", get(node))
        .route("/keys", get(keys))
        .route("/keys/{name}", get(key))
        .route("/files", get(files))
        .route("/files/{*path}", get(file_of_data))
        .route("/check", get(check))
        .route("/commits", get(commits))
        .route("/commits/{name}", get(commit))
        .route("/diff", get(diff))
        .route("/compare", get(compare))
        .route("/what-if", get(what_if))
        .route("/changes", get(changes))
        .route("/search", get(search))
        .route("/page.css", file("text/css; charset=utf-8", page::style()))
        .route("/page.js", file("text/javascript; charset=utf-8", page::SCRIPT.to_owned()))
        .route("/icon.svg", file("image/svg+xml", page::ICON.to_owned()))
        .route_layer(from_fn(headers::secure))
}

type Shared = extract::State<Arc<State>>;

async fn start(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &[], |_| Ok(View::Start)).await
}

async fn nodes(state: Shared, parameters: Parameters) -> Response {
    let view = |(search, after)| View::Nodes { search, after };
    answer(&state, parameters, &LIST, |parameters| list(parameters).map(view)).await
}

async fn keys(state: Shared, parameters: Parameters) -> Response {
    let view = |(search, after)| View::Keys { search, after };
    answer(&state, parameters, &LIST, |parameters| list(parameters).map(view)).await
}

async fn node(state: Shared, Name(name): Name, parameters: Parameters) -> Response {
    answer(&state, parameters, &["search", "after", "key"], |parameters| {
        let (search, after) = list(parameters)?;
        Ok(match parameters.text("key").filter(|key| !key.is_empty()) {
            Some(key) => View::Ladder { node: name, key: key.to_owned() },
            None => View::Node { name, search, after },
        })
    })
    .await
}

async fn key(state: Shared, Name(key): Name, parameters: Parameters) -> Response {
    answer(&state, parameters, &["value", "after"], |parameters| {
        Ok(match parameters.number("value", (1, usize::MAX))? {
            Some(position) => View::Holders { key, position, after: parameters.text("after").map(str::to_owned) },
            None => View::Key { key },
        })
    })
    .await
}

async fn files(state: Shared, parameters: Parameters) -> Response {
    let view = |(search, after)| View::Files { search, after };
    answer(&state, parameters, &LIST, |parameters| list(parameters).map(view)).await
}

async fn file_of_data(state: Shared, Name(path): Name, parameters: Parameters) -> Response {
    answer(&state, parameters, &["after", "line"], |parameters| {
        let line = parameters.number("line", (1, usize::MAX))?;
        Ok(View::File { path, after: parameters.text("after").map(str::to_owned), line })
    })
    .await
}

async fn check(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &[], |_| Ok(View::Check)).await
}

async fn commits(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &["after"], |parameters| {
        let after = parameters.text("after").map(|after| revision(Some(after))).transpose()?;
        Ok(View::Commits { after })
    })
    .await
}

async fn commit(state: Shared, Name(name): Name, parameters: Parameters) -> Response {
    answer(&state, parameters, &["key", "node"], |parameters| {
        Ok(View::Diff { from: None, to: revision(Some(&name))?, part: part(parameters)? })
    })
    .await
}

async fn diff(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &["from", "to", "key", "node"], |parameters| {
        let (from, to) = (revision(parameters.text("from"))?, revision(parameters.text("to"))?);
        Ok(View::Diff { from: Some(from), to, part: part(parameters)? })
    })
    .await
}

/// Returns the patterns of the keys and nodes to compare, `None` for all of them.
fn part(parameters: &Parameters) -> Result<[Option<Pattern>; 2], Problem> {
    let of = |name| match parameters.text(name).map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => pattern(name, text).map(Some),
    };
    Ok([of("key")?, of("node")?])
}

async fn compare(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &["node", "environment"], |parameters| {
        let given =
            |name| -> Vec<&str> { parameters.all(name).map(str::trim).filter(|text| !text.is_empty()).collect() };
        let node = |name: &str, environment: Option<&str>| ComparedNode {
            name: name.into(),
            environment: environment.map(Into::into),
        };
        match (&given("node")[..], &given("environment")[..]) {
            ([first, second], []) => Ok(Diff::new(node(first, None), node(second, None))),
            ([name], [first, second]) => Ok(Diff::new(node(name, Some(first)), node(name, Some(second)))),
            _ => Err(Problem::wrong("two nodes are compared, or one node in two environments: fill in both fields")),
        }
        .map(View::Compare)
    })
    .await
}

async fn what_if(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &["node", "set", "variable", "value"], |parameters| {
        let node = parameters.text("node").ok_or_else(|| Problem::wrong("'node' is needed"))?.to_owned();
        let set: Vec<String> =
            parameters.all("set").map(str::trim).filter(|set| !set.is_empty()).map(str::to_owned).collect();
        if set.len() > MAX_SET || set.iter().any(|set| set.len() > MAX_SEARCH) {
            return Err(Problem::wrong(format!("at most {MAX_SET} variables can be set, of {MAX_SEARCH} bytes each")));
        }
        let [names, values] = ["variable", "value"].map(|name| parameters.all(name).map(str::to_owned));
        Ok(View::WhatIf { node, set, fields: names.zip(values).collect() })
    })
    .await
}

async fn changes(state: Shared, parameters: Parameters) -> Response {
    let names = ["key", "node", "after", "limit"];
    answer(&state, parameters, &names, |parameters| Ok(View::Changes(history::request(&parameters.without_empty())?)))
        .await
}

async fn search(state: Shared, parameters: Parameters) -> Response {
    answer(&state, parameters, &["search"], |parameters| Ok(View::Search { text: list(parameters)?.0 })).await
}

/// The parameters of a list.
const LIST: [&str; 2] = ["search", "after"];

fn list(parameters: &Parameters) -> Result<(String, Option<String>), Problem> {
    let search = parameters.text("search").unwrap_or_default().trim();
    if search.len() > MAX_SEARCH {
        return Err(Problem::wrong(format!("a text to search for has at most {MAX_SEARCH} bytes")));
    }
    Ok((search.to_owned(), parameters.text("after").map(str::to_owned)))
}

/// Answers a request for an unknown path: a browser with a page.
pub(super) async fn nowhere(headers: HeaderMap) -> Response {
    let accepts = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/html") {
        return problem::nowhere().into_response();
    }
    let problem = Problem::unknown("there is no such page");
    let document = page::problem(&Address::default(), problem.title(), problem.detail());
    headers::limit(problem.answer(html(document)))
}

/// Answers with a view, or with a page that says why there is none.
async fn answer(
    state: &State,
    parameters: Parameters,
    names: &[&str],
    view: impl FnOnce(&Parameters) -> Result<View, Problem>,
) -> Response {
    let repositories = state.repositories();
    if repositories.len() > 1 && parameters.text("repository").is_none_or(str::is_empty) {
        return html(page::choice(&repositories, &parameters.pairs()));
    }
    let names: Vec<&str> = ["repository", "rev"].iter().chain(names).copied().collect();
    let mut address = Address::default();
    let found = async {
        let parameters = parameters.only(&names)?;
        let text = |name| parameters.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        address = Address { repository: text("repository"), revision: text("rev") };
        let request = PageRequest { revision: revision(address.revision.as_deref())?, view: view(&parameters)? };
        let ask = move |answers: &dyn Answers, stop: &Arc<dyn Stop>| answers.page(&request, stop);
        with_daemon(state, state.ask(address.repository.as_deref(), ask).await?).await
    };
    match found.await {
        Ok(content) => {
            let is_missing = matches!(content, Content::NoKey(_));
            let frame = Frame { address, repositories };
            let status = if is_missing { StatusCode::NOT_FOUND } else { StatusCode::OK };
            (status, html(page::document(&frame, &content))).into_response()
        }
        Err(problem) => {
            let document = page::problem(&address, problem.title(), problem.detail());
            problem.answer(html(document))
        }
    }
}

fn html(text: String) -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

/// Adds to the overview what only the daemon knows.
async fn with_daemon(state: &State, content: Content) -> Result<Content, Problem> {
    let Content::Start(mut start) = content else { return Ok(content) };
    start.live = live::read_queue(state).await?;
    Ok(Content::Start(start))
}
