//! The daemon posts reviews when forges tell of requests.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::hooked::{Hooked, event, send_right};
use super::life::{FIRST, SECOND};
use super::scene::Scene;
use super::server::{Fault, Hold, Kind};
use crate::delivery::servers::Answer;
use crate::http::client::{Answer as Reply, Daemon};
use crate::support::keys::{encrypted, key_file};
use crate::support::terminal::SITE;

const KINDS: [Kind; 3] = [Kind::GitHub, Kind::GitLab, Kind::Gitea];

/// A scene whose request has a first commit, and a daemon for it.
fn begun(kind: Kind, more: &str) -> (Hooked, Daemon) {
    let scene = Scene::new(kind);
    scene.push(FIRST);
    let hooked = Hooked::new(scene, more);
    let daemon = hooked.start();
    (hooked, daemon)
}

/// Holds up the next request of an operation: tells when it has come, and lets it go on.
fn hold(hooked: &Hooked, operation: &'static str) -> (std::sync::mpsc::Receiver<()>, std::sync::mpsc::Sender<()>) {
    let ((arrived, has_arrived), (go_on, may_go_on)) = (channel(), channel());
    hooked.scene.forge.state().hold = Some(Hold { operation, arrived, go_on: may_go_on });
    (has_arrived, go_on)
}

fn not_found() -> Fault {
    let answer = Answer::Full(404, String::new(), "{\"message\": \"Not Found\"}".to_owned());
    Fault { operation: "pulls/get", is_done: false, answer }
}

#[test]
fn a_webhook_leads_to_exactly_one_comment() {
    for kind in KINDS {
        let (hooked, daemon) = begun(kind, "");
        let answer = hooked.tell(&daemon);
        assert_eq!((answer.status, answer.json()["reviews"].as_i64()), (202, Some(1)), "{answer:?}");
        hooked.settle();
        assert!(hooked.scene.forge.comment("default").contains("8080"));
        hooked.scene.push(SECOND);
        assert_eq!(hooked.tell(&daemon).status, 202);
        hooked.settle();
        assert!(hooked.scene.forge.comment("default").contains("9090"));
        assert_eq!(hooked.scene.forge.state().comments.len(), 1);
        assert_eq!(hooked.count(&daemon, "done"), "2");
        hooked.scene.forge.assert_described();
    }
}

#[test]
fn a_policy_that_fails_is_no_failure_of_a_review() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let hooked = Hooked::new(scene, "");
    let settings = hooked.scene.site.beside("daemon.yaml");
    let policies = "policies:\n- {name: ports, level: failure, message: ask us, keys: port}\n";
    std::fs::write(&settings, std::fs::read_to_string(&settings).unwrap() + policies).unwrap();
    let daemon = hooked.start();
    hooked.tell(&daemon);
    hooked.settle();
    assert_eq!(hooked.count(&daemon, "done"), "1");
    assert!(hooked.scene.forge.comment("default").contains("policy ports fails"));
}

#[test]
fn events_at_once_leave_one_comment() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    let address = daemon.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(hooked.tell_at(address).status, 202));
        }
    });
    hooked.settle();
    hooked.scene.forge.comment("default");
    let state = hooked.scene.forge.state();
    assert_eq!(state.log.iter().filter(|operation| *operation == "issues/create-comment").count(), 1);
}

#[test]
fn an_event_during_a_review_has_one_more() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    let (has_arrived, go_on) = hold(&hooked, "checks/create");
    hooked.tell(&daemon);
    has_arrived.recv().unwrap();
    hooked.scene.push(SECOND);
    for _ in 0..3 {
        assert_eq!(hooked.tell(&daemon).status, 202);
    }
    assert_eq!(hooked.queue("").matches("request 7 of github o/n").count(), 1);
    go_on.send(()).unwrap();
    hooked.settle();
    assert!(hooked.scene.forge.comment("default").contains("9090"));
    assert_eq!(hooked.count(&daemon, "done"), "2");
}

