//! Refusals that do no harm: wrong tokens, wrong requests, wrong settings.

use std::time::Instant;

use serde_json::json;

use super::client::{Daemon, PATIENCE, raw, request};
use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad, run};

const GUARDED: [&str; 10] = [
    "/metrics",
    "/openapi.json",
    "/v1/reports",
    "/v1/reports/stream",
    "/v1/nodes",
    "/v1/nodes/web01",
    "/",
    "/nodes/web01",
    "/keys/port",
    "/page.css",
];

#[test]
fn requests_need_the_token() {
    let site = Sandbox::of(SITE);
    site.write_secret("token", "open sesame, open");
    site.settings("profiles: [profiles]\nhttp: {token_file: token}\n");
    let daemon = Daemon::start(&site, "");
    let with = |method: &str, path: &str, header: &str| daemon.ask(method, path, header, b"");
    for path in GUARDED {
        for header in [
            "",
            "Authorization: Bearer open\r\n",
            "Authorization: Bearer open sesame, open!\r\n",
            "Authorization: Bearer \r\n",
            "Authorization: Basic open sesame, open\r\n",
            "Authorization: Basic \r\n",
            "Authorization: Basic b3BlbiBzZXNhbWUsIG9wZW4=\r\n",
            "Authorization: Basic b3BlbiBzZXNhbWUsIG9wZW46b3Blbg==\r\n",
            "Authorization: open sesame, open\r\n",
            "Authorization: \u{e9}\r\n",
        ] {
            let answer = with("GET", path, header);
            answer.refuses(401, "needs 'Authorization: Bearer'");
            assert_eq!(answer.header("www-authenticate"), Some("bearer, basic realm=\"hierad\""), "{path}");
        }
    }
    let lookup = json!({"node": "web01", "keys": ["port"]});
    daemon.post("/v1/lookup", &lookup).refuses(401, "Bearer");
    with("POST", "/v1/webhooks/github", "Authorization: Bearer open sesame, open\r\n")
        .refuses(404, "no secret is configured");
    let right = "Authorization: bearer open sesame, open\r\n";
    for path in GUARDED.iter().filter(|path| !path.ends_with("stream")) {
        with("GET", path, right).ok();
    }
    // A browser sends it as the password of somebody.
    with("GET", "/nodes/web01", "Authorization: Basic YW55Ym9keTpvcGVuIHNlc2FtZSwgb3Blbg==\r\n").ok();
    with("GET", "/health/live", "").ok();
    // A client with the token is not a page in somebody's browser.
    with("GET", "/v1/nodes", &format!("Host: hierad.example.com\r\n{right}")).ok();
}

#[test]
fn reload_changes_the_token() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    daemon.get("/v1/nodes").ok();
    site.write_secret("token", "another open sesame");
    site.settings("profiles: [profiles]\nhttp: {token_file: token}\n");
    daemon.reload();
    let end = Instant::now() + PATIENCE;
    while daemon.get("/v1/nodes").status != 401 {
        assert!(Instant::now() < end);
    }
    daemon.ask("GET", "/v1/nodes", "Authorization: Bearer another open sesame\r\n", b"").ok();
    // What is wrong does not count.
    site.settings("profiles: [profiles]\nhttp: {token_file: nope}\n");
    site.hierad("watch --check-config").fails(&["cannot read $BASE/repository/nope"]);
    daemon.reload();
    daemon.wait_for_log("cannot reload");
    daemon.get("/v1/nodes").refuses(401, "Bearer");
}

#[test]
fn foreign_host_names_need_a_token() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let with = |host: &str| daemon.ask("GET", "/v1/nodes", &format!("Host: {host}\r\n"), b"");
    for host in ["evil.example.com", "evil.example.com:8427", "localhost.example.com", "a b", ""] {
        with(host).refuses(421, "only requests for localhost");
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8427", "[::1]:8427", "10.0.0.1"] {
        with(host).ok();
    }
}

