//! Reports that are too large for a sink: what it gets in their place, and where the whole is.

use std::fmt::Write as _;
use std::sync::Arc;

use hierad::delivery::{
    Command, Filter, Mail, MailOptions, MailServer, Parcel, Private, SizeLimit, Target, Webhook, WebhookOptions,
    WholeReports, mailbox,
};
use hmac::{Hmac, Mac};
use serde_json::Value as Json;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::servers::{Answer, Http, Smtp};
use super::{ENOUGH, deliver, parcel};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// The report of a commit with many changes and a blind spot, and the parcel with it.
fn large() -> (Parcel, Json) {
    let site = Sandbox::of(SITE);
    let keys = (0..200).fold(String::new(), |mut keys, number| {
        _ = writeln!(keys, "key{number}: {number}");
        keys
    });
    site.write("data/common.yaml", format!("ntp: [a, b]\n{keys}"));
    site.write(
        "hiera.yaml",
        "version: 5\nhierarchy: [{name: A, path: /etc/nowhere.yaml}, {name: C, path: common.yaml}]\n",
    );
    site.commit("large");
    let report = site.hierad("diff --format json").ok().to_owned();
    let json = serde_json::from_str(&report).unwrap();
    (parcel(report.as_bytes()), json)
}

fn read_by_command(parcel: &Parcel, size: SizeLimit) -> Json {
    let folder = tempfile::tempdir().unwrap();
    let arguments = vec!["-c".to_owned(), "cat > report".to_owned()];
    let command = Command::new("sh".to_owned(), arguments, folder.path().to_owned(), ENOUGH).with_size(size);
    deliver(Target::Command(command), parcel).unwrap();
    serde_json::from_slice(&std::fs::read(folder.path().join("report")).unwrap()).unwrap()
}

#[test]
fn large_reports_are_summed_up() {
    let (parcel, whole) = large();
    let length = parcel.report.len();
    assert!(length > 10_000);
    let limit = |bytes: usize, whole: WholeReports| SizeLimit { bytes: Some(bytes), whole: Arc::new(whole) };
    // What is just small enough is whole.
    assert_eq!(read_by_command(&parcel, limit(length, WholeReports::default())), whole);
    let summary = read_by_command(&parcel, limit(length - 1, WholeReports::default()));
    for (name, value) in whole.as_object().unwrap() {
        match &**name {
            "blind_spots" => assert_eq!(summary[name].as_array().unwrap().len(), value.as_array().unwrap().len()),
            name if value.is_array() => assert_eq!(summary[name], serde_json::json!([]), "{name}"),
            name => assert_eq!(&summary[name], value, "{name}"),
        }
    }
    assert!(!summary["blind_spots"].as_array().unwrap().iter().any(|spot| spot.get("nodes").is_some()), "{summary}");
    assert_eq!((&summary["truncated"], &summary["size"]), (&true.into(), &length.into()));
    assert_eq!(summary["report"], Json::Null);
    assert!(summary.to_string().len() < 5_000, "{summary}");
    // An address comes first, then the file of a sink that gets all reports of the branch.
    let number = "0000000007-00112233445566778899aabbccddeeff.json";
    let narrow = Filter { minimum: 1, ..Filter::default() };
    let folders = vec![("/srv/few".into(), narrow), ("/srv/all".into(), Filter::default())];
    let by_file = WholeReports { url: None, folders: folders.clone() };
    assert_eq!(read_by_command(&parcel, limit(1, by_file))["report"], format!("/srv/all/{number}"));
    let url = Webhook::check("https://example.com/hiera/").ok();
    let place = read_by_command(&parcel, limit(1, WholeReports { url, folders }))["report"].clone();
    let commit = "b".repeat(40);
    assert_eq!(place, format!("https://example.com/hiera/v1/reports/{commit}?repository=control&branch=production"));
    // What is no report goes out as it is.
    let odd = super::parcel(b"[1, 2, 3]\n");
    assert_eq!(read_by_command(&odd, limit(1, WholeReports::default())), serde_json::json!([1, 2, 3]));
}

