//! The queue by itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use hierad::daemon::queue::{Cursor, Forgotten, NextDelivery, Queue, RenderedReport, ReportQuery, Retention};
use hierad::event::{CommitEvent, EventKind, JobNumber};
use hierad::git::{BranchName, CommitId};

use super::service::SITE;
use crate::support::{Sandbox, next_job};

fn event(digit: &str) -> CommitEvent {
    let after = CommitId::from_hex(&digit.repeat(40)).unwrap();
    CommitEvent::new(BranchName::new("main"), None, after, EventKind::New)
}

/// The last report of a commit, wherever it has come to.
fn last(digit: &str) -> ReportQuery<'static> {
    ReportQuery { commit: event(digit).after, repository: None, branch: None, number: None }
}

fn written() -> RenderedReport {
    RenderedReport { json: b"{}\n".to_vec(), text: None }
}

/// The id of the next job, which then has a report for a sink that has taken it if `is_taken`.
async fn resolve(queue: &Queue, is_taken: bool) -> String {
    let (job, _) = next_job(queue, "data").await.unwrap();
    queue.resolved(job.name.number, &written().packed(), &["sink"], None).await.unwrap();
    if is_taken {
        queue.delivered(job.name.number, "sink").await.unwrap();
    }
    job.name.id.to_string()
}

/// Forgets what is older than `keep`, with one sink and one repository in the settings.
async fn forget(queue: &Queue, keep: Duration) -> Forgotten {
    let (sinks, repositories) = (vec!["sink".to_owned()], vec!["data".into()]);
    queue.forget(&Retention { keep, sinks, ordered: BTreeSet::new(), repositories, reviews: Vec::new() }).await.unwrap()
}

/// Changes the database of a queue behind its back.
async fn change(folder: &Path, statements: &str) {
    let database = format!("sqlite://{}", folder.join("queue.db").display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
}

/// The number of the job whose report is next, or `None` if none is due.
fn number(next: &NextDelivery) -> Option<i64> {
    match next {
        NextDelivery::Report { job, .. } => Some(job.name.number.0),
        _ => None,
    }
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
    assert_eq!(forget(&queue, Duration::from_hours(1)).await.done, 0, "they are not old");
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(forget(&queue, Duration::ZERO).await.done, 3, "one is not delivered");
    assert!(queue.report(last("a")).await.unwrap().is_none());
    assert!(queue.report(last("b")).await.unwrap().is_some());
    assert!(
        matches!(queue.next_delivery("sink", None).await.unwrap(), NextDelivery::Report { job, .. } if job.name.number == JobNumber(2))
    );
    queue.add(&"data".into(), &[event("a")]).await.unwrap();
    let (next, _) = next_job(&queue, "data").await.unwrap();
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
    let (first, _) = next_job(&queue, "data").await.unwrap();
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
        let (job, wait) = next_job(&queue, "data").await.unwrap();
        assert_eq!((job.name.number, job.attempts, wait), (JobNumber(1), 0, Duration::ZERO));
        queue.begin(JobNumber(1)).await.unwrap();
        queue.not_resolved(JobNumber(1), "gone", Some(Duration::from_hours(1))).await.unwrap();
        let (_, wait) = next_job(&queue, "data").await.unwrap();
        assert!(wait > Duration::from_mins(59), "{wait:?}");
        let list = ask("");
        assert!(list.ok().contains("1  waiting      main aaaaaaaa, tried once, again in 3"), "{list:?}");
        assert!(list.ok().contains("2  waiting      main bbbbbbbb\n"), "{list:?}");
        assert_eq!(ask(arguments).ok(), retried);
    }
    assert_eq!(ask("retry 2").ok(), "0 to be tried again\n", "it is to be tried anyway");
    let (job, _) = next_job(&queue, "data").await.unwrap();
    queue.resolved(job.name.number, &written().packed(), &["sink"], None).await.unwrap();
    for action in ["retry", "drop"] {
        assert!(ask(&format!("{action} --sink sink")).ok().starts_with("0 "));
        ask(&format!("{action} 999")).fails(&["hierad: there is no 999 in the queue"]);
        ask(&format!("{action} --sink nope")).fails(&["hierad: the queue has no report for a sink 'nope'"]);
    }
}

