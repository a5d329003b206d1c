//! Sinks of each kind, against real servers, commands and folders that work, fail, or do nothing.

mod command;
mod daemon;
mod filter;
mod folder;
mod mail;
mod queue;

pub(crate) mod servers;
mod summary;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use hierad::delivery::{DeliveryError, Filter, Parcel, Sink, Target};
use hierad::event::{CommitEvent, EventKind, JobId, JobName, JobNumber};
use hierad::git::{BranchName, CommitId};

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A time that no server of a test needs.
const ENOUGH: Duration = Duration::from_secs(30);

/// A time that is soon over.
const LITTLE: Duration = Duration::from_millis(300);

fn job(number: i64, id: &str) -> JobName {
    JobName { id: JobId::new(id), number: JobNumber(number), repository: "control".into() }
}

fn parcel(report: &[u8]) -> Parcel {
    Parcel {
        job: job(7, "00112233445566778899aabbccddeeff"),
        event: CommitEvent::new(
            BranchName::new("production"),
            CommitId::from_hex(&"a".repeat(40)),
            CommitId::from_hex(&"b".repeat(40)).unwrap(),
            EventKind::New,
        ),
        report: Arc::from(report),
        text: Some("2 keys change on both nodes\n".into()),
    }
}

/// Delivers a parcel, or returns why it was refused.
fn deliver(target: Target, parcel: &Parcel) -> Result<(), String> {
    attempt(target, parcel).map_err(|error| match error {
        DeliveryError::Refused { text, .. } => text,
        error => panic!("{error}"),
    })
}

/// Delivers a parcel.
fn attempt(target: Target, parcel: &Parcel) -> Result<(), DeliveryError> {
    let sink = Sink { name: "s".to_owned(), filter: Filter::default(), retry_for: Duration::ZERO, target };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let delivery = async { tokio::time::timeout(ENOUGH, sink.deliver(parcel)).await };
    runtime.block_on(delivery).expect("the sink has a limit of its own")
}

/// Why a parcel was not taken, which names all of `words`.
#[track_caller]
fn refused(result: Result<(), String>, words: &[&str]) -> String {
    let error = result.expect_err("it is refused");
    for word in words {
        assert!(error.contains(word), "no {word:?} in {error:?}");
    }
    assert!(!error.contains('\n'), "{error:?}");
    error
}

#[test]
fn documented_sinks_are_valid() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/sinks.md")).unwrap();
    let (_, settings) = page.split_once("```yaml\n").unwrap();
    let (settings, _) = settings.split_once("```").unwrap();
    let site = Sandbox::of(SITE);
    site.settings(format!("profiles: [profiles]\n{settings}").replace("/srv/git/control.git", "."));
    site.hierad("check").ok();
    site.hierad("watch").fails(&["sink 'people': cannot read /etc/hierad/mail.password: No such file"]);
}
