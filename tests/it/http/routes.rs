//! The answers of each route.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::client::Daemon;
use crate::support::Sandbox;
use crate::support::terminal::{SITE, changes};

#[test]
fn health_and_metrics() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    site.files("-- data/common.yaml\nmotd: hi\n");
    site.commit("hi");
    daemon.wait_for_reports(1);
    assert_eq!(daemon.get("/health/live").json(), json!({"status": "live"}));
    assert_eq!(daemon.get("/health/ready").json(), json!({"status": "ready"}));
    let repository = "{repository=\"repository\"}";
    let metric = |name: &str| daemon.metric(name);
    for name in ["commits_found_total", "jobs_resolved_total", "resolve_duration_seconds_count"] {
        assert_eq!(metric(&format!("hierad_{name}{repository}")).as_deref(), Some("1"), "{name}");
    }
    for name in ["watch_failures_total", "job_failures_total"] {
        assert_eq!(metric(&format!("hierad_{name}{repository}")).as_deref(), Some("0"), "{name}");
    }
    for name in ["watch", "jobs"] {
        let name = format!("hierad_{name}_last_success_timestamp_seconds{repository}");
        assert!(metric(&name).unwrap().parse::<f64>().unwrap() > 1e9, "{name}");
    }
    let taken = || metric("hierad_deliveries_total{sink=\"stdout\",result=\"taken\"}");
    // Counted once the report is out.
    let end = Instant::now() + Duration::from_mins(1);
    while taken().as_deref() != Some("1") {
        assert!(Instant::now() < end, "{:?}", taken());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(metric("hierad_queue_items{stage=\"waiting\",sink=\"\"}").as_deref(), Some("0"));
    assert_eq!(metric("hierad_build_info").as_deref(), Some("{version=\"0.1.0\"} 1"));
    assert!(metric("process_start_time_seconds").is_some());
    #[cfg(target_os = "linux")]
    assert!(metric("process_resident_memory_bytes").unwrap().parse::<u64>().unwrap() > 1 << 20);
    let requests = "hierad_http_requests_total{method=\"GET\",route=\"/health/live\",code=\"200\"}";
    assert_eq!(metric(requests).as_deref(), Some("1"));
}

