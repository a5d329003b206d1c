//! A server that answers queries as `PuppetDB` 7 does: the requests, columns and words of refusals are those of the
//! real one, with which `tests/puppetdb/run` compares.

use std::sync::{Arc, LazyLock, Mutex};

use regex::Regex;
use serde_json::{Value as Json, json};

use crate::delivery::servers::{Answer, Certificate, Http, Request};
use crate::support::Sandbox;

/// A server with some nodes, and the queries that it was asked.
pub(crate) struct PuppetDb {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

/// The nodes of a server, and its behaviour.
#[derive(Default)]
pub(crate) struct State {
    /// The nodes, as the inventory has them.
    pub(crate) nodes: Vec<Json>,
    /// The queries so far.
    pub(crate) queries: Vec<String>,
    /// The age of the server: which queries it does not know.
    pub(crate) age: Age,
    /// An action before it answers, which may answer itself.
    pub(crate) trouble: Option<Trouble>,
}

/// An action of a server before it answers.
pub(crate) type Trouble = Box<dyn FnMut(&mut State) -> Option<Answer> + Send>;

#[derive(Default, PartialEq)]
pub(crate) enum Age {
    #[default]
    Recent,
    /// It cannot extract a fact.
    WithoutDots,
    /// It has no inventory.
    WithoutInventory,
    /// It cannot be asked for the nodes of a list.
    WithoutLists,
}

impl PuppetDb {
    pub(crate) fn with(nodes: Vec<Json>) -> PuppetDb {
        PuppetDb::start(nodes, None, None)
    }

    /// A server with TLS, and with a token that clients must send.
    pub(crate) fn start(
        nodes: Vec<Json>,
        certificate: Option<Arc<Certificate>>,
        token: Option<&'static str>,
    ) -> PuppetDb {
        let state = Arc::new(Mutex::new(State { nodes, ..State::default() }));
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let own = state.clone();
        let server = Http::with(certificate, move |request| {
            if token.is_some_and(|token| request.headers.get("x-authentication").map(String::as_str) != Some(token)) {
                return Answer::Say("401 Unauthorized", "<html>who are you?</html>".to_owned());
            }
            own.lock().unwrap().answer(request)
        });
        PuppetDb { url: format!("{scheme}://localhost:{}", server.port), state }
    }

    /// Changes what the server knows or does.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    /// Returns the queries since the last call.
    pub(crate) fn queries(&self) -> Vec<String> {
        self.change(|state| std::mem::take(&mut state.queries))
    }

    /// Has the settings of a site's git directory name this server, with more settings of it.
    pub(crate) fn settle(&self, site: &Sandbox, more: &str) {
        site.write(".git/hierad.yaml", format!("profiles: [{{puppetdb: {{url: '{}'{more}}}}}]\n", self.url));
    }
}

/// A node of the inventory.
pub(crate) fn node(name: &str, environment: &str, facts: Json, extensions: &Json) -> Json {
    let (hostname, domain) = name.split_once('.').map_or((name, None), |(hostname, domain)| (hostname, Some(domain)));
    let trusted = json!({"authenticated": "remote", "certname": name, "hostname": hostname, "domain": domain,
        "extensions": extensions, "external": {}});
    let mut facts = facts;
    facts["trusted"] = trusted.clone();
    json!({"certname": name, "environment": environment, "timestamp": "2026-01-02T03:04:05.678Z", "facts": facts,
        "trusted": trusted})
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let mut trouble = self.trouble.take();
        let answer = trouble.as_mut().and_then(|trouble| trouble(self));
        self.trouble = trouble;
        answer.unwrap_or_else(|| self.proper(request))
    }

    fn proper(&mut self, request: &Request) -> Answer {
        if request.line != "POST /pdb/query/v4 HTTP/1.1" {
            return Answer::Say("404 Not Found", "Not Found".to_owned());
        }
        assert_eq!(request.headers["content-type"], "application/json");
        if let Some(asked) = Asked::of(&request.body) {
            return self.catalogs(&asked);
        }
        match Paging::of(&request.body).and_then(|paging| self.page(&paging)) {
            Ok((rows, total)) => Answer::Full(200, format!("X-Records: {total}\r\n"), Json::Array(rows).to_string()),
            Err(refusal) => Answer::Say("400 Bad Request", refusal),
        }
    }

