//! The queue by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use hierad::daemon::queue::{NextDelivery, Queue, RenderedReport, ReportQuery};
use hierad::event::{CommitEvent, EventKind, JobNumber};
use hierad::git::{BranchName, CommitId};

use super::service::SITE;
use crate::support::Sandbox;

fn event(digit: &str) -> CommitEvent {
    let after = CommitId::from_hex(&digit.repeat(40)).unwrap();
    CommitEvent { branch: BranchName::new("main"), before: None, after, kind: EventKind::New }
}

/// The last report of a commit, wherever it has come to.
fn last(digit: &str) -> ReportQuery<'static> {
    ReportQuery { commit: event(digit).after, repository: None, branch: None }
}

fn written() -> RenderedReport {
    RenderedReport { json: b"{}\n".to_vec(), text: None }
}

/// The id of the next job, which then has a report for a sink that has taken it if `is_taken`.
async fn resolve(queue: &Queue, is_taken: bool) -> String {
    let (job, _) = queue.next_job(&"data".into()).await.unwrap().unwrap();
    queue.resolved(job.name.number, &written(), &["sink"]).await.unwrap();
    if is_taken {
        queue.delivered(job.name.number, "sink").await.unwrap();
    }
    job.name.id.to_string()
}

#[tokio::test]
async fn old_delivered_jobs_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    let mut ids = BTreeSet::new();
    for digit in ["a", "b", "a", "a"] {
        queue.add(&"data".into(), &[event(digit)]).await.unwrap();
        ids.insert(resolve(&queue, digit == "a").await);
    }
    assert_eq!(ids.len(), 4, "what happens again is another job");
    assert_eq!(queue.forget(Duration::from_hours(1)).await.unwrap(), 0, "they are not old");
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(queue.forget(Duration::ZERO).await.unwrap(), 3, "one is not delivered");
    assert!(queue.report(last("a")).await.unwrap().is_none());
    assert!(queue.report(last("b")).await.unwrap().is_some());
    assert!(
        matches!(queue.next_delivery("sink", false).await.unwrap(), NextDelivery::Report { job, .. } if job.name.number == JobNumber(2))
    );
    queue.add(&"data".into(), &[event("a")]).await.unwrap();
    let (next, _) = queue.next_job(&"data".into()).await.unwrap().unwrap();
    assert_eq!(next.name.number, JobNumber(5), "a number is not used again");
    queue.check().await.unwrap();
}

#[tokio::test]
async fn repeated_events_are_new_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    for _ in 0..2 {
        queue.add(&"data".into(), &[event("a")]).await.unwrap();
    }
    let (first, _) = queue.next_job(&"data".into()).await.unwrap().unwrap();
    queue.not_resolved(first.name.number, "gone", None).await.unwrap();
    assert_eq!(queue.drop(None, None, false).await.unwrap(), 1);
    queue.add(&"data".into(), &[event("a")]).await.unwrap();
    let ids = [resolve(&queue, true).await, resolve(&queue, true).await];
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn retry_makes_waiting_jobs_due() {
    let site = Sandbox::of(SITE);
    let (queue, _lock) = Queue::create(&site.beside("state")).await.unwrap();
    let ask = |arguments: &str| site.hierad(&format!("queue --state ../state {arguments}"));
    queue.add(&"data".into(), &[event("a"), event("b")]).await.unwrap();
    for (arguments, retried) in [("retry --all", "1 to be tried again\n"), ("retry 1", "1 to be tried again\n")] {
        let (job, wait) = queue.next_job(&"data".into()).await.unwrap().unwrap();
        assert_eq!((job.name.number, job.attempts, wait), (JobNumber(1), 0, Duration::ZERO));
        queue.not_resolved(JobNumber(1), "gone", Some(Duration::from_hours(1))).await.unwrap();
        let (_, wait) = queue.next_job(&"data".into()).await.unwrap().unwrap();
        assert!(wait > Duration::from_mins(59), "{wait:?}");
        let list = ask("");
        assert!(list.ok().contains("1  waiting      main aaaaaaaa, tried once, again in 3"), "{list:?}");
        assert!(list.ok().contains("2  waiting      main bbbbbbbb\n"), "{list:?}");
        assert_eq!(ask(arguments).ok(), retried);
    }
    assert_eq!(ask("retry 2").ok(), "0 to be tried again\n", "it is to be tried anyway");
    let (job, _) = queue.next_job(&"data".into()).await.unwrap().unwrap();
    queue.resolved(job.name.number, &written(), &["sink"]).await.unwrap();
    for action in ["retry", "drop"] {
        assert!(ask(&format!("{action} --sink sink")).ok().starts_with("0 "));
        ask(&format!("{action} 999")).fails(&["hierad: there is no 999 in the queue"]);
        ask(&format!("{action} --sink nope")).fails(&["hierad: the queue has no report for a sink 'nope'"]);
    }
}

#[test]
fn inaccessible_queues_are_not_absent() {
    let site = Sandbox::of(SITE);
    site.hierad("queue --state ../nowhere").fails(&["there is no daemon's state in ../nowhere"]);
    site.sh("ln -s loop ../loop");
    site.hierad("queue --state ../loop").fails(&["cannot use ../loop for the state of the daemon: "]);
}

/// Statements that make former versions of a queue from the last one, and if these knew of schedules. Version 2 had two
/// names for them.
const FORMER: [(&str, bool); 4] = [
    ("PRAGMA user_version = 3", true),
    ("ALTER TABLE job DROP COLUMN due; PRAGMA user_version = 2", true),
    ("ALTER TABLE job DROP COLUMN due; ALTER TABLE schedule RENAME TO plan; PRAGMA user_version = 2", true),
    (
        "ALTER TABLE job DROP COLUMN due; DROP TABLE schedule; DROP INDEX delivery_by_due; DROP INDEX delivery_by_age; \
         CREATE INDEX delivery_by_sink ON delivery (sink, state, due, job); PRAGMA user_version = 1",
        false,
    ),
];

#[tokio::test]
async fn queues_of_former_versions_go_on() {
    for (back, knew_schedules) in FORMER {
        let folder = tempfile::tempdir().unwrap();
        let (queue, lock) = Queue::create(folder.path()).await.unwrap();
        queue.add(&"data".into(), &[event("a")]).await.unwrap();
        let now = std::time::SystemTime::now();
        queue.done("nightly", now - Duration::from_hours(1)).await.unwrap();
        queue.close().await;
        drop(lock);
        let database = format!("sqlite://{}", folder.path().join("queue.db").display());
        let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
        let reasons = "ALTER TABLE schedule DROP COLUMN failures; ALTER TABLE schedule DROP COLUMN error";
        sqlx::raw_sql(reasons).execute(&mut connection).await.unwrap();
        sqlx::raw_sql(back).execute(&mut connection).await.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
        let queue = Queue::open(folder.path()).await.unwrap();
        assert_eq!(queue.next_job(&"data".into()).await.unwrap().unwrap().0.name.number, JobNumber(1), "{back}");
        let known = queue.last_done("nightly", now).await.unwrap() < now - Duration::from_mins(30);
        assert_eq!(known, knew_schedules, "{back}");
        queue.check().await.unwrap();
    }
}
