//! A daemon at work, and a client that sends what it is told to, byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::extent::pause;
use crate::support::report::filled;
use crate::support::terminal::hierad;

/// The longest time that anything takes, unless there is a fault.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// A daemon that answers.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The lines of its log from here on.
    log: mpsc::Receiver<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Daemon {
    /// Starts `hierad watch` on a site, with more arguments.
    pub(super) fn start(site: &Sandbox, arguments: &str) -> Daemon {
        Daemon::start_in(site.root(), &site.beside("state"), arguments)
    }

    /// Starts `hierad watch` on the repository in `folder`, with its queue in `state`.
    pub(crate) fn start_in(folder: &Path, state: &Path, arguments: &str) -> Daemon {
        let mut command = hierad(folder);
        command.args(["watch", "--listen", "127.0.0.1:0", "--state"]).arg(state);
        let poll = if arguments.contains("--poll") { "" } else { "--poll 0.05" };
        command.args(poll.split_whitespace()).args(arguments.split_whitespace());
        let daemon = Daemon::begun(&mut command, "hierad: answering at http://");
        let end = Instant::now() + PATIENCE;
        while daemon.get("/health/ready").status != 200 {
            assert!(Instant::now() < end, "it is never ready");
        }
        daemon
    }

    /// Starts `hierad serve` on the repository in `folder`, with more arguments.
    pub(crate) fn serve(folder: &Path, arguments: &str) -> Daemon {
        let mut command = hierad(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments.split_whitespace());
        Daemon::begun(&mut command, "hierad: the page is at http://")
    }

    /// Starts `hierad demo` in `folder`, which ends with the page.
    pub(crate) fn demo(folder: &Path) -> Daemon {
        Daemon::begun(hierad(folder).args(["demo", "--serve", "127.0.0.1:0"]), "hierad: the page is at http://")
    }

    /// Starts a program that says where it answers.
    fn begun(command: &mut Command, announcement: &str) -> Daemon {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let start = said.len();
            assert!(errors.read_line(&mut said).unwrap() > 0, "it has ended: {said}");
            if let Some(address) = said[start..].trim().strip_prefix(announcement) {
                break address.trim_end_matches('/').parse().unwrap();
            }
        };
        let (tell, log) = mpsc::channel();
        std::thread::spawn(move || errors.lines().map_while(Result::ok).for_each(|line| _ = tell.send(line)));
        Daemon { child, address, log }
    }

    /// Waits until a line of the log has `words`.
    pub(crate) fn wait_for_log(&self, words: &str) {
        while !self.log.recv_timeout(PATIENCE).unwrap().contains(words) {}
    }

    /// Waits for a line about something that is done with low priority, which other tests may hold up.
    pub(crate) fn wait_long_for_log(&self, words: &str) {
        while !self.log.recv_timeout(10 * PATIENCE).unwrap().contains(words) {}
    }

    pub(super) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends bytes as they are; all that comes back until the connection ends.
    pub(super) fn raw(&self, request: &[u8]) -> Answer {
        raw(self.address, request)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", b"")
    }

    /// Asks with JSON.
    pub(crate) fn post(&self, path: &str, body: &Json) -> Answer {
        self.ask("POST", path, "Content-Type: application/json\r\n", body.to_string().as_bytes())
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        self.raw(&request(method, path, headers, body))
    }

    /// Waits until the reports that are kept are so many; their numbers, the latest first.
    pub(super) fn wait_for_reports(&self, count: usize) -> Vec<i64> {
        let start = Instant::now();
        loop {
            let list = self.get("/v1/reports").json();
            let numbers = list["reports"].as_array().unwrap().iter().map(|report| report["number"].as_i64().unwrap());
            let numbers: Vec<i64> = numbers.collect();
            if numbers.len() >= count {
                return numbers;
            }
            assert!(start.elapsed() < PATIENCE, "{count} reports expected: {list}");
            pause(start);
        }
    }

    /// A line of the metrics.
    pub(crate) fn metric(&self, name: &str) -> Option<String> {
        self.get("/metrics").metric(name)
    }

    /// Tells it to read its settings again.
    pub(super) fn reload(&self) {
        assert!(Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Tells it to end; the status that it ends with.
    pub(super) fn end(mut self) -> Option<i32> {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Connects from another address of this machine.
pub(crate) fn connect_from(from: Ipv4Addr, address: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn raw(address: SocketAddr, request: &[u8]) -> Answer {
    raw_on(connect(address), request)
}

/// Sends bytes as they are; all that comes back until the connection ends.
pub(crate) fn raw_on(mut stream: TcpStream, request: &[u8]) -> Answer {
    // It may have answered, and ended the connection, before it has read all.
    _ = stream.write_all(request);
    Answer::read(&mut stream)
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let head = format!("{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{headers}{length}\r\n");
    [head.as_bytes(), body].concat()
}

impl Answer {
    pub(crate) fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the rest of the line of metrics that begins with `name`.
    pub(crate) fn metric(&self, name: &str) -> Option<String> {
        self.body.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        filled(serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}")))
    }

    /// The body; it must have been done.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.status, 200, "{self:?}");
        &self.body
    }

    /// Fails unless it is a problem of this status, whose text has these words.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(words), "no {words:?} in {problem}");
    }
}
