//! Webhooks: what is sent, and what comes of servers that do not take it.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hierad::delivery::{DeliveryError, Private, SizeLimit, Target, Webhook, WebhookError, WebhookOptions};
use zeroize::Zeroizing;

use super::servers::{Answer, Certificate, Http, closed_port};
use super::{ENOUGH, LITTLE, attempt, deliver, parcel, refused};

fn options(url: String) -> WebhookOptions {
    let (headers, size) = (Private(Vec::new()), SizeLimit::default());
    WebhookOptions { url: Private(url), secret: None, headers, authorities: None, limit: ENOUGH, size }
}

fn send(options: WebhookOptions) -> Result<(), String> {
    deliver(Target::Webhook(Webhook::new(options).unwrap()), &parcel(b"{\"a\":1}\n"))
}

/// Posts to a server on this machine, at an address with tokens in it.
fn sent_to(port: u16, limit: Duration) -> Result<(), String> {
    let headers = Private(vec![("X-Token".to_owned(), "Bearer T0KEN3".to_owned())]);
    let url = format!("http://ann:T0KEN0@127.0.0.1:{port}/hooks/T0KEN1?key=T0KEN2");
    send(WebhookOptions { headers, limit, ..options(url) })
}

#[test]
fn posts_have_an_id_and_a_signature() {
    let server = Http::start(|_| Answer::Say("202 Accepted", "thanks".to_owned()));
    let secret = Some(Private(Zeroizing::new(b"s3cret".to_vec())));
    let headers = Private(vec![("X-Team".to_owned(), "ops".to_owned())]);
    let url = format!("http://127.0.0.1:{}/hook?a=b", server.port);
    send(WebhookOptions { secret, headers, ..options(url) }).unwrap();
    let request = server.requests.recv_timeout(ENOUGH).unwrap();
    assert_eq!(request.line, "POST /hook?a=b HTTP/1.1");
    assert_eq!(request.body, b"{\"a\":1}\n");
    for (name, value) in [
        ("content-type", "application/json"),
        ("idempotency-key", "00112233445566778899aabbccddeeff"),
        ("x-hierad-event", "report"),
        ("x-team", "ops"),
        ("user-agent", concat!("hierad/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(request.headers[name], value);
    }
    let signature = &request.headers["x-hierad-signature-256"];
    // As printed by: printf '{"a":1}\n' | openssl dgst -sha256 -hmac s3cret
    assert_eq!(signature, "sha256=015557de5463cb8cd33338a9acf30081fd629d849d401e1d1b89eb16de83586f");
    if let Some(theirs) = openssl_hmac("s3cret", &request.body) {
        assert_eq!(*signature, format!("sha256={theirs}"));
    }
}

/// Returns the signature that `openssl` makes, or `None` if it is not installed.
fn openssl_hmac(key: &str, body: &[u8]) -> Option<String> {
    let mut command = Command::new("openssl");
    command.args(["dgst", "-sha256", "-hmac", key]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), body).unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    Some(printed.trim_end().rsplit(' ').next().unwrap().to_owned())
}

#[test]
fn without_a_secret_nothing_is_signed() {
    let server = Http::start(|_| Answer::Say("204 No Content", String::new()));
    sent_to(server.port, ENOUGH).unwrap();
    let request = server.requests.recv_timeout(ENOUGH).unwrap();
    assert!(!request.headers.contains_key("x-hierad-signature-256"));
    assert_eq!(request.headers["x-token"], "Bearer T0KEN3");
    assert_eq!(request.headers["authorization"], "Basic YW5uOlQwS0VOMA==");
}

#[test]
fn server_errors_are_quoted() {
    for (status, words, expected) in [
        (
            "500 Internal Server Error",
            "no\r\n\x1b[31mdisk",
            "the server answers 500 Internal Server Error: no  \\u001b[31mdisk",
        ),
        ("404 Not Found", "", "the server answers 404 Not Found"),
        ("302 Found\r\nLocation: /elsewhere", "", "the server answers 302 Found, and redirections are not followed"),
    ] {
        let server = Http::start(move |_| Answer::Say(status, words.to_owned()));
        assert_eq!(sent_to(server.port, ENOUGH), Err(expected.to_owned()));
        assert_eq!(server.requests.try_iter().count(), 1);
    }
}

#[test]
fn a_report_that_is_too_large_is_not_sent_again() {
    let server = Http::start(|_| Answer::Say("413 Payload Too Large", String::new()));
    let webhook = Webhook::new(options(format!("http://127.0.0.1:{}/", server.port))).unwrap();
    let result = attempt(Target::Webhook(webhook), &parcel(b"{}\n"));
    assert!(matches!(&result, Err(DeliveryError::Impossible(text)) if text.contains("413")), "{result:?}");
}

#[test]
fn errors_show_no_token() {
    let server = Http::start(|request| {
        let words = format!("Cannot {} with {:?}", request.line, request.headers.get("x-token"));
        Answer::Say("404 Not Found", words)
    });
    let error = refused(sent_to(server.port, ENOUGH), &["Cannot POST /***/***?***", "***"]);
    assert!(!error.contains("T0KEN"), "{error}");
    // What goes wrong on the way is told without the address.
    let error = refused(sent_to(closed_port(), ENOUGH), &["Connection refused"]);
    assert!(!error.contains("T0KEN"), "{error}");
    let error = WebhookError::to_string(&Webhook::new(options("http:/T0KEN".to_owned() + "[")).unwrap_err());
    assert!(!error.contains("T0KEN"), "{error}");
    let webhook = Webhook::new(options("http://localhost/T0KEN".to_owned())).unwrap();
    assert!(!format!("{webhook:?}").contains("T0KEN"));
}

#[test]
fn the_timeout_covers_the_whole_answer() {
    for start in ["", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 10\r\n\r\nx"] {
        let server = Http::start(move |_| Answer::Hang(start));
        let words = if start.is_empty() { "timed out" } else { "the server answers 500" };
        refused(sent_to(server.port, LITTLE), &[words]);
    }
}

#[test]
fn an_endless_answer_ends() {
    let server = Http::start(|_| Answer::Endless("500 Internal Server Error"));
    let error = refused(sent_to(server.port, ENOUGH), &["the server answers 500 Internal Server Error: xxx"]);
    assert!(error.len() < 400, "{error}");
}

#[test]
fn a_connection_that_breaks_is_told() {
    let server = Http::start(|_| Answer::Close);
    refused(sent_to(server.port, ENOUGH), &["connection closed"]);
}

#[test]
fn large_reports_are_posted() {
    let server = Http::start(|_| Answer::ok());
    let report = vec![b'x'; 50 << 20];
    let webhook = Webhook::new(options(format!("http://127.0.0.1:{}/", server.port))).unwrap();
    deliver(Target::Webhook(webhook), &parcel(&report)).unwrap();
    assert!(server.requests.recv_timeout(ENOUGH).unwrap().body == report);
}

#[test]
fn untrusted_servers_get_nothing() {
    let certificate = Arc::new(Certificate::new());
    let server = Http::with(Some(certificate.clone()), |_| Answer::ok());
    let url = |host: &str| format!("https://{host}:{}/", server.port);
    refused(send(options(url("localhost"))), &["certificate"]);
    let vouched = |host: &str| {
        let authorities = Some(certificate.pem.clone().into_bytes());
        send(WebhookOptions { authorities, ..options(url(host)) })
    };
    assert_eq!(server.requests.try_iter().count(), 0);
    vouched("localhost").unwrap();
    assert_eq!(server.requests.recv_timeout(ENOUGH).unwrap().line, "POST / HTTP/1.1");
    refused(vouched("127.0.0.1"), &["certificate not valid for name \"127.0.0.1\""]);
    let stranger = Some(Certificate::new().pem.into_bytes());
    refused(send(WebhookOptions { authorities: stranger, ..options(url("localhost")) }), &["certificate"]);
    assert_eq!(server.requests.try_iter().count(), 0);
    let nothing = WebhookOptions { authorities: Some(b"words".to_vec()), ..options(url("localhost")) };
    assert!(matches!(Webhook::new(nothing), Err(WebhookError::Authorities)));
}

#[test]
fn a_server_without_tls_is_told() {
    let server = Http::start(|_| Answer::ok());
    let url = format!("https://localhost:{}/", server.port);
    refused(send(WebhookOptions { limit: LITTLE, ..options(url) }), &["error sending request"]);
}