    /// Answers with the classes in the catalogs of some nodes, which have them as `classes`, or the keys that were
    /// looked up for them, which they have as `keys`.
    fn catalogs(&mut self, asked: &Asked) -> Answer {
        let (what, names) = match asked {
            Asked::Records => ("records", None),
            Asked::Classes(names) => ("classes", Some(names)),
            Asked::Keys(names) => ("keys", Some(names)),
        };
        self.queries.push(names.map_or_else(|| what.to_owned(), |names| format!("{what} of {}", names.join(", "))));
        match (what, &self.age) {
            ("classes", Age::WithoutLists) => {
                return Answer::Say("400 Bad Request", "'in' is no operator of 'resources'".to_owned());
            }
            ("records", Age::WithoutLists) => {
                return Answer::Say("400 Bad Request", "Invalid entity 'catalog_input_contents'".to_owned());
            }
            _ => {}
        }
        let is_asked = |node: &&Json| names.is_none_or(|names| names.iter().any(|name| node["certname"] == **name));
        let (field, column) = if what == "classes" { ("classes", "title") } else { ("keys", "name") };
        let rows = self.nodes.iter().filter(is_asked).flat_map(|node| {
            let names = node[field].as_array().into_iter().flatten();
            names.map(move |name| json!({"certname": node["certname"], column: name}))
        });
        let rows = rows.take(if names.is_none() { 1 } else { usize::MAX });
        Answer::Full(200, String::new(), Json::Array(rows.collect()).to_string())
    }

    fn page(&mut self, paging: &Paging) -> Result<(Vec<Json>, usize), String> {
        self.queries.push(paging.query.clone());
        let query = Query::of(&paging.query, &self.age)?;
        let mut nodes: Vec<&Json> = self.nodes.iter().filter(|node| query.has(node)).collect();
        nodes.sort_by_key(|node| node["certname"].as_str());
        let total = nodes.len();
        let page = nodes.into_iter().skip(paging.offset).take(paging.limit);
        Ok((page.map(|node| query.row(node)).collect(), total))
    }
}

/// A request for something of catalogs.
enum Asked {
    /// One lookup for any of them.
    Records,
    /// The classes of some nodes.
    Classes(Vec<String>),
    /// The keys that were looked up for the last catalogs of some nodes.
    Keys(Vec<String>),
}

impl Asked {
    /// Returns what a request asks for, or `None` if that is nothing of catalogs.
    fn of(body: &[u8]) -> Option<Asked> {
        let body: Json = serde_json::from_slice(body).ok()?;
        let query = body["query"].as_array()?;
        assert_eq!(body.as_object().unwrap().len(), 1, "all else is in the query");
        let records = json!(["from", "catalog_input_contents", ["extract", ["certname", "name"]], ["limit", 1]]);
        if body["query"] == records {
            return Some(Asked::Records);
        }
        let of_these = query[2][2][2].clone();
        let names = || {
            assert_eq!(of_these, json!(["in", "certname", ["array", of_these[2][1]]]));
            serde_json::from_value(of_these[2][1].clone()).unwrap()
        };
        let extract = |what: &str, of: Json| json!(["extract", ["certname", what], of]);
        let classes = extract("title", json!(["and", ["=", "type", "Class"], of_these]));
        if query[1] == "resources" {
            assert_eq!(query[2], classes);
            return Some(Asked::Classes(names()));
        }
        // Records of other catalogs than the last one of a node say nothing.
        let last = json!([
            "in",
            ["certname", "catalog_uuid"],
            ["from", "catalogs", extract("catalog_uuid", of_these.clone())]
        ]);
        let keys = extract("name", json!(["and", ["=", "type", "hiera"], of_these, last]));
        assert_eq!(body["query"], json!(["from", "catalog_input_contents", keys]));
        Some(Asked::Keys(names()))
    }
}

/// The parameters of a query that are used here.
const PARAMETERS: [&str; 5] = ["query", "limit", "offset", "order_by", "include_total"];

/// The body of a request.
struct Paging {
    query: String,
    limit: usize,
    offset: usize,
}