#[test]
fn inaccessible_queues_are_not_absent() {
    let site = Sandbox::of(SITE);
    site.hierad("queue --state ../nowhere").fails(&["no daemon keeps its state in ../nowhere"]);
    site.sh("ln -s loop ../loop");
    site.hierad("queue --state ../loop").fails(&["cannot use ../loop for the state of the daemon: "]);
}

#[tokio::test]
async fn a_branch_that_waits_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    let on = |branch: &str, digit: &str| CommitEvent { branch: BranchName::new(branch), ..event(digit) };
    for (repository, branch, digit) in
        [("data", "a", "1"), ("data", "a", "2"), ("data", "b", "3"), ("other", "a", "4"), ("data", "b", "5")]
    {
        queue.add(&repository.into(), &[on(branch, digit)]).await.unwrap();
        let (job, _) = next_job(&queue, repository).await.unwrap();
        queue.resolved(job.name.number, &written().packed(), &["sink"], None).await.unwrap();
    }
    let next = async |repository: &str| queue.next_delivery("sink", Some(&repository.into())).await.unwrap();
    assert_eq!(number(&next("data").await), Some(1));
    queue.not_delivered(JobNumber(1), "sink", "no", Some(Duration::from_mins(30))).await.unwrap();
    assert_eq!(number(&next("data").await), Some(3), "the second is behind the first on its branch");
    assert_eq!(number(&next("other").await), Some(4));
    queue.delivered(JobNumber(3), "sink").await.unwrap();
    assert_eq!(number(&next("data").await), Some(5));
    queue.skipped(JobNumber(5), "sink", "gone").await.unwrap();
    assert!(matches!(next("data").await, NextDelivery::Later(time) if time > Duration::from_mins(29)));
    queue.not_delivered(JobNumber(1), "sink", "never", None).await.unwrap();
    assert_eq!(number(&next("data").await), Some(2), "the first was set aside");
    queue.delivered(JobNumber(2), "sink").await.unwrap();
    assert!(matches!(next("data").await, NextDelivery::Nothing));
    assert_eq!(queue.skip_others("sink", &["data".into()], "gone").await.unwrap(), 1);
    assert!(matches!(next("other").await, NextDelivery::Nothing));
    queue.check().await.unwrap();
}

#[tokio::test]
async fn a_refused_report_comes_before_later_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    for repository in ["data", "data", "other"] {
        queue.add(&repository.into(), &[event("1")]).await.unwrap();
        let (job, _) = next_job(&queue, repository).await.unwrap();
        queue.resolved(job.name.number, &written().packed(), &["sink"], None).await.unwrap();
    }
    let next = async || queue.next_delivery("sink", None).await.unwrap();
    assert_eq!(number(&next().await), Some(1));
    queue.not_delivered(JobNumber(1), "sink", "no", Some(Duration::from_mins(30))).await.unwrap();
    assert_eq!(number(&next().await), Some(3), "another repository");
    queue.hurry(JobNumber(3), &["sink"]).await.unwrap();
    queue.delivered(JobNumber(3), "sink").await.unwrap();
    assert!(matches!(next().await, NextDelivery::Later(time) if time > Duration::from_mins(29)));
    queue.hurry(JobNumber(2), &["another", "sink"]).await.unwrap();
    assert_eq!(number(&next().await), Some(1), "a new report has the first one of its branch be tried");
    queue.delivered(JobNumber(1), "sink").await.unwrap();
    assert_eq!(number(&next().await), Some(2));
    queue.delivered(JobNumber(2), "sink").await.unwrap();
    assert!(matches!(next().await, NextDelivery::Nothing));
}

/// A statement that puts all times of a queue off by a year, as a clock does that was so far ahead.
const YEAR_AHEAD: &str = "UPDATE job SET created = created + 31536000000, resolved = resolved + 31536000000, due = due + 31536000000; \
    UPDATE delivery SET since = since + 31536000000, due = due + 31536000000";

