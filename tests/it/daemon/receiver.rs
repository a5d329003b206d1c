//! A server that takes webhooks, in the mood that a test sets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;

use super::service::Got;
use crate::support::terminal::read;

/// Its way to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// It takes what comes.
    Good,
    /// It answers that it has failed, and takes nothing.
    Broken,
    /// It says nothing until the client hangs up.
    Silent,
    /// It hangs up.
    Rude,
}

/// The server; it goes on until the process ends.
pub(super) struct Receiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    mood: Mood,
    got: Got,
    /// The reports as they came, until they are asked for.
    reports: Vec<Json>,
}

impl Receiver {
    pub(super) fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { mood: Mood::Good, got: Got::new(), reports: Vec::new() }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = shared.clone();
                std::thread::spawn(move || _ = serve(&stream.unwrap(), &state));
            }
        });
        Receiver { address, state }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn set(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    pub(super) fn got(&self) -> Got {
        self.state.lock().unwrap().got.clone()
    }

    /// Returns the reports that came since it was asked last.
    pub(super) fn reports(&self) -> Vec<Json> {
        std::mem::take(&mut self.state.lock().unwrap().reports)
    }
}

/// Answers the requests of a connection until it ends, which it may at any point.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut input = BufReader::new(stream);
    loop {
        let (mut length, mut id) = (0, String::new());
        loop {
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            match line.trim().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
                Some((name, value)) if name.eq_ignore_ascii_case("idempotency-key") => value.clone_into(&mut id),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        let mood = state.lock().unwrap().mood;
        match mood {
            Mood::Good => take(&id, &body, state),
            Mood::Broken => {}
            // The client gives up and hangs up.
            Mood::Silent => return input.read(&mut [0]).map(|_| ()),
            Mood::Rude => return Ok(()),
        }
        let status = if mood == Mood::Good { "204 No Content" } else { "500 Internal Server Error" };
        // In one piece: pieces wait for each other.
        (&*stream).write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
    }
}

fn take(id: &str, body: &[u8], state: &Mutex<State>) {
    let report = read(std::str::from_utf8(body).unwrap());
    assert_eq!(report["event"]["id"], id);
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let arrival = (text(&report["branch"]), text(&report["after"]["commit"]));
    let mut state = state.lock().unwrap();
    state.got.entry(id.to_owned()).or_default().insert(arrival);
    state.reports.push(report);
}
