//! The stream of reports.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value as Json;

use super::client::{Daemon, request};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A client of the stream.
struct Listener(BufReader<TcpStream>);

impl Listener {
    fn new(daemon: &Daemon, headers: &str) -> Listener {
        Listener::of(daemon, "/v1/reports/stream", headers)
    }

    fn of(daemon: &Daemon, path: &str, headers: &str) -> Listener {
        let mut stream = daemon.connect();
        stream.write_all(&request("GET", path, headers, b"")).unwrap();
        let mut listener = Listener(BufReader::new(stream));
        assert_eq!(listener.line(), "HTTP/1.1 200 OK");
        while !listener.line().is_empty() {}
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The number and the summary of the next report.
    fn next(&mut self) -> (i64, String) {
        let (mut number, mut report) = (None, None);
        while report.is_none() || number.is_none() {
            let line = self.line();
            if let Some(id) = line.strip_prefix("id: ") {
                number = id.parse().ok();
            } else if let Some(data) = line.strip_prefix("data: ") {
                report = Some(serde_json::from_str::<Json>(data).unwrap());
            }
        }
        let (number, report) = (number.unwrap(), report.unwrap());
        assert_eq!(report["event"]["number"], number);
        (number, report["after"]["summary"].as_str().unwrap().to_owned())
    }
}

#[test]
fn open_overviews_get_new_reports() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let mut viewers: Vec<Listener> = (0..500).map(|_| Listener::of(&daemon, "/live", "")).collect();
    site.files("-- data/common.yaml\nmotd: one\n");
    let commit = site.commit("one").to_string();
    for viewer in &mut viewers {
        let mut sent = String::new();
        while !sent.starts_with("data: ") {
            sent = viewer.line();
        }
        let part = sent.trim_start_matches("data: ");
        assert!(part.contains(&format!("/commits/{commit}")), "{part}");
        assert!(daemon.get("/").ok().contains(part), "{part}");
    }
}

#[test]
fn clients_resume_the_stream() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let commit = |name: &str| {
        site.files(&format!("-- data/common.yaml\nmotd: {name}\n"));
        site.commit(name);
    };
    let mut live = Listener::new(&daemon, "");
    commit("one");
    let (first, name) = live.next();
    assert_eq!(name, "one");
    drop(live);
    commit("two");
    commit("three");
    daemon.wait_for_reports(3);
    let mut again = Listener::new(&daemon, &format!("Last-Event-ID: {first}\r\n"));
    assert_eq!([again.next().1, again.next().1], ["two", "three"]);
    commit("four");
    assert_eq!(again.next().1, "four");
    for unknown in ["0", "99999", "-1"] {
        let mut all = Listener::new(&daemon, &format!("Last-Event-ID: {unknown}\r\n"));
        assert_eq!([0; 4].map(|_| all.next().1), ["one", "two", "three", "four"]);
    }
    let wrong = daemon.ask("GET", "/v1/reports/stream", "Last-Event-ID: x\r\n", b"");
    wrong.refuses(400, "'Last-Event-ID' must be a number");
    let mut fresh = Listener::new(&daemon, "");
    commit("five");
    assert_eq!(fresh.next().1, "five", "without it, what is made from now on");
    assert_eq!(again.next().1, "five");
}

#[test]
fn a_stream_names_its_place_before_its_first_report() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let commit = |name: &str| {
        site.files(&format!("-- data/common.yaml\nmotd: {name}\n"));
        site.commit(name);
    };
    let place = |listener: &mut Listener| -> i64 {
        let line = std::iter::repeat_with(|| listener.line()).find(|line| line.starts_with("id: ")).unwrap();
        line["id: ".len()..].parse().unwrap()
    };
    let resumed = |place: i64| Listener::new(&daemon, &format!("Last-Event-ID: {place}\r\n"));
    let mut cut = Listener::new(&daemon, "");
    let first = place(&mut cut);
    drop(cut);
    commit("one");
    daemon.wait_for_reports(1);
    let mut cut = Listener::new(&daemon, "");
    let second = place(&mut cut);
    drop(cut);
    commit("two");
    daemon.wait_for_reports(2);
    assert_eq!(resumed(first).next().1, "one");
    assert_eq!(resumed(second).next().1, "two");
}

#[test]
fn stream_clients_are_limited() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let mut listeners: Vec<Listener> = (0..64).map(|_| Listener::new(&daemon, "")).collect();
    let refused = daemon.get("/v1/reports/stream");
    refused.refuses(503, "too many clients");
    assert!(refused.header("retry-after").is_some());
    site.files("-- data/common.yaml\nmotd: all\n");
    site.commit("all");
    for listener in &mut listeners {
        assert_eq!(listener.next().1, "all");
    }
}