#[tokio::test]
async fn a_clock_that_was_ahead_puts_nothing_off() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    queue.add(&"data".into(), &[event("a"), event("b"), event("c")]).await.unwrap();
    for _ in 0..2 {
        resolve(&queue, false).await;
    }
    queue.delivered(JobNumber(1), "sink").await.unwrap();
    queue.not_delivered(JobNumber(2), "sink", "no", Some(Duration::from_mins(1))).await.unwrap();
    queue.not_resolved(JobNumber(3), "no", Some(Duration::from_mins(1))).await.unwrap();
    change(folder.path(), YEAR_AHEAD).await;
    let (_, wait) = next_job(&queue, "data").await.unwrap();
    assert_eq!(wait, Duration::ZERO);
    for next in [
        queue.next_delivery("sink", None).await.unwrap(),
        queue.next_delivery("sink", Some(&"data".into())).await.unwrap(),
    ] {
        assert_eq!(number(&next), Some(2), "{next:?}");
    }
    // The time for which it is tried again begins anew, and what is done is kept no longer than from now on.
    queue.not_delivered(JobNumber(2), "sink", "no", Some(Duration::ZERO)).await.unwrap();
    assert_eq!(forget(&queue, Duration::from_hours(1)).await, Forgotten::default());
    tokio::time::sleep(Duration::from_millis(5)).await;
    let next = queue.next_delivery("sink", None).await.unwrap();
    assert!(matches!(next, NextDelivery::Report { age, .. } if age > Duration::ZERO), "{next:?}");
    assert_eq!(forget(&queue, Duration::ZERO).await.done, 1);
}

#[tokio::test]
async fn readers_of_all_reports_go_by_no_clock() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    queue.add(&"data".into(), &[event("a"), event("b")]).await.unwrap();
    resolve(&queue, true).await;
    change(folder.path(), YEAR_AHEAD).await;
    let cursor = queue.cursor().await.unwrap();
    forget(&queue, Duration::from_hours(1)).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(forget(&queue, Duration::ZERO).await.done, 1);
    resolve(&queue, true).await;
    let (after, number, _) =
        queue.report_after(cursor).await.unwrap().expect("the report after those that are forgotten");
    assert_eq!(number, JobNumber(2));
    assert_eq!(queue.cursor().await.unwrap(), after);
    assert!(queue.report_after(after).await.unwrap().is_none());
}

#[tokio::test]
async fn forgotten_reports_give_their_room_back() {
    const REPORTS: u64 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    let size = || std::fs::metadata(folder.path().join("queue.db")).unwrap().len();
    let digits: Vec<CommitEvent> = (0..REPORTS)
        .map(|number| CommitEvent { after: CommitId::from_hex(&format!("{number:040x}")).unwrap(), ..event("a") })
        .collect();
    queue.add(&"data".into(), &digits).await.unwrap();
    // Bodies that cannot be compressed, as a former version has left them.
    change(
        folder.path(),
        "INSERT INTO report (job, body) SELECT number, randomblob(10000) FROM job; \
         UPDATE job SET state = 'resolved', resolved = 1; PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .await;
    let full = size();
    assert!(full > 10_000 * REPORTS, "{full}");
    assert_eq!(forget(&queue, Duration::from_hours(1)).await.done, REPORTS);
    queue.shrink().await.unwrap();
    queue.close().await;
    assert!(size() < full / 4, "{} of {full}", size());
    let queue = Queue::open(folder.path()).await.unwrap();
    queue.add(&"data".into(), &[event("b")]).await.unwrap();
    let json = "{\"key\": \"value\"}, ".repeat(100_000).into_bytes();
    let (job, _) = next_job(&queue, "data").await.unwrap();
    let report = RenderedReport { json: json.clone(), text: Some("text\n".repeat(1000)) };
    queue.resolved(job.name.number, &report.packed(), &["sink"], None).await.unwrap();
    let next = queue.next_delivery("sink", None).await.unwrap();
    assert!(matches!(&next, NextDelivery::Report { report: stored, .. } if *stored == report));
    assert_eq!(queue.report(last("b")).await.unwrap().unwrap(), json);
    queue.close().await;
    assert!(size() < json.len() as u64, "{} for a report of {}", size(), json.len());
}

#[tokio::test]
async fn what_was_set_aside_long_ago_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    queue.add(&"data".into(), &[event("a"), event("b")]).await.unwrap();
    queue.add(&"gone".into(), &[event("c")]).await.unwrap();
    queue.not_resolved(JobNumber(1), "no", None).await.unwrap();
    let (job, _) = next_job(&queue, "data").await.unwrap();
    queue.resolved(job.name.number, &written().packed(), &["sink", "gone"], None).await.unwrap();
    queue.not_delivered(job.name.number, "sink", "no", None).await.unwrap();
    assert_eq!(forget(&queue, Duration::from_hours(1)).await, Forgotten::default());
    let listed = queue.pending(10).await.unwrap();
    assert_eq!(listed.len(), 4, "{listed:?}");
    // What waits for a sink or a repository that the settings do not have is set aside first.
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        forget(&queue, Duration::from_millis(1)).await;
    }
    let listed = queue.pending(10).await.unwrap();
    assert!(listed.is_empty(), "{listed:?}");
}