#[test]
fn a_kill_before_the_posting_loses_nothing() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    let (has_arrived, go_on) = hold(&hooked, "pulls/get");
    assert_eq!(hooked.tell(&daemon).status, 202);
    has_arrived.recv().unwrap();
    // It is killed, and the process of the review ends with it.
    drop(daemon);
    std::thread::sleep(Duration::from_millis(500));
    go_on.send(()).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(hooked.scene.forge.state().log, ["pulls/get"]);
    let _daemon = hooked.start();
    hooked.settle();
    assert!(hooked.scene.forge.comment("default").contains("8080"));
}

#[test]
fn a_wrong_signature_asks_for_nothing() {
    for kind in KINDS {
        let (hooked, daemon) = begun(kind, "");
        hooked.lie(&daemon).refuses(401, "signature or token");
        assert_eq!(hooked.queue(""), "nothing is waiting\n");
        assert_eq!(hooked.scene.forge.state().log, [""; 0]);
    }
}

/// A client that begins to tell of a request, and says no more.
fn silent(daemon: &Daemon) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.address).unwrap();
    let signature = "0".repeat(64);
    let head = format!(
        "POST /v1/webhooks/github HTTP/1.1\r\nHost: localhost\r\nX-GitHub-Event: pull_request\r\n\
         X-Hub-Signature-256: sha256={signature}\r\nConnection: close\r\nContent-Length: 100\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn few_bodies_are_kept_at_once() {
    let scene = Scene::new(Kind::GitHub);
    scene.push(FIRST);
    let hooked = Hooked::new(scene, "");
    let settings = hooked.scene.site.beside("daemon.yaml");
    let text = std::fs::read_to_string(&settings).unwrap().replace("http: {", "http: {timeout: 3, ");
    std::fs::write(&settings, text).unwrap();
    let daemon = hooked.start();
    // Four of one address are read; the next four get their places once those are given up, and the last one waits in
    // vain.
    let some = || -> Vec<TcpStream> {
        let all = (0..8).map(|_| silent(&daemon)).collect();
        std::thread::sleep(Duration::from_millis(750));
        all
    };
    let _waiting = [some(), some()];
    hooked.tell(&daemon).refuses(503, "other webhooks are being read; send it again later");
    assert_eq!(hooked.tell(&daemon).status, 202);
    hooked.settle();
    assert!(hooked.scene.forge.comment("default").contains("8080"));
}

#[test]
fn senders_without_the_secret_hold_up_nobody_else() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    let (start, mut silent): (Instant, Vec<TcpStream>) = (Instant::now(), (0..20).map(|_| silent(&daemon)).collect());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(hooked.tell_from(Ipv4Addr::new(127, 0, 0, 2), &daemon).status, 202);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    // The first are given up long before any other client is.
    Reply::read(&mut silent[0]).refuses(408, "takes too long");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_closed_request_has_no_review() {
    let (hooked, daemon) = begun(Kind::Gitea, "");
    hooked.scene.forge.state().is_open = false;
    assert_eq!(hooked.tell(&daemon).status, 202);
    hooked.settle();
    assert_eq!(hooked.count(&daemon, "done"), "1");
    let state = hooked.scene.forge.state();
    assert_eq!((state.comments.len(), state.statuses.len()), (0, 0));
}

#[test]
fn a_fork_has_no_keys() {
    let keys = ["key", "pub"].map(|kind| key_file(&format!("default.{kind}.pem")).display().to_string());
    let [private, public] = &keys;
    let level = format!(
        "hierarchy:\n  - {{name: Secrets, path: common.eyaml, lookup_key: eyaml_lookup_key, \
         options: {{pkcs7_private_key: {private}, pkcs7_public_key: {public}}}}}\n"
    );
    let password = |seed| format!("-- data/common.eyaml\npassword: {}\n", encrypted("hunter2", seed));
    let files = SITE.replace("hierarchy:\n", &level) + &password(1);
    let scene = Scene::of(Kind::GitHub, &files);
    scene.push(&password(2));
    let hooked = Hooked::new(scene, ", with_keys: true");
    let settings = hooked.scene.site.beside("daemon.yaml");
    let text = std::fs::read_to_string(&settings).unwrap() + "eyaml: {allowed_keys: ['/**']}\n";
    std::fs::write(&settings, text).unwrap();
    let daemon = hooked.start();
    hooked.scene.forge.state().is_fork = true;
    hooked.tell(&daemon);
    hooked.settle();
    let comment = hooked.scene.forge.comment("default");
    assert!(comment.contains("1 key changes on both nodes") && comment.contains("ciphertext changed"), "{comment}");
    // Its own branches may have them: the secret is the same.
    hooked.scene.forge.state().is_fork = false;
    hooked.tell(&daemon);
    hooked.settle();
    let comment = hooked.scene.forge.comment("default");
    assert!(comment.contains("no effective change"), "{comment}");
}

