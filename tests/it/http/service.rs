//! The server of the library, with answers that are slow or fail.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use hierad::daemon::http::{
    AnswerError, Answers, Listener, LookupRequest, LookupResponse, NodeSnapshot, Options, Server,
};
use hierad::daemon::queue::Queue;
use hierad::daemon::service::{Service, ServiceError, Services};
use tokio::sync::oneshot;

use super::client::{Answer, PATIENCE, raw, request};

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

    fn snapshot(&self, _: &str, _: &str, _: &[String]) -> Result<NodeSnapshot, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
    }

    fn lookup(&self, _: &LookupRequest) -> Result<LookupResponse, AnswerError> {
        Err(AnswerError::Unknown("nothing".to_owned()))
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
        let (shutdown, stopped) = oneshot::channel();
        let (tell, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let folder = tempfile::tempdir().unwrap();
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
                    queue,
                    repositories: Vec::new(),
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
    third.refuses(503, "others are being answered");
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
            answer.refuses(500, "the log tells more");
            assert!(!answer.body.contains("secret"));
        }
        service.get("/health/ready").ok();
        service.end();
    }
}