#[test]
fn a_summary_keeps_to_the_limit() {
    let (_, whole) = large();
    let least = 3_000;
    let entries = |count: usize, length: usize| -> Json {
        (0..count).map(|n| serde_json::json!({"code": n, "text": "x".repeat(length)})).collect()
    };
    for (spots, policies, length) in
        [(1000, 0, 20), (1000, 1000, 200), (0, 1000, 20), (60, 1, 1000), (2, 2, 5_000), (20_000, 3, 1)]
    {
        let mut report = whole.clone();
        (report["blind_spots"], report["policies"]) = (entries(spots, length), entries(policies, length));
        let parcel = super::parcel(report.to_string().as_bytes());
        for bytes in [least, 10_000, 100_000].into_iter().filter(|bytes| *bytes < parcel.report.len()) {
            let summary = read_by_command(&parcel, SizeLimit { bytes: Some(bytes), whole: Arc::default() });
            assert!(
                summary.to_string().len() < bytes,
                "{spots} {policies} {length} {bytes}: {}",
                summary.to_string().len()
            );
            for (name, count) in [("blind_spots", spots), ("policies", policies)] {
                let left_out = summary["left_out"][name].as_u64().unwrap_or(0);
                let told = summary[name].as_array().unwrap().len() + usize::try_from(left_out).unwrap();
                assert_eq!(told, count, "{name}, {length} {bytes}");
            }
            // Those of policies come first.
            let has_spots = !summary["blind_spots"].as_array().unwrap().is_empty();
            assert!(!has_spots || summary["left_out"].get("policies").is_none(), "{spots} {policies} {length} {bytes}");
        }
    }
    // All that fits is there, and nothing is counted.
    let mut report = whole;
    (report["blind_spots"], report["policies"]) = (entries(5, 20), entries(5, 20));
    let parcel = super::parcel(report.to_string().as_bytes());
    let summary = read_by_command(&parcel, SizeLimit { bytes: Some(9_000), whole: Arc::default() });
    assert_eq!((&summary["blind_spots"], &summary["policies"]), (&entries(5, 20), &entries(5, 20)));
    assert_eq!(summary.get("left_out"), None);
}

#[test]
fn no_name_makes_a_summary_long() {
    let level = |level: &str| {
        format!("-- hiera.yaml\nversion: 5\nhierarchy: [{{name: C, path: common.yaml}}, {{name: x, {level}}}]\n")
    };
    for (letter, count) in [("y", 100_000), ("\u{301}", 50_000), ("\u{1f600}", 25_000), ("\u{202e}", 30_000)] {
        let long = letter.repeat(count);
        for (name, files) in [
            ("a module", format!("-- Puppetfile\nmod 'a-{long}', '1'\n")),
            ("a variable", level(&format!("path: \"%{{v{long}}}.yaml\""))),
            ("a path", level(&format!("path: \"/{long}.yaml\""))),
            ("a folder", level(&format!("datadir: \"/d{long}\", path: c.yaml"))),
            ("a function", level(&format!("data_hash: \"m::f{long}\""))),
            ("a key", format!("-- data/common.yaml\n\"k{long}\": 1\n")),
        ] {
            let site = Sandbox::of(SITE);
            site.files(&files);
            site.commit("second");
            let parcel = super::parcel(site.hierad("diff --format json").ok().as_bytes());
            let summary = read_by_command(&parcel, SizeLimit { bytes: Some(3_000), whole: Arc::default() }).to_string();
            assert!(summary.len() < 3_000, "{name} of {letter:?}: {}", summary.len());
            assert!(summary.contains("headline"), "{summary}");
        }
    }
    // A name that is not long is whole.
    let site = Sandbox::of(SITE);
    site.files("-- Puppetfile\nmod 'a-abcdefghijklmnopqrstuvwxyz', '1'\n");
    site.commit("second");
    assert!(site.hierad("diff").out.contains("a-abcdefghijklmnopqrstuvwxyz"));
}

#[test]
fn webhooks_sign_the_summary() {
    let (parcel, _) = large();
    let server = Http::start(|_| Answer::ok());
    let size = SizeLimit { bytes: Some(4_096), whole: Arc::default() };
    let options = WebhookOptions {
        url: Private(format!("http://127.0.0.1:{}/", server.port)),
        secret: Some(Private(Zeroizing::new(b"key".to_vec()))),
        headers: Private(Vec::new()),
        authorities: None,
        limit: ENOUGH,
        size,
    };
    deliver(Target::Webhook(Webhook::new(options).unwrap()), &parcel).unwrap();
    let request = server.requests.recv_timeout(ENOUGH).unwrap();
    let body: Json = serde_json::from_slice(&request.body).unwrap();
    assert!(request.body.len() < 4_096 && body["truncated"] == true, "{body}");
    assert_eq!(request.headers["content-length"], request.body.len().to_string());
    let mac = Hmac::<Sha256>::new_from_slice(b"key").unwrap().chain_update(&request.body).finalize();
    assert_eq!(request.headers["x-hierad-signature-256"], format!("sha256={:x}", mac.into_bytes()));
}

#[test]
fn mails_name_the_whole_report() {
    let server = Smtp::default().start();
    let whole = Arc::new(WholeReports { url: Webhook::check("https://example.com/").ok(), folders: Vec::new() });
    let options = MailOptions {
        server: MailServer::parse(&format!("smtp://localhost:{}", server.port)).unwrap(),
        credentials: None,
        authorities: None,
        from: mailbox("hierad@example.com").unwrap(),
        to: vec![mailbox("ops@example.com").unwrap()],
        limit: ENOUGH,
        whole,
    };
    deliver(Target::Mail(Mail::new(options).unwrap()), &parcel(b"{}\n")).unwrap();
    let (_, body) = server.letters.recv_timeout(ENOUGH).unwrap().parts();
    assert!(body.contains("\nIn JSON: https://example.com/v1/reports/bbbb"), "{body}");
}