#[test]
fn unknown_projects_are_told() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    let mut event = event(Kind::GitHub);
    event["repository"]["full_name"] = "o/other".into();
    let answer = send_right(&daemon, Kind::GitHub, &event.to_string());
    assert_eq!((answer.status, answer.json()["reviews"].as_i64()), (202, Some(0)));
    daemon.wait_for_log("no 'reviews' in the settings name this project");
    assert_eq!(hooked.queue(""), "nothing is waiting\n");
    event["repository"]["full_name"] = "O/N".into();
    assert_eq!(send_right(&daemon, Kind::GitHub, &event.to_string()).json()["reviews"], 1);
}

#[test]
fn only_news_of_requests_ask_for_reviews() {
    let scene = Scene::new(Kind::GitHub);
    let review = |forge: &str, project: &str| {
        format!("  - {{forge: {forge}, project: {project}, api: 'http://127.0.0.1:1/api', token_file: TOKEN}}\n")
    };
    let all = [review("github", "o/n"), review("gitlab", "'5'"), review("gitea", "o/n")].concat();
    let hooked = Hooked::with(scene, &format!("reviews:\n{all}"));
    let daemon = hooked.start();
    let base = serde_json::json!({"base": {"ref": {"from": "main"}}});
    let title = serde_json::json!({"title": {"from": "a title"}});
    for (kind, place, action, changes, expected) in [
        (Kind::GitHub, "/action", "opened", None, 1),
        (Kind::GitHub, "/action", "synchronize", None, 1),
        (Kind::GitHub, "/action", "reopened", None, 1),
        (Kind::GitHub, "/action", "ready_for_review", None, 1),
        (Kind::GitHub, "/action", "edited", Some(&base), 1),
        (Kind::GitHub, "/action", "edited", Some(&title), 0),
        (Kind::GitHub, "/action", "closed", None, 0),
        (Kind::GitHub, "/action", "labeled", None, 0),
        (Kind::GitLab, "/object_attributes/action", "open", None, 1),
        (Kind::GitLab, "/object_attributes/action", "update", None, 1),
        (Kind::GitLab, "/object_attributes/action", "reopen", None, 1),
        (Kind::GitLab, "/object_attributes/action", "close", None, 0),
        (Kind::GitLab, "/object_attributes/action", "approved", None, 0),
        (Kind::Gitea, "/action", "opened", None, 1),
        (Kind::Gitea, "/action", "synchronized", None, 1),
        (Kind::Gitea, "/action", "edited", None, 1),
        (Kind::Gitea, "/action", "closed", None, 0),
    ] {
        let mut event = event(kind);
        *event.pointer_mut(place).unwrap() = action.into();
        if let Some(changes) = changes {
            event["changes"] = changes.clone();
        }
        let answer = send_right(&daemon, kind, &event.to_string());
        assert_eq!((answer.status, answer.json()["reviews"].as_i64()), (202, Some(expected)), "{kind:?} {action}");
    }
    for body in ["payload=%7B%7D", "{}", "[]"] {
        send_right(&daemon, Kind::GitHub, body).refuses(400, "the body must be JSON");
    }
    let headers = format!(
        "X-GitHub-Event: pull_request\r\nX-Hub-Signature-256: sha256={}\r\nContent-Length: 4194305\r\n",
        "0".repeat(64)
    );
    daemon.ask("POST", "/v1/webhooks/github", &headers, b"").refuses(413, "4194304 bytes");
}

