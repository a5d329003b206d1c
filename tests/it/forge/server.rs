//! Forges for tests: they know one request, its comments, checks and statuses.

use std::sync::{Arc, Barrier, Mutex, MutexGuard};

use serde_json::{Value as Json, json};

use super::description::{Arguments, Operation, operations};
use crate::delivery::servers::{Answer, Http, Request};

/// The token that may do all.
pub(super) const TOKEN: &str = "t0p-secret-t0ken";

/// The name under which it writes.
pub(super) const BOT: &str = "github-actions[bot]";

/// The forges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    GitHub,
    GitLab,
    Gitea,
}

/// A comment.
#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) author: String,
    pub(super) body: String,
}

/// Happens to the first request of this operation.
pub(super) struct Fault {
    pub(super) operation: &'static str,
    /// True if what was asked for is done all the same.
    pub(super) is_done: bool,
    pub(super) answer: Answer,
}

/// Holds up the first request of an operation: tells when it has come, and waits until it may go on.
pub(super) struct Hold {
    pub(super) operation: &'static str,
    pub(super) arrived: std::sync::mpsc::Sender<()>,
    pub(super) go_on: std::sync::mpsc::Receiver<()>,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each trait of the request and the token")]
pub(super) struct State {
    pub(super) comments: Vec<Comment>,
    pub(super) checks: Vec<Json>,
    pub(super) statuses: Vec<(String, Json)>,
    pub(super) head: String,
    pub(super) is_open: bool,
    pub(super) is_fork: bool,
    /// True if the token may only read.
    pub(super) is_read_only: bool,
    /// True if it may set no checks.
    pub(super) has_no_checks: bool,
    pub(super) faults: Vec<Fault>,
    pub(super) hold: Option<Hold>,
    /// Requests of this operation go on once two of them are there.
    pub(super) meet: Option<(&'static str, Arc<Barrier>)>,
    /// The operations that were asked for, and what was refused as not described.
    pub(super) log: Vec<String>,
    pub(super) wrong: Vec<String>,
    next: u64,
}

/// A forge at work.
pub(super) struct Forge {
    pub(super) kind: Kind,
    pub(super) port: u16,
    state: Arc<Mutex<State>>,
}

struct Server {
    kind: Kind,
    operations: Vec<Operation>,
    state: Arc<Mutex<State>>,
}

type Refusal = (u16, String);

impl Forge {
    pub(super) fn start(kind: Kind) -> Forge {
        let state = Arc::new(Mutex::new(State { is_open: true, next: 100, ..State::default() }));
        let name = match kind {
            Kind::GitHub => "github",
            Kind::GitLab => "gitlab",
            Kind::Gitea => "gitea",
        };
        let server = Server { kind, operations: operations(name), state: state.clone() };
        let http = Http::start(move |request| server.answer(request));
        Forge { kind, port: http.port, state }
    }

    pub(super) fn api(&self) -> String {
        let path = match self.kind {
            Kind::GitHub => "",
            Kind::GitLab => "/api/v4",
            Kind::Gitea => "/api/v1",
        };
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The comments of this configuration that are seen.
    pub(super) fn comments(&self, id: &str) -> Vec<Comment> {
        let state = self.state();
        let start = format!("<!-- hierad-review: {id} ");
        let is_seen = |comment: &&Comment| comment.author == BOT && comment.body.starts_with(&start);
        state.comments.iter().filter(is_seen).cloned().collect()
    }

    /// The only comment of this configuration that is seen.
    #[track_caller]
    pub(super) fn comment(&self, id: &str) -> String {
        let found = self.comments(id);
        assert_eq!(found.len(), 1, "{found:#?}");
        found[0].body.clone()
    }

    /// The check of a commit, as the forge shows it: the latest of its name.
    #[track_caller]
    pub(super) fn check(&self, head: &str, name: &str) -> Json {
        let state = self.state();
        let is_it = |check: &&Json| check["head_sha"] == head && check["name"] == name;
        let check = state.checks.iter().rev().find(is_it).unwrap_or_else(|| panic!("{:#?}", state.checks));
        assert_eq!(check["status"], "completed");
        check.clone()
    }

    /// Fails if anything was asked for that the description does not have.
    #[track_caller]
    pub(super) fn assert_described(&self) {
        assert_eq!(self.state().wrong, Vec::<String>::new());
    }
}

impl Server {
    fn answer(&self, request: &Request) -> Answer {
        let mut words = request.line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let prefix = match self.kind {
            Kind::GitHub => "",
            Kind::GitLab => "/api/v4",
            Kind::Gitea => "/api/v1",
        };
        let target = target.strip_prefix(prefix).unwrap();
        let (auth, value) = match self.kind {
            Kind::GitHub => ("authorization", format!("Bearer {TOKEN}")),
            Kind::GitLab => ("private-token", TOKEN.to_owned()),
            Kind::Gitea => ("authorization", format!("token {TOKEN}")),
        };
        if request.headers.get(auth) != Some(&value) || !request.headers.contains_key("user-agent") {
            return refusal(401, "Bad credentials");
        }
        if (method, target) == ("POST", "/graphql") && self.kind == Kind::GitHub {
            return Server::graphql(&serde_json::from_slice(&request.body).unwrap());
        }
        let found = self.operations.iter().find_map(|operation| Some((operation, operation.matches(method, target)?)));
        let wrong = |text: String| {
            self.state.lock().unwrap().wrong.push(format!("{method} {target}: {text}"));
            refusal(400, &text)
        };
        let Some((operation, arguments)) = found else { return wrong("there is no such operation".to_owned()) };
        let checked = arguments.and_then(|arguments| Ok((arguments, operation.check_body(&request.body)?)));
        let (mut arguments, body) = match checked {
            Ok(checked) => checked,
            Err(text) => return wrong(text),
        };
        arguments.host.clone_from(&request.headers["host"]);
        self.wait(operation.id());
        let fault = self.fault(operation.id());
        match fault {
            Some(fault) if !fault.is_done => return fault.answer,
            _ => {}
        }
        let done = self.done(operation, &arguments, &body);
        match (fault, done) {
            (Some(fault), _) => fault.answer,
            (None, Ok(answer)) => answer,
            (None, Err((status, text))) => refusal(status, &text),
        }
    }

