//! Mail: what is sent, how the way is protected, and what comes of servers that do not take it.

use std::sync::Arc;
use std::time::Duration;

use hierad::delivery::{
    Mail, MailError, MailOptions, MailServer, MailTls, Parcel, Private, Target, mailbox, plain_text,
};
use hierad::git::BranchName;

use super::servers::{Certificate, Mood, RunningSmtp, Smtp, closed_port};
use super::{ENOUGH, LITTLE, deliver, parcel, refused};

fn options(server: &str, tls: MailTls) -> MailOptions {
    let mut server = MailServer::parse(server).unwrap();
    server.tls = tls;
    let from = mailbox("Hiera Daemon <hierad@example.com>").unwrap();
    let to = vec![mailbox("ops@example.com").unwrap(), mailbox("Ann Müller <ann@example.org>").unwrap()];
    MailOptions { server, credentials: None, authorities: None, from, to, limit: ENOUGH, whole: Arc::default() }
}

fn send(options: MailOptions) -> Result<(), String> {
    deliver(Target::Mail(Mail::new(options).unwrap()), &parcel(b"{}\n"))
}

fn send_plainly(server: &RunningSmtp, parcel: &Parcel) -> Result<(), String> {
    let options = options(&format!("smtp://127.0.0.1:{}", server.port), MailTls::None);
    deliver(Target::Mail(Mail::new(options).unwrap()), parcel)
}

#[test]
fn a_repeated_mail_has_the_same_id() {
    let server = Smtp::default().start();
    let text = "1 key changes on the only node\nbefore …\n\n.\n..\n  changed motd: \"grüße\"\n".to_owned();
    let mut parcel = parcel(b"{}\n");
    parcel.event.branch = BranchName::new("gr\u{fc}n");
    parcel.text = Some((text.clone() + &"x".repeat(2000) + "\n").into());
    let mut ids = Vec::new();
    for _ in 0..2 {
        send_plainly(&server, &parcel).unwrap();
        let letter = server.letters.recv_timeout(ENOUGH).unwrap();
        assert_eq!(letter.from, "MAIL FROM:<hierad@example.com>");
        assert_eq!(letter.to, ["RCPT TO:<ops@example.com>", "RCPT TO:<ann@example.org>"]);
        let (head, body) = letter.parts();
        for line in [
            "From: \"Hiera Daemon\" <hierad@example.com>",
            "To: ops@example.com, ",
            "Subject: [control] =?utf-8?b?Z3LDvG46?= 1 key changes on the only node",
            "Auto-Submitted: auto-generated",
            "Content-Type: text/plain; charset=utf-8",
            "MIME-Version: 1.0",
            "Date: ",
        ] {
            assert!(head.lines().any(|found| found.starts_with(line)), "no {line:?} in {head}");
        }
        assert!(letter.content.is_ascii() && letter.content.lines().all(|line| line.len() <= 998));
        assert!(body.starts_with(&text), "{body}");
        let before = "a".repeat(40);
        assert!(
            body.contains(&format!("\n-- \nAll of it: hierad diff --full {before} {}\n", "b".repeat(40))),
            "{body}"
        );
        assert!(body.trim_end().ends_with("Report 7, 00112233445566778899aabbccddeeff, of control"), "{body}");
        ids.push(head.lines().find(|line| line.starts_with("Message-ID:")).unwrap().to_owned());
    }
    assert_eq!(ids, ["Message-ID: <00112233445566778899aabbccddeeff@example.com>"; 2]);
}

#[test]
fn plain_smtp_must_be_asked_for() {
    let server = Smtp::default().start();
    let url = format!("smtp://localhost:{}", server.port);
    refused(send(options(&url, MailTls::Required)), &["STARTTLS is not supported"]);
    assert_eq!(server.letters.try_iter().count(), 0);
    send(options(&url, MailTls::Opportunistic)).unwrap();
    assert!(!server.letters.recv_timeout(ENOUGH).unwrap().is_protected);
}

#[test]
fn starttls_protects_mail_and_password() {
    let certificate = Arc::new(Certificate::new());
    let server = Smtp { starttls: Some(certificate.clone()), ..Smtp::default() }.start();
    let url = format!("smtp://localhost:{}", server.port);
    for tls in [MailTls::Required, MailTls::Opportunistic] {
        let authorities = Some(certificate.pem.clone().into_bytes());
        let credentials = Some(("ann".to_owned(), Private("s3cret".to_owned())));
        send(MailOptions { authorities, credentials, ..options(&url, tls) }).unwrap();
        let letter = server.letters.recv_timeout(ENOUGH).unwrap();
        assert!(letter.is_protected);
        assert_eq!(letter.auth.unwrap(), "AUTH PLAIN AGFubgBzM2NyZXQ=");
        // A certificate that nobody vouches for protects nothing.
        refused(send(options(&url, tls)), &["certificate"]);
        let stranger = Some(Certificate::new().pem.into_bytes());
        refused(send(MailOptions { authorities: stranger, ..options(&url, tls) }), &["certificate"]);
    }
    assert_eq!(server.letters.try_iter().count(), 0);
}