#[test]
fn a_mirror_is_reviewed_beside_its_watch() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    scene.site.git(["push", "--quiet", "--delete", "origin", "feature"]);
    let (api, origin) = (scene.forge.api(), scene.site.beside("origin.git"));
    let hooked = Hooked::with(
        scene,
        &format!(
            "repositories: {{data: {{url: 'file://{}', fetch: 3600}}}}\n\
             reviews: [{{repository: data, forge: github, project: o/n, api: '{api}', token_file: TOKEN}}]\n",
            origin.display()
        ),
    );
    let daemon = hooked.start();
    hooked.tell(&daemon);
    hooked.settle();
    let comment = hooked.scene.forge.comment("default");
    assert!(comment.contains("8080") && comment.contains(&head), "{comment}");
    // The watch has seen neither the request nor its references.
    assert_eq!(daemon.get("/v1/reports").json()["reports"], serde_json::json!([]));
}

#[test]
fn a_review_that_fails_is_tried_again_or_set_aside() {
    let (hooked, daemon) = begun(Kind::GitHub, "");
    hooked.scene.forge.state().faults.push(not_found());
    hooked.tell(&daemon);
    hooked.settle();
    hooked.scene.forge.comment("default");
    assert_eq!(["failed", "dead", "done"].map(|result| hooked.count(&daemon, result)), ["1", "0", "1"]);
    drop(daemon);
    let (hooked, daemon) = begun(Kind::GitHub, ", retry_for: 0");
    hooked.scene.forge.state().faults.push(not_found());
    hooked.tell(&daemon);
    hooked.wait("a failure", || hooked.count(&daemon, "dead") == "1");
    hooked.wait("its note", || hooked.queue("").contains("1 review dead"));
    let line = "review  dead         request 7 of github o/n, tried once: GET repos/o/n/pulls/7: the forge answers 404";
    assert!(hooked.queue("").contains(line), "{}", hooked.queue(""));
    assert_eq!(daemon.get("/health/ready").json()["status"], "ready");
    assert_eq!(hooked.scene.forge.state().comments.len(), 0);
    assert_eq!(hooked.queue("retry --reviews"), "1 to be tried again\n");
    hooked.settle();
    hooked.scene.forge.comment("default");
}

#[test]
fn settings_of_impossible_reviews_are_refused() {
    let review = "forge: github, project: o/n, token_file: TOKEN";
    for (reviews, words) in [
        ("[{forge: svn, project: o/n, token_file: TOKEN}]", "needs 'forge: github', 'gitlab' or 'gitea'"),
        ("[{forge: gitea, project: o/n, token_file: TOKEN}]", "needs 'api', the address of the forge's API"),
        ("[{forge: github, project: o/n, token_file: nosuch}]", "cannot read"),
        (&format!("[{{{review}}}, {{{review}}}]"), "entry 2: 'github o/n' occurs twice: give each entry its own 'id'"),
        (&format!("[{{{review}, comment: never}}]"), "invalid 'comment': use one of always, changes, none"),
        (&format!("[{{{review}, id: 'a--b'}}]"), "has an invalid 'id'"),
        (&format!("[{{{review}, repository: other}}]"), "are of a repository 'other'"),
        (&format!("[{{{review}, retry_for: -1}}]"), "needs a number of hours for 'retry_for', not -1"),
    ] {
        let hooked = Hooked::with(Scene::new(Kind::GitHub), &format!("reviews: {reviews}\n"));
        hooked.scene.site.hierad("--config ../daemon.yaml watch --check-config").fails(&[words]);
    }
    let hooked = Hooked::new(Scene::new(Kind::GitHub), "");
    let settings = hooked.scene.site.beside("daemon.yaml");
    let text = std::fs::read_to_string(&settings).unwrap();
    hooked.scene.site.hierad("--config ../daemon.yaml watch --check-config").ok();
    std::fs::write(&settings, text.replace("github: ", "bitbucket: ")).unwrap();
    let words = "reviews of github o/n need 'http' with 'github' in 'webhook_secret_files'";
    hooked.scene.site.hierad("--config ../daemon.yaml watch --check-config").fails(&[words]);
}

#[test]
fn the_daemon_links_to_the_forge() {
    let (hooked, daemon) = begun(Kind::Gitea, "");
    let head = hooked.scene.site.id("HEAD");
    let markdown = daemon.get("/v1/diff?format=markdown").body;
    let link = format!("(http://127.0.0.1:{}/o/n/src/commit/{head}/data/roles/web.yaml#L1)", hooked.scene.forge.port);
    assert!(markdown.contains(&link), "{markdown}");
}
