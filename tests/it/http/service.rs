//! The server of the library, with answers that are slow or fail.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hierad::daemon::http::{
    AnswerError, Answers, Blamed, DiffRequest, DiffResponse, HistoryPage, HistoryRequest, Listener, LookupRequest,
    LookupResponse, NodeSnapshot, Options, PageRequest, Server,
};
use hierad::daemon::queue::{Job, Queue, RenderedReport};
use hierad::daemon::service::{
    AttemptLimits, Recovery, Resolve, Resolved, ServedRepository, Service, ServiceError, Services, Unresolved,
};
use hierad::event::{CommitEvent, EventKind};
use hierad::git::{BranchName, CommitId};
use hierad::page::content::Content;
use hierad::workers::Stop;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use super::client::{Answer, PATIENCE, raw, request};
use crate::support::next_job;

/// A way to make answers.
enum Manner {
    /// Each is held up, tells so, and is let go by a word.
    Held(Mutex<mpsc::Sender<()>>, Mutex<mpsc::Receiver<()>>),
    /// They find a fault in hierad.
    Panic,
    /// The disk is broken.
    Broken,
}

impl Answers for Manner {
    fn nodes(&self) -> Result<Vec<Arc<str>>, AnswerError> {
        match self {
            Manner::Held(held, go) => {
                held.lock().unwrap().send(()).unwrap();
                go.lock().unwrap().recv().unwrap();
            }
            Manner::Panic => panic!("a fault"),
            Manner::Broken => return Err(AnswerError::Broken("/secret/path is broken".into())),
        }
        Ok(vec!["web01".into()])
    }

    fn snapshot(&self, _: &str, _: &str, _: &[String], stop: &Arc<dyn Stop>) -> Result<NodeSnapshot, AnswerError> {
        if let Manner::Held(held, _) = self {
            held.lock().unwrap().send(()).unwrap();
            while stop.reason().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            held.lock().unwrap().send(()).unwrap();
        }
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn diff(&self, _: &DiffRequest, _: &Arc<dyn Stop>) -> Result<DiffResponse, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn lookup(&self, _: &LookupRequest, _: &Arc<dyn Stop>) -> Result<LookupResponse, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn history(&self, _: &HistoryRequest, _: &Arc<dyn Stop>) -> Result<HistoryPage, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn blame(&self, _: &HistoryRequest, _: &Arc<dyn Stop>) -> Result<Blamed, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn page(&self, _: &PageRequest, _: &Arc<dyn Stop>) -> Result<Content, AnswerError> {
        match self {
            Manner::Broken => Err(AnswerError::Broken("/secret/path is broken".into())),
            _ => Err(AnswerError::Unknown("nothing".to_owned())),
        }
    }
}

/// A service that watches nothing.
struct Running {
    address: SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServiceError>>>,
}

impl Running {
    fn new(manner: Manner) -> Running {
        Running::in_folder(manner, tempfile::tempdir().unwrap(), Vec::new)
    }

    /// With its queue in a folder.
    fn in_folder(
        manner: Manner,
        folder: tempfile::TempDir,
        repositories: impl FnOnce() -> Vec<ServedRepository> + Send + 'static,
    ) -> Running {
        let (shutdown, stopped) = oneshot::channel();
        let (tell, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let done = runtime.block_on(async {
                let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
                let listen = "127.0.0.1:0".parse().unwrap();
                let timeout = PATIENCE;
                let options = Options { listen, token: None, webhook_secrets: Vec::new(), timeout };
                let listener = Listener::bind(options.listen).unwrap();
                let address = listener.address();
                let mut http = Server::new(options, listener);
                http.add(&"data".into(), Arc::new(manner));
                let keep = Duration::MAX;
                let service = Service {
                    reviews: Vec::new(),
                    queue,
                    repositories: repositories(),
                    sinks: Vec::new(),
                    scheduled: Vec::new(),
                    keep,
                    http: Some(http),
                };
                let mut services = Services::default();
                services.begin(service).await.unwrap();
                tell.send(address).unwrap();
                tokio::select! {
                    () = services.failed() => {}
                    _ = stopped => {}
                }
                services.end().await
            });
            runtime.shutdown_background();
            done
        });
        Running { address: address.recv().unwrap(), shutdown: Some(shutdown), thread: Some(thread) }
    }