    /// Waits as the test wants it.
    fn wait(&self, operation: &str) {
        let mut state = self.state.lock().unwrap();
        state.log.push(operation.to_owned());
        let meet = state.meet.as_ref().filter(|(of, _)| *of == operation).map(|(_, barrier)| barrier.clone());
        let hold =
            if state.hold.as_ref().is_some_and(|hold| hold.operation == operation) { state.hold.take() } else { None };
        drop(state);
        if let Some(barrier) = meet {
            barrier.wait();
        }
        if let Some(hold) = hold {
            hold.arrived.send(()).unwrap();
            hold.go_on.recv().unwrap();
        }
    }

    fn fault(&self, operation: &str) -> Option<Fault> {
        let faults = &mut self.state.lock().unwrap().faults;
        let at = faults.iter().position(|fault| fault.operation == operation)?;
        Some(faults.remove(at))
    }

    fn done(&self, operation: &Operation, arguments: &Arguments, body: &Json) -> Result<Answer, Refusal> {
        let state = &mut *self.state.lock().unwrap();
        let (status, example) = operation.success();
        let is_write = status != 200 || operation.id().contains("update");
        if is_write && state.is_read_only {
            return Err((403, "Resource not accessible by integration".to_owned()));
        }
        if operation.id().starts_with("checks/") && state.has_no_checks {
            return Err((403, "You must authenticate via a GitHub App.".to_owned()));
        }
        let mut headers = String::new();
        let answer = match operation.id() {
            "users/get-authenticated" => self.user(&example),
            "pulls/get" => self.pull(state, &example),
            "pulls/list" => Json::Array(vec![self.pull(state, &example[0])]),
            "issues/list-comments" => self.list(state, &example[0], arguments, &mut headers),
            "issues/create-comment" | "issues/update-comment" | "issues/delete-comment" => {
                self.write(state, operation.id(), &example, arguments, body)?
            }
            "checks/create" | "checks/update" => check_run(state, &example, arguments, body)?,
            "checks/list-for-ref" => list_runs(state, &example, arguments),
            "repos/create-commit-status" => {
                state.statuses.push((arguments.path.last().unwrap().clone(), body.clone()));
                example
            }
            other => panic!("{other}"),
        };
        operation.check_answer(&answer);
        let text = if answer.is_null() { String::new() } else { answer.to_string() };
        Ok(Answer::Full(status, headers, text))
    }

    fn user(&self, example: &Json) -> Json {
        let mut user = example.clone();
        user[if self.kind == Kind::GitLab { "username" } else { "login" }] = BOT.into();
        user
    }

    fn pull(&self, state: &State, example: &Json) -> Json {
        let mut pull = example.clone();
        if self.kind == Kind::GitLab {
            pull["sha"] = state.head.clone().into();
            pull["state"] = if state.is_open { "opened" } else { "closed" }.into();
            return pull;
        }
        pull["number"] = 7.into();
        pull["state"] = if state.is_open { "open" } else { "closed" }.into();
        pull["head"]["sha"] = state.head.clone().into();
        pull["head"]["ref"] = "feature".into();
        pull["base"]["ref"] = "main".into();
        pull["head"]["repo"]["full_name"] = if state.is_fork { "stranger/n" } else { "o/n" }.into();
        pull["base"]["repo"]["full_name"] = "o/n".into();
        pull
    }

