//! No bytes that a client sends make the HTTP interface panic or go on without end: each request has an answer of less
//! than 500, or the connection ends.
//!
//! The input is all that a client sends on one connection. It is sent to a server with a token, too.
#![no_main]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use hierad::daemon::http::{
    AnswerError, Answers, Blamed, DiffRequest, DiffResponse, HistoryPage, HistoryRequest, InProcessServer, LookupNode,
    LookupRequest, LookupResponse, NodeSnapshot, Options, PageRequest, View,
};
use hierad::daemon::queue::{Queue, RenderedReport};
use hierad::event::{CommitEvent, EventKind, RepositoryName};
use hierad::git::{BranchName, CommitId};
use hierad::node::read_profiles;
use hierad::page::content::{Content, Names};
use hierad::workers::Stop;
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// The time that a client has for each piece.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest wait for a stream to go on; the stream of reports has no end.
const QUIET: Duration = Duration::from_secs(4);

/// The time after which an answer may be that the daemon is busy.
const BUSY: Duration = Duration::from_secs(4);

const SECRET: &[u8] = b"0123456789abcdef";

static SITE: LazyLock<Site> = LazyLock::new(Site::new);

fuzz_target!(|content: &[u8]| {
    for server in &SITE.servers {
        let (start, answer) = (Instant::now(), SITE.runtime.block_on(ask(server, content)));
        check(&answer, start.elapsed());
    }
});

struct Site {
    runtime: Runtime,
    servers: [Arc<InProcessServer>; 2],
    _state: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let state = tempfile::tempdir().unwrap();
        let queue = runtime.block_on(queue(state.path()));
        let servers = [None, Some(SECRET.to_vec().into())].map(|token| {
            let webhook_secrets = hierad::forge::ALL.map(|forge| (forge, SECRET.to_vec().into())).into();
            let options = Options { listen: ([127, 0, 0, 1], 0).into(), token, webhook_secrets, timeout: PATIENCE };
            let answers: [(RepositoryName, Arc<dyn Answers>); 1] = [("data".into(), Arc::new(Echo))];
            Arc::new(InProcessServer::new(options, BTreeMap::from(answers), queue.clone()))
        });
        Site { runtime, servers, _state: state }
    }
}

/// Makes a queue with some reports.
async fn queue(folder: &std::path::Path) -> Queue {
    let (queue, lock) = Queue::create(folder).await.unwrap();
    std::mem::forget(lock);
    let repository = RepositoryName::from("data");
    let commit = |digit: u8| CommitId::from_hex(&char::from(digit).to_string().repeat(40)).unwrap();
    let event = |digit| CommitEvent::new(BranchName::new("main"), None, commit(digit), EventKind::New);
    queue.add(&repository, &[b'1', b'2', b'3'].map(event)).await.unwrap();
    while let Some(first) = queue.waiting(&repository).await.unwrap().first() {
        let report = RenderedReport { json: b"{\"schema\":\"hierad.diff/3\"}\n".to_vec(), text: None };
        queue.resolved(first.number, &report.packed(), &[], None).await.unwrap();
    }
    queue
}

/// Values that are made of the questions.
struct Echo;

impl Answers for Echo {
    fn nodes(&self) -> Result<Vec<Arc<str>>, AnswerError> {
        Ok(vec!["db01".into(), "web01".into()])
    }

    fn snapshot(
        &self,
        node: &str,
        revision: &str,
        keys: &[String],
        _stop: &Arc<dyn Stop>,
    ) -> Result<NodeSnapshot, AnswerError> {
        match node {
            "db01" => Err(AnswerError::Wrong(format!("'{revision}' {keys:?}"))),
            "web01" => Ok(NodeSnapshot { commit: "1".repeat(40), text: b"{}\n".to_vec() }),
            _ => Err(AnswerError::Unknown(format!("there is no profile of node '{node}'"))),
        }
    }

    fn diff(&self, request: &DiffRequest, _stop: &Arc<dyn Stop>) -> Result<DiffResponse, AnswerError> {
        match &request.from {
            Some(from) => Err(AnswerError::Unknown(format!("'{from}' {:?}", request.format))),
            None => Ok(DiffResponse { commit: "1".repeat(40), text: b"{}\n".to_vec() }),
        }
    }