#[tokio::test]
async fn jobs_of_a_repository_that_is_away_delay_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
    queue.add(&"data".into(), &[event("a")]).await.unwrap();
    resolve(&queue, true).await;
    let took = async || {
        let start = Instant::now();
        for _ in 0..100 {
            assert!(next_job(&queue, "data").await.is_none());
        }
        start.elapsed()
    };
    let before = took().await;
    change(
        folder.path(),
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000) \
         INSERT INTO job (id, repository, branch, after, kind, created) SELECT 'id' || n, 'away', 'main', printf('%040x', n), 'new', 0 FROM n",
    )
    .await;
    let after = took().await;
    assert!(after < before * 20 + Duration::from_millis(50), "{after:?}, and {before:?} without them");
}

#[tokio::test]
async fn rows_that_cannot_be_read_are_set_aside() {
    let site = Sandbox::of(SITE);
    let state = site.beside("state");
    let (queue, _lock) = Queue::create(&state).await.unwrap();
    queue.add(&"data".into(), &["a", "b", "c", "d", "e", "f"].map(event)).await.unwrap();
    for number in 5..=6 {
        queue.resolved(JobNumber(number), &written().packed(), &["sink"], None).await.unwrap();
    }
    let database = format!("sqlite://{}", state.join("queue.db").display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
    let damage = "UPDATE job SET kind = 'nonsense' WHERE number = 1; UPDATE job SET branch = CAST(x'ff61' AS TEXT) WHERE number = 2; \
        UPDATE job SET after = 'zz' WHERE number = 3; UPDATE report SET body = x'7801ff' WHERE job = 5";
    sqlx::raw_sql(damage).execute(&mut connection).await.unwrap();
    let (next, _) = next_job(&queue, "data").await.unwrap();
    assert_eq!(next.name.number, JobNumber(4));
    assert!(matches!(queue.next_delivery("sink", None).await.unwrap(), NextDelivery::Later(Duration::ZERO)));
    let delivery = queue.next_delivery("sink", None).await.unwrap();
    assert!(matches!(delivery, NextDelivery::Report { job, .. } if job.name.number == JobNumber(6)));
    let printed = site.hierad("queue --state ../state");
    for line in [
        "1  failed       main aaaaaaaa: the database of the queue is damaged: 'nonsense' is no kind of commit",
        "2  failed       \u{fffd}a bbbbbbbb",
        "3  failed       main 00000000",
        "5  dead         main eeeeeeee to sink, tried once: the database of the queue is damaged",
    ] {
        assert!(printed.ok().contains(line), "{line}: {printed:?}");
    }
    assert_eq!(queue.reports(JobNumber::MAX, 10).await.unwrap().len(), 2);
}

/// Damage to the rows of a queue: each to one of them or to all of a table.
const DAMAGE: [&str; 40] = [
    "UPDATE job SET attempts = 9223372036854775807",
    "UPDATE job SET attempts = -9223372036854775808",
    "UPDATE job SET due = 9223372036854775807, created = 9223372036854775807, resolved = -9223372036854775808",
    "UPDATE job SET due = -9223372036854775808, created = -9223372036854775808, resolved = 9223372036854775807",
    "UPDATE job SET kind = '' WHERE number = 2",
    "UPDATE job SET before = 'zz'",
    "UPDATE job SET before = 'zz', state = 'failed' WHERE number = 2",
    "UPDATE job SET after = CAST(x'ff' AS TEXT)",
    "UPDATE job SET judge = ''",
    "UPDATE job SET error = CAST(x'ff' AS TEXT), branch = CAST(x'ff' AS TEXT), repository = CAST(x'ff' AS TEXT)",
    "UPDATE job SET id = CAST(x'ff00' AS TEXT) WHERE number = 2",
    "UPDATE job SET number = 9223372036854775807 WHERE number = 2",
    "UPDATE job SET number = -1 WHERE number = 2",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "UPDATE sqlite_sequence SET seq = 'a'",
    "UPDATE sqlite_sequence SET seq = NULL",
    "UPDATE resolution SET sequence = 9223372036854775807",
    "UPDATE branch SET tip = 'zzzz'",
    "UPDATE branch SET tip = CAST(x'ff' AS TEXT)",
    "UPDATE branch SET name = CAST(x'ff' AS TEXT) WHERE name = 'main'",
    "UPDATE repository SET former = CAST(x'ff20' AS TEXT) || 'zz'",
    "UPDATE delivery SET attempts = 9223372036854775807, begun = 9223372036854775807",
    "UPDATE delivery SET attempts = -9223372036854775808, begun = -1",
    "UPDATE delivery SET since = -9223372036854775808, due = 9223372036854775807",
    "UPDATE delivery SET sink = CAST(x'ff' AS TEXT), error = CAST(x'ff' AS TEXT)",
    "UPDATE delivery SET repository = CAST(x'ff' AS TEXT), branch = CAST(x'ff' AS TEXT)",
    "INSERT INTO delivery (job, sink, repository, branch, since) VALUES (-7, 'sink', 'data', 'main', 0)",
    "UPDATE report SET body = x''",
    "UPDATE report SET body = x'7801ff'",
    "UPDATE report SET body = x'ff0a', text = x'ff'",
    "UPDATE report SET text = x'7801ff'",
    "DELETE FROM report",
    "UPDATE review SET attempts = 9223372036854775807, events = 9223372036854775807",
    "UPDATE review SET attempts = -1, since = -9223372036854775808, due = 9223372036854775807",
    "UPDATE review SET number = 9223372036854775807, request = -9223372036854775808",
    "UPDATE review SET name = CAST(x'ff' AS TEXT), error = CAST(x'ff' AS TEXT)",
    "UPDATE schedule SET failures = 9223372036854775807, error = CAST(x'ff' AS TEXT), done = -9223372036854775808",
    "UPDATE schedule SET name = CAST(x'ff' AS TEXT), succeeded = 9223372036854775807",
    "UPDATE blind SET branch = CAST(x'ff' AS TEXT), reason = CAST(x'ff' AS TEXT)",
    "UPDATE nodes SET answers = CAST(x'ff' AS TEXT), next = CAST(x'ff' AS TEXT)",
];

/// Does all that a daemon does with a queue: what is added is resolved and delivered, and all can be asked.
async fn goes_on(queue: &Queue, damage: &str) {
    let (data, wanted) = ("data".into(), [event("d").after, event("e").after]);
    queue.checkpoint(&data).await.unwrap();
    queue.have_nodes(&data, "others").await.unwrap();
    let on_other = CommitEvent { branch: BranchName::new("other"), ..event("d") };
    let after = CommitEvent { before: Some(event("b").after), ..event("e") };
    queue.add(&data, &[on_other, after]).await.unwrap();
    let mut resolved = Vec::new();
    while let Some((job, _)) = next_job(queue, "data").await {
        queue.begin(job.name.number).await.unwrap();
        queue.give_back(job.name.number).await.unwrap();
        queue.resolved(job.name.number, &written().packed(), &["sink"], Some("answers")).await.unwrap();
        resolved.push(job.event.after);
    }
    assert!(wanted.iter().all(|commit| resolved.contains(commit)), "{damage}: {resolved:?}");
    let mut delivered = Vec::new();
    for _ in 0..20 {
        let NextDelivery::Report { job, attempts, begun, .. } = queue.next_delivery("sink", None).await.unwrap() else {
            continue;
        };
        assert!(attempts < u32::MAX && begun < u32::MAX, "{damage}");
        queue.begin_delivery(job.name.number, "sink").await.unwrap();
        queue.not_delivered(job.name.number, "sink", "no", Some(Duration::ZERO)).await.unwrap();
        queue.delivered(job.name.number, "sink").await.unwrap();
        delivered.push(job.event.after);
    }
    assert!(wanted.iter().all(|commit| delivered.contains(commit)), "{damage}: {delivered:?}");
    let (mut cursor, mut read) = (Cursor::START, 0);
    while let Some((next, ..)) = queue.report_after(cursor).await.unwrap() {
        (cursor, read) = (next, read + 1);
    }
    assert!(read >= 2, "{damage}: {read}");
    queue.ask_for_review(&["project"], 7).await.unwrap();
    queue.ask_for_review(&["project"], 8).await.unwrap();
    let mut reviewed = Vec::new();
    while let Some((job, _)) = queue.next_review(&["project".to_owned()]).await.unwrap() {
        queue.not_reviewed(&job, "no", Some(Duration::ZERO)).await.unwrap();
        assert!(queue.reviewed(&job).await.unwrap(), "{damage}");
        reviewed.push(job.request);
    }
    assert!(reviewed.ends_with(&[8]) && reviewed.contains(&7), "{damage}: {reviewed:?}");
    let now = std::time::SystemTime::now();
    queue.last_done("nightly", now).await.unwrap();
    queue.failed_work("nightly", "no").await.unwrap();
    queue.failing_work().await.unwrap();
    queue.blind(&data).await.unwrap();
    queue.answers_in_use(&data).await.unwrap();
    queue.counts().await.unwrap();
    queue.pending(100).await.unwrap();
    queue.pending_reviews(100).await.unwrap();
    queue.last_successes().await.unwrap();
    queue.undelivered().await.unwrap();
    queue.unresolved().await.unwrap();
    queue.cursor().await.unwrap();
    queue.reports(JobNumber::MAX, 100).await.unwrap();
    queue.reports_after(Cursor::START, JobNumber::MAX, 100).await.unwrap();
    forget(queue, Duration::from_hours(1)).await;
}

#[tokio::test]
async fn rows_that_are_damaged_hold_up_no_other() {
    let data = "data".into();
    for damage in DAMAGE.into_iter().chain([""]) {
        let folder = tempfile::tempdir().unwrap();
        let (queue, lock) = Queue::create(folder.path()).await.unwrap();
        change(folder.path(), "INSERT INTO repository VALUES ('data', '')").await;
        let second = CommitEvent { before: Some(event("a").after), ..event("b") };
        queue.add(&data, &[event("a")]).await.unwrap();
        resolve(&queue, false).await;
        queue.have_nodes(&data, "former").await.unwrap();
        queue.add(&data, &[second]).await.unwrap();
        queue.last_done("nightly", std::time::SystemTime::now()).await.unwrap();
        queue.set_blind(&data, &BranchName::new("main"), Some("no hiera.yaml")).await.unwrap();
        queue.ask_for_review(&["project"], 7).await.unwrap();
        queue.failed_work("nightly", "no").await.unwrap();
        queue.close().await;
        drop(lock);
        change(folder.path(), &format!("PRAGMA foreign_keys = OFF; {damage}")).await;
        let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
        goes_on(&queue, damage).await;
    }
}