#[test]
fn no_form_of_request_evades_the_check_of_its_host() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let ask = |target: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().flat_map(|host| ["Host: ", host, "\r\n"]).collect();
        daemon.raw(format!("GET {target} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes())
    };
    for hosts in [["localhost", "evil.example.com"], ["evil.example.com", "localhost"], ["localhost", "localhost"]] {
        ask("/v1/nodes", &hosts).refuses(400, "the request must have exactly one 'Host' header");
    }
    for (target, hosts) in [
        ("http://evil.example.com/v1/nodes", &["localhost"] as &[&str]),
        ("http://evil.example.com/v1/nodes", &[]),
        ("http://localhost@evil.example.com/v1/nodes", &["localhost"]),
        ("http://localhost/v1/nodes", &["evil.example.com"]),
        ("https://evil.example.com:8427/health/ready", &["127.0.0.1"]),
    ] {
        ask(target, hosts).refuses(421, "only requests for localhost");
    }
    ask("http://localhost:8427/v1/nodes", &["localhost:8427"]).ok();
}

#[test]
fn weak_tokens_are_refused() {
    let site = Sandbox::of(SITE);
    let mode = |mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(site.beside("token"), permissions).unwrap();
    };
    for setting in ["token_file: token", "webhook_secret_files: {gitea: token}"] {
        std::fs::write(site.beside("daemon.yaml"), format!("profiles: repository/profiles\nhttp: {{{setting}}}\n"))
            .unwrap();
        let check = || site.hierad("--config ../daemon.yaml watch --check-config");
        site.write_secret("../token", "fifteen letters");
        check().fails(&["the token in the file ../token has fewer than 16 characters", "openssl rand"]);
        site.write_secret("../token", "sixteen letters.");
        assert_eq!(check().is(0).err, "");
        for writable in [0o620, 0o602, 0o666] {
            mode(writable);
            check().fails(&["others can write the file ../token", "chmod go-w ../token"]);
        }
        mode(0o644);
        check().is(0).says(&["WARN", "everybody on this machine can read the secret in ../token"]);
        mode(0o640);
        assert_eq!(check().is(0).err, "");
        // Nobody puts another file in its place.
        let folder = |mode: u32| {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(site.beside(""), permissions).unwrap();
        };
        folder(0o777);
        check().fails(&["others can write the folder", "and put another secret in the place of ../token"]);
        folder(0o1777);
        assert_eq!(check().is(0).err, "");
        folder(0o755);
    }
}

#[test]
fn malformed_requests_are_refused() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    for garbage in [
        "\r\n\r\n\r\nx\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "\0\x01\x02\r\n\r\n",
    ] {
        assert_eq!(daemon.raw(garbage.as_bytes()).status, 400, "{garbage:?}");
    }
    let both = "POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n";
    assert_eq!(daemon.raw(both.as_bytes()).status, 400);
    daemon.get("/v1").refuses(404, "/openapi.json lists");
    daemon.get("/v1/nodes/%ff").refuses(400, "UTF-8");
    daemon.get("/v1/nodes/..%2f..%2fetc%2fpasswd").refuses(404, "no profile of node");
    let wrong = daemon.ask("DELETE", "/v1/nodes", "", b"");
    wrong.refuses(405, "this path does not support DELETE");
    assert_eq!(wrong.header("allow"), Some("get,head"));
    daemon.get("/v1/lookup").refuses(405, "GET");
    let json = |body: &str| daemon.ask("POST", "/v1/lookup", "Content-Type: application/json\r\n", body.as_bytes());
    for (body, path, words) in [
        ("", ".", "EOF"),
        ("{\"keys\": [\"a\", 7], \"node\": \"x\"}", "keys[1]", "expected a string at line 1 column 16"),
        ("{\"keys\": [\"a\"], \"node\": \"x\"} x", ".", "trailing characters"),
        ("{\"keys\": \"a\"}", "keys", "expected a sequence"),
        ("{\"keys\": [\"a\"], \"nodes\": 1}", "nodes", "unknown field `nodes`"),
        ("{\"node\": \"x\"}", ".", "missing field `keys`"),
        ("{\"node\": \"x\", \"keys\": []}", "keys", "at least one key"),
        ("[", ".", "EOF"),
        ("{\"node\": \"\\ud800\", \"keys\": []}", "node", "hex escape"),
    ] {
        let answer = json(body);
        answer.refuses(400, words);
        assert_eq!(answer.json()["path"], path, "{body}");
    }
    json("{\"node\": \"x\", \"keys\": [\"\"]}").refuses(400, "none may be empty");
    let (address, body) = ("/v1/lookup?repository=x", b"{\"node\": \"x\", \"keys\": [\"a\"]}");
    let told = "there is no parameter 'repository', only none at all in this address";
    daemon.ask("POST", address, "Content-Type: application/json\r\n", body).refuses(400, told);
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    json(&format!("{{\"node\": \"web01\", \"keys\": [\"port\"], \"merge\": {nested}}}")).refuses(400, "");
    json(&format!("{{\"profile\": {nested}, \"keys\": [\"port\"]}}")).refuses(400, "");
    let deep = format!("{{\"name\": \"x\", \"facts\": {}1{}}}", "{\"a\": ".repeat(90), "}".repeat(90));
    let answer = json(&format!("{{\"profile\": {deep}, \"keys\": [\"port\"]}}"));
    answer.refuses(404, "no data for 'port'");
    daemon.ask("POST", "/v1/lookup", "Content-Type: text/plain\r\n", b"{}").refuses(415, "must be JSON");
    daemon.ask("POST", "/v1/lookup", "", b"{}").refuses(415, "must be JSON");
    daemon.get("/health/ready").ok();
}