    fn get(&self, path: &str) -> Answer {
        raw(self.address, &request("GET", path, "", b""))
    }

    fn end(mut self) {
        drop(self.shutdown.take());
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

#[test]
fn the_work_for_a_client_ends_when_the_client_is_gone() {
    let ((tell, held), (_release, go)) = (mpsc::channel(), mpsc::channel());
    let service = Running::new(Manner::Held(Mutex::new(tell), Mutex::new(go)));
    let mut client = std::net::TcpStream::connect(service.address).unwrap();
    std::io::Write::write_all(&mut client, &request("GET", "/v1/nodes/web01", "", b"")).unwrap();
    held.recv_timeout(PATIENCE).unwrap();
    drop(client);
    held.recv_timeout(PATIENCE).expect("the end of the work");
    service.end();
}

#[test]
fn slow_questions_hold_up_nobody_else() {
    let ((tell, held), (release, go)) = (mpsc::channel(), mpsc::channel());
    let service = Running::new(Manner::Held(Mutex::new(tell), Mutex::new(go)));
    let address = service.address;
    let ask = || std::thread::spawn(move || raw(address, &request("GET", "/v1/nodes", "", b"")));
    let first = [ask(), ask()];
    (0..2).for_each(|_| held.recv_timeout(PATIENCE).unwrap());
    for path in ["/health/live", "/health/ready", "/v1/reports", "/metrics"] {
        service.get(path).ok();
    }
    let third = service.get("/v1/nodes");
    third.refuses(503, "too many requests are being answered");
    assert_eq!(third.header("retry-after"), Some("5"));
    (0..2).for_each(|_| release.send(()).unwrap());
    for answer in first {
        answer.join().unwrap().ok();
    }
    service.end();
}

#[test]
fn a_fault_fails_one_request() {
    for manner in [Manner::Panic, Manner::Broken] {
        let service = Running::new(manner);
        for _ in 0..5 {
            let answer = service.get("/v1/nodes");
            answer.refuses(500, "see the log");
            assert!(!answer.body.contains("secret"));
        }
        service.get("/health/ready").ok();
        service.end();
    }
}

/// A commit that has come to `main`.
fn event(digit: char) -> CommitEvent {
    let after = CommitId::from_hex(&digit.to_string().repeat(40)).unwrap();
    CommitEvent::new(BranchName::new("main"), None, after, EventKind::New)
}

/// A folder with a queue that something was done to.
fn queue(step: impl AsyncFnOnce(&Queue)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
        step(&queue).await;
        queue.close().await;
    });
    folder
}

async fn resolve(queue: &Queue, repository: &str, sinks: &[&str]) {
    let (job, _) = next_job(queue, repository).await.unwrap();
    let report = RenderedReport { json: b"{}\n".to_vec(), text: None };
    queue.resolved(job.name.number, &report.packed(), sinks, None).await.unwrap();
}

#[test]
fn a_poller_misses_no_report_that_is_made_late() {
    let folder = queue(async |queue| {
        for (repository, digit) in [("slow", '1'), ("data", '2'), ("data", '3'), ("data", '4')] {
            queue.add(&repository.into(), &[event(digit)]).await.unwrap();
        }
        for repository in ["data", "data", "slow", "data"] {
            resolve(queue, repository, &[]).await;
        }
    });
    let service = Running::in_folder(Manner::Broken, folder, Vec::new);
    let page = |query: &str| -> (Vec<i64>, Json) {
        let list: Json = serde_json::from_str(service.get(&format!("/v1/reports?{query}")).ok()).unwrap();
        let numbers = list["reports"].as_array().unwrap().iter().map(|report| report["number"].as_i64().unwrap());
        (numbers.collect(), list["next"].clone())
    };
    assert_eq!(page("after=3"), (vec![1, 4], Json::Null), "the first was made after the third");
    assert_eq!(page("after=4"), (vec![], Json::Null));
    assert_eq!(page("after=0&limit=3"), (vec![2, 3, 1], json!(1)));
    assert_eq!(page("after=1&limit=3"), (vec![4], Json::Null));
    assert_eq!(page(""), (vec![4, 3, 2, 1], Json::Null), "by number");
    assert_eq!(page("after=2&before=4"), (vec![3, 1], Json::Null), "those that both leave");
    service.end();
}