impl Paging {
    fn of(body: &[u8]) -> Result<Paging, String> {
        let Ok(Json::Object(body)) = serde_json::from_slice(body) else { return Err("Malformed JSON".to_owned()) };
        if let Some(name) = body.keys().find(|name| !PARAMETERS.contains(&name.as_str())) {
            return Err(format!("Unsupported query parameter '{name}'"));
        }
        assert_eq!(body["order_by"], json!([{"field": "certname"}]), "without an order pages are of no list");
        assert_eq!(body["include_total"], json!(true));
        let number = |name: &str, least: u64| {
            let number = body[name].as_u64().filter(|number| *number >= least);
            number.map(|number| usize::try_from(number).unwrap()).ok_or(format!("Illegal value for :{name}"))
        };
        let query = body["query"].as_str().ok_or("a query is a text")?.to_owned();
        Ok(Paging { query, limit: number("limit", 1)?, offset: number("offset", 0)? })
    }
}

/// A query, parsed.
struct Query {
    is_inventory: bool,
    columns: Vec<String>,
    environment: Option<String>,
}

/// A column as `PuppetDB`'s grammar has it.
const COLUMN: &str = r#"(?:facts|trusted)(?:\.(?:"[^"]*"(?:\s|$)|[^\s\.",\[\]!<=>~]+(?:\[\d+\])?))+|[a-zA-Z0-9_]+\??"#;

static QUERY: LazyLock<Regex> = LazyLock::new(|| {
    let columns = format!(r"(?:{COLUMN})(?:\s*,\s*(?:{COLUMN}))*");
    Regex::new(&format!(r#"^\s*(\w+)\s*\[\s*({columns})\s*\]\s*\{{\s*(?:environment = "(\w+)")?\s*\}}\s*$"#)).unwrap()
});

static COLUMNS: LazyLock<Regex> = LazyLock::new(|| Regex::new(COLUMN).unwrap());

impl Query {
    fn of(text: &str, age: &Age) -> Result<Query, String> {
        let parsed = QUERY.captures(text).ok_or("PQL parse error at line 1, column 1")?;
        let is_inventory = match (&parsed[1], age) {
            ("inventory", Age::WithoutInventory) => return Err("PQL parse error at line 1, column 1".to_owned()),
            ("inventory", _) => true,
            ("factsets", _) => false,
            _ => return Err("PQL parse error at line 1, column 1".to_owned()),
        };
        let columns: Vec<String> =
            COLUMNS.find_iter(&parsed[2]).map(|column| column.as_str().trim_end().to_owned()).collect();
        let known: &[&str] = if is_inventory {
            &["certname", "timestamp", "environment", "facts", "trusted"]
        } else {
            &["certname", "timestamp", "environment", "facts", "hash", "producer_timestamp", "producer"]
        };
        for column in &columns {
            let has_dots = column.contains('.');
            let root = column.split('.').next().unwrap();
            if !known.contains(&root) || (has_dots && (*age != Age::Recent || !is_inventory)) {
                return Err(format!("Can't extract unknown '{}' field '{column}'. Acceptable fields are", &parsed[1]));
            }
        }
        let environment = parsed.get(3).map(|environment| environment.as_str().to_owned());
        Ok(Query { is_inventory, columns, environment })
    }

    fn has(&self, node: &Json) -> bool {
        self.environment.as_ref().is_none_or(|environment| node["environment"] == **environment)
    }

    fn row(&self, node: &Json) -> Json {
        let column = |column: &String| (column.clone(), self.value(node, column));
        Json::Object(self.columns.iter().map(column).collect())
    }

    fn value(&self, node: &Json, column: &str) -> Json {
        match column.split_once('.') {
            Some((root, name)) => {
                let name = name.strip_prefix('"').map_or(name, |name| name.strip_suffix('"').unwrap());
                node[root].get(name).cloned().unwrap_or_default()
            }
            None if column == "facts" && !self.is_inventory => {
                let facts = node["facts"].as_object().unwrap().iter();
                let data: Vec<Json> = facts.map(|(name, value)| json!({"name": name, "value": value})).collect();
                json!({"data": data, "href": "/pdb/query/v4/factsets/x/facts"})
            }
            None => node[column].clone(),
        }
    }
}
