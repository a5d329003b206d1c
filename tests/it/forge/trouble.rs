//! Refusals, failures and limits of a forge.

use super::life::FIRST;
use super::scene::Scene;
use super::server::{Comment, Fault, Kind, TOKEN};
use crate::delivery::servers::{Answer, Http};

fn say(status: u16, headers: &str, text: &str) -> Answer {
    Answer::Full(status, headers.to_owned(), format!("{{\"message\": \"{text}\"}}"))
}

/// A scene whose forge has these faults, the first for the first request of its operation.
fn faulty(faults: Vec<Fault>) -> (Scene, String) {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    scene.forge.state().faults = faults;
    (scene, head)
}

#[test]
fn gateways_and_limits_of_rates_are_waited_for() {
    let limit = "You have exceeded a secondary rate limit";
    for (operation, is_done) in [
        ("issues/create-comment", false),
        ("issues/create-comment", true),
        ("issues/list-comments", false),
        ("pulls/get", false),
        ("checks/create", false),
        ("checks/create", true),
    ] {
        let fault = |answer| Fault { operation, is_done, answer };
        let (scene, head) = faulty(vec![
            fault(say(502, "", "Server Error")),
            Fault { operation, is_done: false, answer: say(403, "Retry-After: 0\r\n", limit) },
        ]);
        scene.review(&head, "").ok();
        assert!(scene.forge.comment("default").contains("8080"));
        assert_eq!(scene.forge.state().checks.len(), 1, "{operation} {is_done}");
        scene.forge.check(&head, "hierad");
    }
}

#[test]
fn a_comment_that_is_refused_is_cut_short() {
    let fault = || Fault {
        operation: "issues/create-comment",
        is_done: false,
        answer: say(422, "", "Validation Failed: body is too long"),
    };
    let (scene, head) = faulty(vec![fault()]);
    scene.review(&head, "").ok();
    let comment = scene.forge.comment("default");
    assert!(comment.contains("1 key changes on 1 of 2 nodes") && !comment.contains("8080"), "{comment}");
    assert!(comment.contains("[The job](https://forge.example/o/n/actions/runs/1000)"), "{comment}");
    let (scene, head) = faulty(vec![fault(), fault()]);
    scene.review(&head, "").is(1).says(&["the forge answers 422: Validation Failed: body is too long"]);
}

#[test]
fn annotations_that_are_refused_are_left_out() {
    let answer = say(422, "", "Invalid annotation");
    let (scene, head) = faulty(vec![Fault { operation: "checks/create", is_done: false, answer }]);
    scene.review(&head, "").ok();
    assert_eq!(scene.forge.check(&head, "hierad")["count"], 0);
}

#[test]
fn missing_permissions_are_told() {
    for (kind, words) in [
        (Kind::GitHub, "give the job `permissions: {pull-requests: write}`"),
        (Kind::GitLab, "the token needs the scope `api`"),
        (Kind::Gitea, "the token needs the scopes `write:issue`"),
    ] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        scene.forge.state().is_read_only = true;
        let mut job = scene.job(&head, "--summary summary.md");
        job.run().is(1).says(&["the forge answers 403: Resource not accessible by integration", words]);
        let summary = std::fs::read_to_string(scene.site.root().join("summary.md")).unwrap();
        assert!(summary.contains("8080"), "the summary is there all the same");
        let mut job = scene.job(&head, "");
        job.command.env_remove("GITHUB_TOKEN").env_remove("HIERAD_GITLAB_TOKEN");
        job.run().is(1).says(&["there is no token", words]);
    }
}

#[test]
fn a_status_takes_the_place_of_a_check() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    scene.forge.state().has_no_checks = true;
    let printed = scene.review(&head, "--exit-code");
    printed.is(2);
    // The annotations come by another way.
    assert!(
        printed
            .out
            .starts_with("::notice file=data/roles/web.yaml,line=1,endLine=1,title=port changed on 1 of 2 nodes::"),
        "{printed:?}"
    );
    let (sha, status) = scene.forge.state().statuses[0].clone();
    assert_eq!((sha, &status["state"], &status["context"]), (head.clone(), &"failure".into(), &"hierad".into()));
}

#[test]
fn a_check_has_all_annotations_in_several_requests() {
    let scene = Scene::new(Kind::GitHub);
    let lines = |value: &str| (0..120).fold(String::new(), |lines, n| lines + &format!("key{n}: {value}\n"));
    let head = scene.push(&format!("-- data/roles/web.yaml\nport: 80\n{}", lines("1")));
    scene.review(&head, "").ok();
    assert_eq!(scene.forge.check(&head, "hierad")["count"], 120);
    // One that broke off goes on where it was.
    let head = scene.push(&format!("-- data/roles/web.yaml\nport: 80\n{}", lines("2")));
    let answer = say(502, "", "Server Error");
    scene.forge.state().faults = vec![Fault { operation: "checks/update", is_done: true, answer }];
    scene.review(&head, "").ok();
    assert_eq!(scene.forge.check(&head, "hierad")["count"], 120);
}

#[test]
fn all_pages_of_comments_are_read() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        let scene = Scene::new(kind);
        let head = scene.push(FIRST);
        for id in 1..=60 {
            let comment = Comment { id, author: "ada".to_owned(), body: "hi".to_owned() };
            scene.forge.state().comments.extend([comment.clone(), Comment { id: id + 200, ..comment }]);
        }
        scene.review(&head, "").ok();
        scene.review(&head, "").ok();
        assert_eq!(scene.forge.comments("default").len(), 1);
        assert_eq!(scene.forge.state().comments.len(), 121);
    }
}

#[test]
fn the_token_goes_to_no_other_server() {
    let other = Http::start(|_| Answer::ok());
    let location = format!("Location: http://localhost:{}/\r\n", other.port);
    let answer = say(307, &location, "Moved");
    let (scene, head) = faulty(vec![Fault { operation: "issues/list-comments", is_done: false, answer }]);
    scene.review(&head, "--check none").is(1).says(&["the forge answers 307", "it redirects to another server"]);
    // Nor does a link to a next page lead there.
    let link = format!("Link: <http://localhost:{}/>; rel=\"next\"\r\n", other.port);
    let answer = Answer::Full(200, link, "[]".to_owned());
    scene.forge.state().faults.push(Fault { operation: "issues/list-comments", is_done: false, answer });
    scene.review(&head, "--check none").ok();
    assert!(other.requests.try_recv().is_err());
    // What a server repeats is not quoted.
    let answer = say(400, "", &format!("bad token {TOKEN}"));
    scene.forge.state().faults.push(Fault { operation: "issues/list-comments", is_done: false, answer });
    scene.review(&head, "--check none").is(1).says(&["bad token ***"]);
}

#[test]
fn a_token_is_read_from_a_file() {
    let scene = Scene::new(Kind::GitHub);
    let head = scene.push(FIRST);
    let path = scene.site.beside("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    let mut job = scene.job(&head, &format!("--token-file {}", path.display()));
    job.command.env_remove("GITHUB_TOKEN");
    job.run().ok();
    scene.forge.comment("default");
}