#[test]
fn reports_are_paged() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let commits: Vec<String> = (1..=5)
        .map(|number| {
            site.files(&format!("-- data/common.yaml\nmotd: {number}\n"));
            site.commit(&format!("motd {number}")).to_string()
        })
        .collect();
    daemon.wait_for_reports(5);
    let mut found = Vec::new();
    let mut path = "/v1/reports?limit=2".to_owned();
    loop {
        let page = daemon.get(&path).json();
        found.extend(
            page["reports"].as_array().unwrap().iter().map(|report| report["after"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_i64() else { break };
        path = format!("/v1/reports?limit=2&before={next}");
    }
    found.reverse();
    assert_eq!(found, commits);
    let report = daemon.get(&format!("/v1/reports/{}", commits[2]));
    assert_eq!(report.header("content-type"), Some("application/json"));
    assert_eq!(changes(&report.json()), ["motd changed db01,web01"]);
    daemon.get(&format!("/v1/reports/{}", "0".repeat(40))).refuses(404, "no report of the commit");
    daemon.get("/v1/reports/abc").refuses(400, "40 hexadecimal digits");
    let head = daemon.ask("HEAD", &format!("/v1/reports/{}", commits[2]), "", b"");
    assert_eq!((head.status, &*head.body), (200, ""));
}

#[test]
fn a_commit_has_a_report_for_each_branch() {
    let site = Sandbox::of(SITE);
    let root = site.root().display();
    std::fs::write(site.beside("data.yaml"), format!("profiles: {root}/profiles\n")).unwrap();
    let place = format!("{{path: '{root}', config: data.yaml}}");
    std::fs::write(site.beside("daemon.yaml"), format!("repositories: {{one: {place}, two: {place}}}\n")).unwrap();
    site.git(["branch", "release/1"]);
    let daemon = Daemon::start(&site, "--config ../daemon.yaml");
    site.files("-- data/common.yaml\nmotd: hi\n");
    let commit = site.commit("hi");
    daemon.wait_for_reports(2);
    site.git(["branch", "--force", "release/1", "main"]);
    daemon.wait_for_reports(4);
    let place = |query: &str| {
        let report = daemon.get(&format!("/v1/reports/{commit}{query}")).json();
        assert_eq!(report["after"]["commit"], commit.to_string());
        format!("{} {}", report["event"]["repository"].as_str().unwrap(), report["branch"].as_str().unwrap())
    };
    for repository in ["one", "two"] {
        for branch in ["main", "release/1"] {
            let query = format!("?repository={repository}&branch={}", branch.replace('/', "%2F"));
            assert_eq!(place(&query), format!("{repository} {branch}"));
        }
        assert_eq!(place(&format!("?repository={repository}")), format!("{repository} release/1"));
    }
    assert!(place("?branch=main").ends_with(" main"));
    assert!(place("").ends_with(" release/1"));
    let get = |query: &str| daemon.get(&format!("/v1/reports/{commit}?{query}"));
    get("branch=topic&repository=one").refuses(404, "on branch 'topic' of repository 'one'");
    get("repository=three").refuses(404, &format!("no report of the commit {commit} of repository 'three'"));
    get("branch=main&branch=topic").refuses(400, "given twice");
    get("node=web01").refuses(400, "only repository, branch");
}

#[test]
fn effective_values_are_those_of_render() {
    let site = Sandbox::of(SITE);
    site.hierad("render --output ../snapshots").is(0);
    let daemon = Daemon::start(&site, "");
    assert_eq!(daemon.get("/v1/nodes").json(), json!({"total": 2, "nodes": ["db01", "web01"], "next": null}));
    assert_eq!(daemon.get("/v1/nodes?limit=1").json()["next"], "db01");
    assert_eq!(daemon.get("/v1/nodes?limit=1&after=db01").json()["nodes"], json!(["web01"]));
    let expected = std::fs::read_to_string(site.beside("snapshots/web01.json")).unwrap();
    let first = site.id("HEAD").to_string();
    let answer = daemon.get("/v1/nodes/web01");
    assert_eq!(answer.ok(), expected);
    assert_eq!(answer.header("x-hierad-commit"), Some(&*first));
    site.files("-- data/common.yaml\nmotd: later\n");
    site.commit("later");
    let values = |path: &str| daemon.get(path).json()["values"].clone();
    assert_eq!(values("/v1/nodes/web01?key=motd&key=port"), json!({"motd": "later", "port": 80}));
    assert_eq!(daemon.get(&format!("/v1/nodes/web01?rev={first}")).ok(), expected);
    assert_eq!(values("/v1/nodes/db01?rev=main~1&key=motd"), json!({"motd": "hello"}));
    daemon.get("/v1/nodes/web02").refuses(404, "no profile of node 'web02'");
    daemon.get("/v1/nodes/web01?rev=nope").refuses(404, "unknown revision 'nope'");
    daemon.get("/v1/nodes/web01?key=nope").refuses(404, "has the key 'nope'");
    daemon.get("/v1/nodes/web01?rev=-x").refuses(400, "does not begin with '-'");
    for search in [":/a", "HEAD%5E%7B/(a*)*b%7D", "main:/x"] {
        daemon.get(&format!("/v1/nodes/web01?rev={search}")).refuses(400, "searches of the history are not supported");
    }
    daemon.get("/v1/nodes/web01?node=x").refuses(400, "no parameter 'node'");
    daemon.get("/v1/nodes/web01?rev=main&rev=x").refuses(400, "given twice");
    daemon.get("/v1/nodes?limit=0").refuses(400, "from 1 to");
}

#[test]
fn lookups_equal_the_command_line() {
    let site = Sandbox::of(SITE);
    site.files(
        "
-- data/roles/web.yaml
port: 80
ntp: [c]
bad: '%{nope}'
date:
  :a: 1
  2: b
",
    );
    site.commit("web");
    let daemon = Daemon::start(&site, "");
    let ask = |question: Json| daemon.post("/v1/lookup", &question);
    for key in ["port", "ntp", "date", "motd"] {
        let expected = site.hierad(&format!("lookup {key} --node web01 --render-as json")).json();
        let answer = ask(json!({"node": "web01", "keys": [key]}));
        let commit = site.id("HEAD").to_string();
        assert_eq!(answer.json(), json!({"commit": commit, "node": "web01", "key": key, "value": expected}));
    }
    let value = |question: Json| ask(question).json()["value"].clone();
    let made_up = json!({"name": "new", "variables": {"role": "db"}});
    assert_eq!(value(json!({"profile": made_up, "keys": ["port"]})), 5432);
    assert_eq!(value(json!({"profile": made_up, "keys": ["nope", "motd"], "rev": "main~1"})), "hello");
    assert_eq!(value(json!({"node": "web01", "keys": ["ntp"], "merge": "unique"})), json!(["c", "a", "b"]));
    let deep = json!({"strategy": "deep", "sort_merged_arrays": true});
    assert_eq!(value(json!({"node": "web01", "keys": ["ntp"], "merge": deep})), json!(["a", "b", "c"]));
    ask(json!({"node": "web01", "keys": ["nope", "no"]})).refuses(404, "no data for 'nope', 'no' on web01");
    ask(json!({"node": "web01", "keys": ["bad"]})).refuses(422, "lookup of 'bad' failed");
    ask(json!({"node": "web02", "keys": ["port"]})).refuses(404, "no profile of node 'web02'");
    ask(json!({"node": "web01", "keys": ["ntp"], "merge": "best"})).refuses(400, "'merge'");
    ask(json!({"profile": {"facts": {}}, "keys": ["port"]})).refuses(400, "needs a 'name'");
    ask(json!({"profile": {"name": "x", "facts": 1}, "keys": ["port"]})).refuses(400, "'facts' of a node profile");
    ask(json!({"keys": ["port"]})).refuses(400, "one of 'node' and 'profile'");
}

#[test]
fn the_branch_may_be_the_environment() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: '%{environment}'\n");
    site.write("hierad.yaml", "profiles: [profiles]\nenvironment: branch\n");
    site.commit("environment");
    site.git(["branch", "feature/a"]);
    let daemon = Daemon::start(&site, "");
    for (revision, expected) in [("HEAD", "main"), ("feature/a", "feature_a"), ("main~0", "main")] {
        let snapshot = daemon.get(&format!("/v1/nodes/web01?key=motd&rev={revision}")).json();
        assert_eq!(snapshot["values"]["motd"], expected);
        for subject in ["node", "profile"] {
            let named = if subject == "node" { json!("web01") } else { json!({"name": "x"}) };
            let answer = daemon.post("/v1/lookup", &json!({subject: named, "keys": ["motd"], "rev": revision}));
            assert_eq!(answer.json()["value"], expected, "{subject}");
        }
    }
}

#[test]
fn nodes_have_their_own_of_several_environments() {
    let site = Sandbox::of(
        "
-- hierad.yaml
profiles: profiles
hiera_config: 'environments/%{environment}/hiera.yaml'
-- environments/a/hiera.yaml
version: 5
hierarchy: [{name: c, path: common.yaml}]
-- environments/a/data/common.yaml
motd: of a
-- environments/b/hiera.yaml
version: 5
hierarchy: [{name: c, datadir: hieradata, path: common.yaml}]
-- environments/b/hieradata/common.yaml
motd: of b
-- profiles/na.json
{\"name\": \"na\", \"environment\": \"a\"}
-- profiles/nb.json
{\"name\": \"nb\", \"environment\": \"b\"}
",
    );
    let daemon = Daemon::start(&site, "");
    for name in ["a", "b"] {
        let expected = format!("of {name}");
        let snapshot = daemon.get(&format!("/v1/nodes/n{name}?key=motd")).json();
        assert_eq!(snapshot["values"]["motd"], *expected);
        for named in [json!({"node": format!("n{name}")}), json!({"profile": {"name": "x", "environment": name}})] {
            let mut request = named.clone();
            request["keys"] = json!(["motd"]);
            assert_eq!(daemon.post("/v1/lookup", &request).json()["value"], *expected, "{named}");
        }
    }
    site.files("-- environments/b/hieradata/common.yaml\nmotd: changed\n");
    let commit = site.commit("b");
    daemon.wait_for_reports(1);
    let report = daemon.get(&format!("/v1/reports/{commit}")).json();
    assert_eq!(crate::support::terminal::changes(&report), ["motd changed nb"], "{report:#}");
}

#[test]
fn secrets_stay_secret() {
    let site = Sandbox::of(SITE);
    let data = "
-- data/common.yaml
db::password: hunter2
motd: 'the password is %{lookup(\"db::password\")}'
broken: '%{lookup(\"db::password\")}%{nope}'
lookup_options:
  db::password: {convert_to: Sensitive}
";
    site.files(data);
    site.commit("secret");
    let daemon = Daemon::start(&site, "");
    site.files(&data.replace("hunter2", "hunter3"));
    let commit = site.commit("another");
    daemon.wait_for_reports(1);
    let mut texts = vec![daemon.get("/v1/nodes/web01").body, daemon.get(&format!("/v1/reports/{commit}")).body];
    for key in ["db::password", "motd", "broken"] {
        texts.push(daemon.post("/v1/lookup", &json!({"node": "web01", "keys": [key]})).body);
    }
    texts.push(daemon.get("/metrics").body);
    for text in texts {
        assert!(!text.is_empty() && !text.contains("hunter"), "{text}");
    }
    let answer = daemon.post("/v1/lookup", &json!({"node": "web01", "keys": ["db::password"]})).json();
    assert_eq!(answer["value"]["__ptype"], "Sensitive", "{answer}");
}

#[test]
fn profiles_that_change_count() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    assert_eq!(daemon.get("/v1/nodes").json()["total"], 2);
    site.write("profiles/new.yaml", "{name: new, variables: {role: web}}\n");
    let end = std::time::Instant::now() + super::client::PATIENCE;
    while daemon.get("/v1/nodes").json()["total"] != 3 {
        assert!(std::time::Instant::now() < end);
    }
    assert_eq!(daemon.get("/v1/nodes/new?key=port").json()["values"]["port"], 80);
}

#[test]
fn diffs_are_those_of_the_command() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    site.files("-- data/common.yaml\nmotd: <b>hi</b>\n");
    site.commit("hi");
    let page = |query: &str| daemon.get(&format!("/v1/diff{query}"));
    assert_eq!(page("").body, site.hierad("diff --format json").ok());
    assert_eq!(page("?from=HEAD~1&to=HEAD&format=text").body, site.hierad("diff HEAD~1 HEAD").ok());
    assert_eq!(page("?format=markdown").body, site.hierad("diff --format markdown").ok());
    let html = page("?format=html");
    assert_eq!(html.body, site.hierad("diff --format html").ok());
    assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(html.body.contains("&lt;b&gt;hi"), "{}", html.body);
    assert_eq!(page("?format=pdf").status, 400);
    assert_eq!(page("?to=nobody").status, 404);
    assert_eq!(page("?from=--output=x").status, 400);
}