#[test]
fn public_addresses_need_a_token() {
    let site = Sandbox::of(SITE);
    // The other faults are tested where settings are read, in `src/app/settings/http.rs`.
    site.write(".git/hierad.yaml", "http:\n  lsten: x\n");
    site.hierad("diff").fails(&["hierad.yaml:2: http: unknown field `lsten`"]);
    std::fs::remove_file(site.root().join(".git/hierad.yaml")).unwrap();
    let watch = |arguments: &str| site.hierad(&format!("watch --state ../state {arguments}"));
    for (content, expected) in [
        ("token_file: nope", "cannot read $BASE/repository/nope"),
        ("token_file: empty", "the file $BASE/repository/empty is empty"),
        ("webhook_secret_files: {github: empty}", "the file $BASE/repository/empty is empty"),
    ] {
        site.write("empty", "\n");
        site.settings(format!("profiles: [profiles]\nhttp: {{{content}}}\n"));
        watch("").fails(&[expected]);
    }
    site.write("hierad.yaml", "profiles: [profiles]\n");
    watch("--listen 0.0.0.0:0").fails(&["--listen: 0.0.0.0:0 can be reached from other machines"]);
    watch("--listen nowhere").fails(&["'nowhere' is not an address with a port"]);
    watch("--listen 127.0.0.1:0 --format text").fails(&["--format cannot be used"]);
}

#[test]
fn taken_addresses_are_reported() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let mut second = hierad(site.root());
    second.args(["watch", "--state"]).arg(site.beside("other")).arg("--listen").arg(daemon.address.to_string());
    run(&mut second).fails(&[&format!("cannot listen on {}", daemon.address)]);
    assert_eq!(raw(daemon.address, &request("GET", "/health/live", "", b"")).status, 200);
}

#[test]
fn secrets_are_shown_only_with_a_token() {
    let site = Sandbox::of(SITE);
    site.files("-- data/common.yaml\nmotd: hunter2\nlookup_options: {motd: {convert_to: Sensitive}}\n");
    site.commit("secret");
    let shown = "watch --listen 127.0.0.1:0 --state ../state --show-secrets";
    for check in ["", " --check-config"] {
        site.hierad(&format!("{shown}{check}")).fails(&["--show-secrets", "name a 'token_file' in 'http'"]);
    }
    site.write_secret("token", "open sesame, open");
    site.settings("profiles: [profiles]\nhttp: {token_file: token}\n");
    let daemon = Daemon::start(&site, "--show-secrets");
    daemon.get("/v1/nodes/web01").refuses(401, "Bearer");
    let header = "Authorization: Bearer open sesame, open\r\n";
    assert!(daemon.ask("GET", "/v1/nodes/web01", header, b"").body.contains("hunter2"));
}