/// Makes everything in a queue older than it is.
async fn age(folder: &std::path::Path, minutes: i64) {
    let database = format!("sqlite://{}", folder.join("queue.db").display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
    let update = format!("UPDATE job SET created = created - {0}, resolved = resolved - {0}", minutes * 60_000);
    sqlx::raw_sql(sqlx::AssertSqlSafe(update)).execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
}

#[test]
fn what_waits_for_long_degrades_the_daemon() {
    let folder = queue(async |queue| {
        queue.add(&"data".into(), &[event('1'), event('2')]).await.unwrap();
        resolve(queue, "data", &["bot"]).await;
        queue.last_done("nightly", std::time::SystemTime::now()).await.unwrap();
        queue.failed_work("nightly", "a secret reason").await.unwrap();
    });
    let path = folder.path().to_owned();
    let service = Running::in_folder(Manner::Broken, folder, Vec::new);
    let health = || -> Json { serde_json::from_str(service.get("/health/ready").ok()).unwrap() };
    let failing = "the scheduled work 'nightly' has failed 1 times in a row";
    assert_eq!(health(), json!({"status": "degraded", "reasons": [failing]}));
    let oldest = "hierad_oldest_undelivered_seconds{sink=\"bot\"}";
    let oldest = || service.get("/metrics").metric(oldest).unwrap().parse::<f64>().unwrap();
    assert!(oldest() < 60.0);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(age(&path, 20));
    assert!((1200.0..1300.0).contains(&oldest()), "{}", oldest());
    let waiting =
        ["data: 1 commit waits, the oldest for 20 min", "the sink 'bot': 1 report waits, the oldest for 20 min"];
    assert_eq!(health()["reasons"], json!([waiting[0], waiting[1], failing]));
    service.end();
}

/// Tells when it is asked to resolve a job, waits, and fails.
struct Slow(Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>);

impl Resolve for Slow {
    fn resolve(&self, _: &Job) -> Result<Resolved, Unresolved> {
        let (tell, wait) = &*self.0.lock().unwrap();
        tell.send(()).unwrap();
        _ = wait.recv();
        Err(Unresolved { error: "set aside".into(), recovery: Recovery::SetAside })
    }

    fn limits(&self) -> AttemptLimits {
        AttemptLimits { time: PATIENCE, memory: None }
    }

    fn apart(&self, _: &Job) -> Option<tokio::process::Command> {
        None
    }
}

#[test]
fn the_metrics_show_a_commit_in_progress() {
    let folder = queue(async |queue| queue.add(&"data".into(), &[event('1')]).await.unwrap());
    let ((tell, begun), (go, wait)) = (mpsc::channel(), mpsc::channel::<()>());
    let repositories = move || {
        let resolve = Arc::new(Slow(Mutex::new((tell, wait))));
        vec![ServedRepository {
            name: "data".into(),
            opened: None,
            open: Arc::new(|| Err("it is away".into())),
            is_needed: false,
            poll: Duration::from_secs(1),
            resolve,
            fetcher: None,
        }]
    };
    let service = Running::in_folder(Manner::Broken, folder, repositories);
    let name = "hierad_job_in_progress_seconds{repository=\"data\"}";
    let in_progress = || service.get("/metrics").metric(name).unwrap().parse::<f64>().unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    assert!(in_progress() > 0.0);
    let failures = "hierad_job_failures_total{repository=\"data\"}";
    drop(go);
    // The failure is counted first. The commit is in progress until the queue has its result.
    let end = Instant::now() + PATIENCE;
    while service.get("/metrics").metric(failures).as_deref() != Some("1") || in_progress() > 0.0 {
        assert!(Instant::now() < end, "it is in progress for ever");
    }
    service.end();
}