    fn lookup(
        &self,
        LookupRequest { node, keys, merge, .. }: &LookupRequest,
        _stop: &Arc<dyn Stop>,
    ) -> Result<LookupResponse, AnswerError> {
        let node = match node {
            LookupNode::Named(name) => name.clone(),
            LookupNode::Profile(content) => match read_profiles(content, "profile.json", "production") {
                (profiles, errors) if errors.is_empty() && !profiles.is_empty() => profiles[0].name.to_string(),
                (_, errors) => return Err(AnswerError::Wrong(format!("{errors:?}"))),
            },
        };
        let key = keys.first().cloned().ok_or_else(|| AnswerError::Unknown(format!("{merge:?}")))?;
        Ok(LookupResponse { commit: "1".repeat(40), node, key, value: "1".to_owned() })
    }

    fn history(&self, request: &HistoryRequest, _stop: &Arc<dyn Stop>) -> Result<HistoryPage, AnswerError> {
        match request.after {
            Some(after) => Err(AnswerError::Unknown(format!("{after} {:?}", request.keys))),
            None => Err(AnswerError::Failed(format!("'{}' {:?} {:?}", request.revision, request.nodes, request.text))),
        }
    }

    fn blame(&self, request: &HistoryRequest, _stop: &Arc<dyn Stop>) -> Result<Blamed, AnswerError> {
        Err(AnswerError::Unknown(format!("{request:?}")))
    }

    fn page(&self, request: &PageRequest, _stop: &Arc<dyn Stop>) -> Result<Content, AnswerError> {
        match &request.view {
            View::Keys { search, .. } => {
                let (search, names) = (search.clone(), vec![search.clone()]);
                Ok(Content::Keys(Names {
                    search,
                    found: 1,
                    total: 1,
                    next: names.first().cloned(),
                    near: names.clone(),
                    names,
                }))
            }
            _ => Err(AnswerError::Unknown(format!("{request:?}"))),
        }
    }
}

/// Sends all, and reads until the connection or the input ends.
async fn ask(server: &Arc<InProcessServer>, content: &[u8]) -> Vec<u8> {
    let (client, stream) = tokio::io::duplex(1 << 16);
    let (mut reader, mut writer) = tokio::io::split(client);
    let (served, mut answer) = (server.clone(), Vec::new());
    let serve = async move { served.serve(stream).await };
    let send = async {
        _ = writer.write_all(content).await;
        _ = writer.shutdown().await;
    };
    let read = async {
        let mut piece = [0; 1 << 14];
        while let Ok(Ok(length @ 1..)) = timeout(QUIET, reader.read(&mut piece)).await {
            answer.extend_from_slice(&piece[..length]);
            if is_stream(&answer) {
                break;
            }
        }
    };
    tokio::select! {
        () = serve => {}
        ((), ()) = async { tokio::join!(send, read) } => {}
    }
    let mut rest = Vec::new();
    _ = timeout(Duration::from_millis(1), reader.read_to_end(&mut rest)).await;
    [answer, rest].concat()
}

fn is_stream(answer: &[u8]) -> bool {
    answer.windows(17).any(|text| text == b"text/event-stream")
}

/// Checks each answer, as far as its length is known.
fn check(mut answers: &[u8], took: Duration) {
    assert!(took < 2 * (PATIENCE + QUIET), "after {took:?}");
    while !answers.is_empty() {
        let Some(end) = answers.windows(4).position(|four| four == b"\r\n\r\n") else { return };
        let head = std::str::from_utf8(&answers[..end]).unwrap().to_ascii_lowercase();
        let status = head.strip_prefix("http/1.").and_then(|head| head.get(2..5)?.parse::<u16>().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head}"));
        assert!(status < 500 || (status == 503 && took > BUSY), "{}", String::from_utf8_lossy(answers));
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = if status < 200 { Some(0) } else { length.and_then(|length| length.parse::<usize>().ok()) };
        // An answer to HEAD has a length without a body: where no next one begins.
        let Some(rest) = length.and_then(|length| answers.get(end + 4 + length..)) else { return };
        answers = if rest.starts_with(b"HTTP/1.") { rest } else { b"" };
    }
}