#[test]
fn smtps_is_protected_from_the_beginning() {
    let certificate = Arc::new(Certificate::new());
    let server = Smtp { implicit: Some(certificate.clone()), ..Smtp::default() }.start();
    let url = format!("smtps://localhost:{}", server.port);
    let authorities = Some(certificate.pem.clone().into_bytes());
    send(MailOptions { authorities, ..options(&url, MailTls::Implicit) }).unwrap();
    assert!(server.letters.recv_timeout(ENOUGH).unwrap().is_protected);
    refused(send(options(&url, MailTls::Implicit)), &["certificate"]);
    let nothing = MailOptions { authorities: Some(b"words".to_vec()), ..options(&url, MailTls::Implicit) };
    assert!(matches!(Mail::new(nothing), Err(MailError::Authorities)));
}

#[test]
fn server_errors_are_quoted() {
    for (line, answer, words) in [
        ("GREETING", "421 too busy", "421"),
        ("MAIL", "451 greylisted", "greylisted"),
        ("RCPT TO:<ann", "550 no such user", "no such user"),
        ("DATA", "554 no", "554"),
        ("CONTENT", "552-too\r\n552 large", "too"),
    ] {
        let server = Smtp { moods: vec![(line, Mood::Say(answer))], ..Smtp::default() }.start();
        refused(send_plainly(&server, &parcel(b"{}\n")), &["the mail server 127.0.0.1: ", words]);
        assert_eq!(server.letters.try_iter().count(), usize::from(line == "CONTENT"));
    }
    let server = Smtp { moods: vec![("AUTH", Mood::Say("535 wrong"))], ..Smtp::default() }.start();
    let credentials = Some(("ann".to_owned(), Private("s3cret".to_owned())));
    let url = format!("smtp://localhost:{}", server.port);
    let error = refused(send(MailOptions { credentials, ..options(&url, MailTls::None) }), &["535", "wrong"]);
    assert!(!error.contains("s3cret") && !error.contains("AGFubgBzM2NyZXQ="), "{error}");
}

#[test]
fn silent_servers_are_reported() {
    refused(send(options(&format!("smtp://127.0.0.1:{}", closed_port()), MailTls::None)), &["Connection refused"]);
    for line in ["GREETING", "EHLO", "MAIL", "DATA", "CONTENT"] {
        let server = Smtp { moods: vec![(line, Mood::Close)], ..Smtp::default() }.start();
        refused(send_plainly(&server, &parcel(b"{}\n")), &["the mail server 127.0.0.1: "]);
        let server = Smtp { moods: vec![(line, Mood::Hang)], ..Smtp::default() }.start();
        let url = format!("smtp://127.0.0.1:{}", server.port);
        let late = MailOptions { limit: LITTLE, ..options(&url, MailTls::None) };
        refused(send(late), &["took longer than 0.3 s"]);
    }
}

#[test]
fn accepted_mail_needs_no_goodbye() {
    for mood in [Mood::Hang, Mood::Close, Mood::Say("500 what?")] {
        let server = Smtp { moods: vec![("QUIT", mood)], ..Smtp::default() }.start();
        let url = format!("smtp://127.0.0.1:{}", server.port);
        send(MailOptions { limit: Duration::from_secs(10), ..options(&url, MailTls::None) }).unwrap();
        assert_eq!(server.letters.iter().take(1).count(), 1);
    }
}

#[test]
fn a_text_has_an_end() {
    let case = |keys: usize| {
        let side = |value: &str| (0..keys).map(|key| format!("key{key}: {value}{key}")).collect::<Vec<_>>().join(", ");
        let (before, after) = (side("grün"), side("blau"));
        let yaml = format!("{{nodes: [web01], before: {{'*': {{{before}}}}}, after: {{'*': {{{after}}}}}}}");
        plain_text(&crate::report::report(&serde_yaml::from_str(&yaml).unwrap()))
    };
    let short = case(2);
    assert!(short.starts_with("2 keys change on the only node\n") && !short.contains('…'), "{short}");
    let long = case(20_000);
    assert!(long.starts_with("20,000 keys change on the only node\n"));
    assert!(long.len() > 120_000 && long.len() < 140_000, "{}", long.len());
    assert!(long.ends_with("\n\n… and more: the report is too long for a mail\n"), "{}", &long[long.len() - 200..]);
}

#[test]
fn a_headline_is_one_line_of_body_and_subject() {
    let yaml = "{nodes: [web01], before: {'*': {a: 1}}, after: {'*': {a: 2}}}";
    let mut report = crate::report::report(&serde_yaml::from_str(yaml).unwrap());
    report.narrowed_to = (1..4).map(|n| format!("data/{n}/{}/common.yaml", "long".repeat(5))).collect();
    let (headline, text) = (report.headline(), plain_text(&report));
    assert!(headline.len() > 100 && text.starts_with(&format!("{headline}\n")), "{text}");
    let server = Smtp::default().start();
    let parcel = Parcel { text: Some(text.into()), ..parcel(b"{}\n") };
    send_plainly(&server, &parcel).unwrap();
    let (head, _) = server.letters.recv_timeout(ENOUGH).unwrap().parts();
    let subject = head.lines().find(|line| line.starts_with("Subject: ")).unwrap();
    assert!(subject.ends_with(&format!(": {headline}")), "{subject}");
}