    fn comment(&self, comment: &Comment, example: &Json) -> Json {
        let mut made = example.clone();
        made["id"] = comment.id.into();
        made["body"] = comment.body.clone().into();
        match self.kind {
            Kind::GitHub => {
                made["node_id"] = format!("node{}", comment.id).into();
                made["user"]["login"] = comment.author.clone().into();
            }
            Kind::Gitea => made["user"]["login"] = comment.author.clone().into(),
            Kind::GitLab => made["author"]["username"] = comment.author.clone().into(),
        }
        made
    }

    fn list(&self, state: &State, example: &Json, arguments: &Arguments, headers: &mut String) -> Json {
        let asked =
            |name: &str| arguments.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.parse().unwrap());
        let (page, size): (usize, usize) = match self.kind {
            Kind::Gitea => (1, usize::MAX),
            _ => (asked("page").unwrap_or(1), asked("per_page").unwrap_or(30)),
        };
        let shown: Vec<Json> = state
            .comments
            .iter()
            .skip((page - 1).saturating_mul(size))
            .take(size)
            .map(|c| self.comment(c, example))
            .collect();
        if shown.len() == size {
            let path = match self.kind {
                Kind::GitLab => "projects/5/merge_requests/7/notes",
                _ => "repos/o/n/issues/7/comments",
            };
            let prefix = if self.kind == Kind::GitLab { "/api/v4" } else { "" };
            let next = format!("{prefix}/{path}?page={}&per_page={size}", page + 1);
            let host = arguments.host.as_str();
            *headers = format!("Link: <http://{host}{next}>; rel=\"next\"\r\n");
        }
        Json::Array(shown)
    }

    fn write(
        &self,
        state: &mut State,
        id: &str,
        example: &Json,
        arguments: &Arguments,
        body: &Json,
    ) -> Result<Json, Refusal> {
        let text = body["body"].as_str().unwrap_or_default().to_owned();
        if text.chars().count() > 65_536 && self.kind == Kind::GitHub {
            return Err((422, "Validation Failed: body is too long (maximum is 65536 characters)".to_owned()));
        }
        if id == "issues/create-comment" {
            state.next += 1;
            let comment = Comment { id: state.next, author: BOT.to_owned(), body: text };
            state.comments.push(comment.clone());
            return Ok(self.comment(&comment, example));
        }
        let number: u64 = arguments.path.last().unwrap().parse().unwrap();
        let at = state.comments.iter().position(|comment| comment.id == number);
        let at = at.ok_or((404, "Not Found".to_owned()))?;
        if id == "issues/delete-comment" {
            state.comments.remove(at);
            return Ok(Json::Null);
        }
        state.comments[at].body = text;
        Ok(self.comment(&state.comments[at], example))
    }

    /// The document that is sent, valid by `schema.graphql` of `@octokit/graphql-schema`.
    fn graphql(body: &Json) -> Answer {
        assert_eq!(body["query"], "query { viewer { login } }");
        Answer::Full(200, String::new(), json!({ "data": { "viewer": { "login": BOT } } }).to_string())
    }
}

fn refusal(status: u16, text: &str) -> Answer {
    Answer::Full(status, String::new(), json!({ "message": text }).to_string())
}

fn check_run(state: &mut State, example: &Json, arguments: &Arguments, body: &Json) -> Result<Json, Refusal> {
    let added = body["output"]["annotations"].as_array().map(Vec::len).unwrap_or_default();
    if added > 50 {
        return Err((422, "Validation Failed: annotations".to_owned()));
    }
    if (body["status"] == "completed") == body["conclusion"].is_null() {
        return Err((422, "Validation Failed: conclusion".to_owned()));
    }
    let run = if body.get("head_sha").is_some() {
        state.next += 1;
        let mut run = body.clone();
        run["id"] = state.next.into();
        run["count"] = 0.into();
        state.checks.push(run);
        state.checks.last_mut().unwrap()
    } else {
        let id: u64 = arguments.path.last().unwrap().parse().unwrap();
        let run = state.checks.iter_mut().find(|run| run["id"] == id).ok_or((404, "Not Found".to_owned()))?;
        for name in ["status", "conclusion"] {
            run[name] = body[name].clone();
        }
        run
    };
    run["count"] = (run["count"].as_u64().unwrap() + added as u64).into();
    Ok(shown_run(run, example))
}

fn shown_run(run: &Json, example: &Json) -> Json {
    let mut shown = example.clone();
    for name in ["id", "name", "head_sha", "external_id", "status"] {
        shown[name] = run[name].clone();
    }
    shown["output"]["annotations_count"] = run["count"].clone();
    shown
}

fn list_runs(state: &State, example: &Json, arguments: &Arguments) -> Json {
    let head = arguments.path.last().unwrap();
    let runs = state.checks.iter().filter(|run| run["head_sha"] == **head);
    let runs: Vec<Json> = runs.map(|run| shown_run(run, &example["check_runs"][0])).collect();
    json!({ "total_count": runs.len(), "check_runs": runs })
}
