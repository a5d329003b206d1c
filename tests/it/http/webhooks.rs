//! Webhooks of forges.

use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::client::Daemon;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

const SECRET: &str = "open sesame, open";
const BODY: &str = "{\"ref\": \"refs/heads/main\"}";

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write_secret("secret", SECRET);
    let files = "{github: secret, gitlab: secret, gitea: secret, bitbucket: secret}";
    site.settings(format!("profiles: [profiles]\nhttp: {{webhook_secret_files: {files}}}\n"));
    site
}

fn signature(secret: &str, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body);
    format!("{:x}", mac.finalize().into_bytes())
}

/// The header that shows that a forge knows the secret.
fn proof(forge: &str, secret: &str) -> String {
    let signature = signature(secret, BODY);
    match forge {
        "github" => format!("X-Hub-Signature-256: sha256={signature}\r\n"),
        "gitlab" => format!("X-Gitlab-Token: {secret}\r\n"),
        "gitea" => format!("X-Gitea-Signature: {signature}\r\n"),
        _ => format!("X-Hub-Signature: sha256={signature}\r\n"),
    }
}

const PUSHES: [(&str, &str); 4] = [
    ("github", "X-GitHub-Event: push\r\n"),
    ("gitlab", "X-Gitlab-Event: Push Hook\r\n"),
    ("gitea", "X-Gitea-Event: push\r\nX-GitHub-Event: push\r\n"),
    ("bitbucket", "X-Event-Key: repo:push\r\n"),
];

#[test]
fn pushes_cause_a_look() {
    let site = site();
    // By itself it would look in an hour.
    let daemon = Daemon::start(&site, "--no-notify --poll 3600");
    for (number, (forge, event)) in PUSHES.into_iter().enumerate() {
        site.files(&format!("-- data/common.yaml\nmotd: {forge}\n"));
        site.commit(forge);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(daemon.wait_for_reports(number).len(), number, "nobody has told of {forge}");
        let headers = format!("Content-Type: application/json\r\n{event}{}", proof(forge, SECRET));
        let answer = daemon.ask("POST", &format!("/v1/webhooks/{forge}"), &headers, BODY.as_bytes());
        assert_eq!(answer.status, 202, "{answer:?}");
        assert_eq!(answer.json()["looks"], true);
        daemon.wait_for_reports(number + 1);
    }
    let ping = format!("X-GitHub-Event: ping\r\n{}", proof("github", SECRET));
    let answer = daemon.ask("POST", "/v1/webhooks/github", &ping, BODY.as_bytes());
    assert_eq!((answer.status, answer.json()["looks"].as_bool()), (202, Some(false)));
}

#[test]
fn wrong_signatures_are_refused() {
    let site = site();
    let daemon = Daemon::start(&site, "--no-notify --poll 3600");
    site.files("-- data/common.yaml\nmotd: nobody tells\n");
    site.commit("nobody tells");
    for (forge, event) in PUSHES {
        let path = format!("/v1/webhooks/{forge}");
        let right = proof(forge, SECRET);
        let (name, _) = right.split_once(": ").unwrap();
        let mut wrong =
            vec![String::new(), proof(forge, "another"), format!("{name}: \r\n"), format!("{name}: sha256=\r\n")];
        wrong.push(right.replace("sha256=", "sha1="));
        wrong.push(right.trim_end().to_owned() + "0\r\n");
        wrong.push(right.trim_end()[..right.trim_end().len() - 1].to_owned() + "\r\n");
        wrong.push(format!("{name}: {}\r\n", "zz".repeat(32)));
        wrong.push(format!("{name}: sha256={}\r\n", "\u{e9}".repeat(32)));
        wrong.push(format!("Authorization: Bearer {SECRET}\r\n"));
        for headers in wrong.iter().filter(|wrong| **wrong != right) {
            let answer = daemon.ask("POST", &path, &format!("{event}{headers}"), BODY.as_bytes());
            answer.refuses(401, "signature or token of the webhook");
        }
        if forge != "gitlab" {
            let answer = daemon.ask("POST", &path, &format!("{event}{right}"), b"{\"ref\": \"refs/heads/else\"}");
            answer.refuses(401, "signature or token of the webhook");
        }
        // The proof of another forge is none.
        let other = if forge == "gitlab" { proof("github", SECRET) } else { proof("gitlab", SECRET) };
        daemon.ask("POST", &path, &format!("{event}{other}"), BODY.as_bytes()).refuses(401, "webhook");
    }
    daemon
        .ask("POST", "/v1/webhooks/svn", &proof("github", SECRET), BODY.as_bytes())
        .refuses(404, "no secret is configured");
    daemon.ask("GET", "/v1/webhooks/github", &proof("github", SECRET), b"").refuses(405, "GET");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(daemon.wait_for_reports(0), [0; 0]);
}

#[test]
fn pushes_cause_a_fetch() {
    let site = site();
    let beside = |name: &str, text: String| std::fs::write(site.beside(name), text).unwrap();
    let upstream = site.root().display();
    beside("data.yaml", format!("profiles: {upstream}/profiles\n"));
    // By itself it would fetch in an hour.
    beside(
        "daemon.yaml",
        format!(
            "http: {{webhook_secret_files: {{github: {upstream}/secret}}}}\nrepositories:\n  \
             data: {{url: '{upstream}', fetch: 3600, config: data.yaml}}\n  other: {{path: '{upstream}', config: data.yaml}}\n"
        ),
    );
    let daemon = Daemon::start(&site, "--config ../daemon.yaml");
    let failures = "hierad_fetch_failures_total{repository=\"data\"}";
    assert_eq!(daemon.metric(failures).as_deref(), Some("0"));
    // What the first fetch of a mirror brings counts as known.
    let end = Instant::now() + Duration::from_mins(1);
    while daemon.get("/v1/nodes?repository=data").status != 200 {
        assert!(Instant::now() < end, "the mirror is not fetched");
        std::thread::sleep(Duration::from_millis(20));
    }
    site.files("-- data/common.yaml\nmotd: pushed\n");
    let commit = site.commit("pushed").to_string();
    assert_eq!(daemon.wait_for_reports(1).len(), 1, "only that of the repository that is here");
    let headers = format!("X-GitHub-Event: push\r\n{}", proof("github", SECRET));
    assert_eq!(daemon.ask("POST", "/v1/webhooks/github", &headers, BODY.as_bytes()).status, 202);
    daemon.wait_for_reports(2);
    let list = daemon.get("/v1/reports").json();
    assert_eq!(list["reports"][0]["repository"], "data");
    assert_eq!(list["reports"][0]["after"], commit);
    // Of several repositories one has to be named.
    for path in ["/v1/nodes", "/v1/nodes/web01"] {
        daemon.get(path).refuses(400, "'repository' must be one of data, other");
        daemon.get(&format!("{path}?repository=nope")).refuses(404, "no such repository");
        daemon.get(&format!("{path}?repository=data")).ok();
    }
    // The page offers them all, with what was asked for.
    for (asked, link) in [
        ("/", "href=\"?repository=data\""),
        ("/keys?search=a%26b&repository=", "href=\"?search=a%26b&amp;repository=other\""),
        ("/nodes/web01?rev=main", "href=\"?rev=main&amp;repository=data\""),
    ] {
        let page = daemon.get(asked);
        assert!(page.ok().contains(link), "{asked}: {}", page.body);
    }
    let lookup = serde_json::json!({"repository": "data", "node": "web01", "keys": ["motd"]});
    assert_eq!(daemon.post("/v1/lookup", &lookup).json()["value"], "pushed");
}
