//! Limits on the size and the time of requests: no client makes others suffer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::client::{Answer, Daemon, PATIENCE, request};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

const SECRET: &str = "open sesame, open";

/// A daemon that is impatient with its clients.
fn impatient(site: &Sandbox) -> Daemon {
    site.write_secret("secret", SECRET);
    let http = "http: {timeout: 0.5, webhook_secret_files: {gitlab: secret}}";
    site.settings(format!("profiles: [profiles]\n{http}\n"));
    Daemon::start(site, "")
}

#[test]
fn long_bodies_are_refused() {
    let site = Sandbox::of(SITE);
    let daemon = impatient(&site);
    let json = "Content-Type: application/json\r\n";
    let said = format!(
        "POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{json}Content-Length: 99999999999\r\n\r\n"
    );
    daemon.raw(said.as_bytes()).refuses(413, "at most 1048576 bytes");
    let mut chunked = format!(
        "POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{json}Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for _ in 0..40 {
        chunked.extend_from_slice(b"8000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 0x8000));
        chunked.extend_from_slice(b"\r\n");
    }
    let mut stream = daemon.connect();
    _ = stream.write_all(&chunked);
    let answer = Answer::read(&mut stream);
    // The client may have been cut off while it was still sending.
    if answer.status != 0 {
        answer.refuses(413, "at most 1048576 bytes");
    }
    let webhook = format!(
        "POST /v1/webhooks/gitlab HTTP/1.1\r\nHost: localhost\r\nX-Gitlab-Token: {SECRET}\r\nContent-Length: 26214401\r\n\r\n"
    );
    daemon.raw(webhook.as_bytes()).refuses(413, "at most 26214400 bytes");
    let head = format!("GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 17));
    assert!(matches!(daemon.raw(head.as_bytes()).status, 431 | 0));
    let many = "X: y\r\n".repeat(1000);
    assert_eq!(daemon.ask("GET", "/health/live", &many, b"").status, 431);
    daemon.get("/health/ready").ok();
}

#[test]
fn slow_clients_are_dropped() {
    let site = Sandbox::of(SITE);
    let daemon = impatient(&site);
    // A head that never ends, one byte at a time.
    let start = Instant::now();
    let mut slow = daemon.connect();
    for byte in "GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ".bytes().chain(std::iter::repeat(b'x')) {
        if slow.write_all(&[byte]).is_err() {
            break;
        }
        assert!(start.elapsed() < PATIENCE);
        sleep(Duration::from_millis(10));
    }
    // A connection without a word, and one that has nothing more to say.
    for words in ["", "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut idle = daemon.connect();
        idle.write_all(words.as_bytes()).unwrap();
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.is_empty(), words.is_empty());
    }
    // Bodies that never end.
    let token = format!("X-Gitlab-Token: {SECRET}\r\n");
    for (path, headers) in [("lookup", "Content-Type: application/json\r\n"), ("webhooks/gitlab", &token)] {
        let head = format!(
            "POST /v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: 100\r\n\r\n{{"
        );
        daemon.raw(head.as_bytes()).refuses(408, "takes too long");
    }
    daemon.get("/health/ready").ok();
}

#[test]
fn idle_connections_keep_nobody_out() {
    let site = Sandbox::of(SITE);
    let daemon = impatient(&site);
    let crowd: Vec<_> = (0..1000).map(|_| daemon.connect()).collect();
    for _ in 0..5 {
        daemon.get("/health/ready").ok();
    }
    site.files("-- data/common.yaml\nmotd: hi\n");
    site.commit("hi");
    daemon.wait_for_reports(1);
    drop(crowd);
}

/// Keeps `count` connections open that send a byte of a request now and then, until `is_over`.
fn crowd(address: SocketAddr, count: usize, opened: &AtomicUsize, is_over: &AtomicBool) {
    let open = || {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
        stream.write_all(b"GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\nX: ").ok()?;
        opened.fetch_add(1, Ordering::Relaxed);
        Some(stream)
    };
    let mut streams: Vec<Option<TcpStream>> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        if streams.len() < count {
            streams.push(open());
        } else {
            sleep(Duration::from_millis(20));
        }
        for stream in &mut streams {
            if stream.as_mut().is_none_or(|stream| stream.write_all(b"x").is_err()) {
                *stream = open();
            }
        }
    }
}

#[test]
fn probes_are_answered_among_slow_connections() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let (opened, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| crowd(daemon.address, 500, &opened, &is_over));
        }
        let end = Instant::now() + PATIENCE;
        while opened.load(Ordering::Relaxed) < 2_000 && Instant::now() < end {
            sleep(Duration::from_millis(20));
        }
        let probe = || {
            let start = Instant::now();
            let answers = [daemon.get("/health/live"), daemon.get("/health/ready")];
            answers.iter().all(|answer| answer.status == 200).then(|| start.elapsed())
        };
        let times: Vec<Option<Duration>> = (0..10).map(|_| probe()).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(opened.load(Ordering::Relaxed) >= 2_000);
        // A connection that is left alone is ended after ten seconds.
        assert!(times.iter().all(|time| time.is_some_and(|time| time < Duration::from_secs(5))), "{times:?}");
    });
}

#[test]
fn stalled_stream_readers_are_dropped() {
    let site = Sandbox::of(SITE);
    let daemon = impatient(&site);
    for number in 0..8 {
        site.files(&format!("-- data/common.yaml\nmotd: {}\n", ["a", "b"][number % 2].repeat(2 << 20)));
        site.commit("long");
    }
    daemon.wait_for_reports(8);
    let listeners = || daemon.metric("hierad_http_stream_clients").unwrap();
    assert_eq!(listeners(), "0");
    let mut stream = daemon.connect();
    stream.write_all(&request("GET", "/v1/reports/stream", "Last-Event-ID: 0\r\n", b"")).unwrap();
    let end = Instant::now() + PATIENCE;
    let mut peak = 0;
    while peak == 0 || listeners() != "0" {
        peak = peak.max(listeners().parse().unwrap());
        assert!(Instant::now() < end);
        sleep(Duration::from_millis(20));
    }
    assert_eq!(peak, 1);
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    assert!(read.is_err() || rest.len() < 30 << 20, "{} bytes", rest.len());
}

#[test]
fn the_daemon_ends_despite_connections() {
    let site = Sandbox::of(SITE);
    let daemon = Daemon::start(&site, "");
    let mut listener = daemon.connect();
    listener.write_all(&request("GET", "/v1/reports/stream", "", b"")).unwrap();
    let mut first = [0; 12];
    listener.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let mut idle = daemon.connect();
    idle.write_all(b"GET /health/live HTTP/1.1\r\n").unwrap();
    assert_eq!(daemon.end(), Some(0));
    listener.read_to_end(&mut Vec::new()).unwrap();
}
