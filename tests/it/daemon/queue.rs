//! The queue by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use hierad::daemon::queue::{Queue, Waiting, Wanted, Written};
use hierad::daemon::{CommitEvent, CommitKind};
use hierad::git::{BranchName, CommitId};

fn event(digit: &str) -> CommitEvent {
    let after = CommitId::from_hex(&digit.repeat(40)).unwrap();
    CommitEvent { branch: BranchName::new("main"), before: None, after, kind: CommitKind::New }
}

/// The last report of a commit, wherever it has come to.
fn last(digit: &str) -> Wanted<'static> {
    Wanted { commit: event(digit).after, repository: None, branch: None }
}

fn written() -> Written {
    Written { json: b"{}\n".to_vec(), text: None }
}

/// The id of the next job, which then has a report for a sink that has taken it if `is_taken`.
async fn resolve(queue: &Queue, is_taken: bool) -> String {
    let job = queue.next_job("data").await.unwrap().unwrap();
    queue.resolved(job.number, &written(), &["sink"]).await.unwrap();
    if is_taken {
        queue.delivered(job.number, "sink").await.unwrap();
    }
    job.id
}

#[tokio::test]
async fn what_is_old_and_delivered_is_forgotten_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    let mut ids = BTreeSet::new();
    for digit in ["a", "b", "a", "a"] {
        queue.add("data", &[event(digit)]).await.unwrap();
        ids.insert(resolve(&queue, digit == "a").await);
    }
    assert_eq!(ids.len(), 4, "what happens again is another job");
    assert_eq!(queue.forget(Duration::from_hours(1)).await.unwrap(), 0, "they are not old");
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(queue.forget(Duration::ZERO).await.unwrap(), 3, "one is not delivered");
    assert!(queue.report(last("a")).await.unwrap().is_none());
    assert!(queue.report(last("b")).await.unwrap().is_some());
    assert!(
        matches!(queue.next_delivery("sink", false).await.unwrap(), Waiting::Report { job, .. } if job.number == 2)
    );
    queue.add("data", &[event("a")]).await.unwrap();
    let next = queue.next_job("data").await.unwrap().unwrap();
    assert_eq!(next.number, 5, "a number is not used again");
    queue.check().await.unwrap();
}

#[tokio::test]
async fn what_happens_again_is_another_job_though_the_first_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    for _ in 0..2 {
        queue.add("data", &[event("a")]).await.unwrap();
    }
    let first = queue.next_job("data").await.unwrap().unwrap();
    queue.not_resolved(first.number, "gone", true).await.unwrap();
    assert_eq!(queue.drop(None, None, false).await.unwrap(), 1);
    queue.add("data", &[event("a")]).await.unwrap();
    let ids = [resolve(&queue, true).await, resolve(&queue, true).await];
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_queue_of_a_former_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, lock) = Queue::create(folder.path()).await.unwrap();
    queue.add("data", &[event("a")]).await.unwrap();
    queue.close().await;
    drop(lock);
    let database = format!("sqlite://{}", folder.path().join("queue.db").display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
    let back = "DROP TABLE schedule; DROP INDEX delivery_by_due; DROP INDEX delivery_by_age; \
        CREATE INDEX delivery_by_sink ON delivery (sink, state, due, job); PRAGMA user_version = 1";
    sqlx::raw_sql(back).execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let queue = Queue::open(folder.path()).await.unwrap();
    assert_eq!(queue.next_job("data").await.unwrap().unwrap().number, 1);
    let now = std::time::SystemTime::now();
    queue.done("nightly", now - Duration::from_hours(1)).await.unwrap();
    assert!(queue.last_done("nightly", now).await.unwrap() < now);
    queue.check().await.unwrap();
}
