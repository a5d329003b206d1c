//! Jobs: commits that have come to branches, until they have their reports.

use std::time::Duration;

use sha2::{Digest, Sha256};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::checkpoints::set_tip;
use super::database::row::{Columns, one_more};
use super::{Body, Queue, QueueError, millis, now, time_until};
use crate::event::{CommitEvent, EventKind, JobId, JobName, JobNumber, PushPart, RepositoryName};
use crate::git::{BranchName, CommitId};
use crate::hex::Hex;

/// A commit to resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The identity of the job.
    pub name: JobName,
    /// The commit, and the way in which it has come.
    pub event: CommitEvent,
    /// The number of attempts that were begun.
    pub attempts: i64,
    /// Commits before it that could not be resolved, the oldest first: it is compared with the one before those.
    pub set_aside: Vec<CommitId>,
    /// True if the commit that it is compared with [is delicate](Queue::is_delicate).
    pub is_delicate: bool,
    /// The answers of sources of nodes that the last report of its branch was made with.
    pub answers: Option<String>,
}

/// The first unresolved job of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub number: JobNumber,
    /// Its branch.
    pub branch: BranchName,
    /// The number of attempts that were begun.
    pub attempts: i64,
    /// The time until it is due.
    pub wait: Duration,
}

/// A report in the forms that sinks take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedReport {
    /// One line of JSON, with its end.
    pub json: Vec<u8>,
    /// Text for a person, if a sink wants it.
    pub text: Option<String>,
}

/// A report in the forms that sinks take, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedReport {
    /// One line of JSON, with its end.
    pub json: Body,
    /// Text for a person, if a sink wants it.
    pub text: Option<Body>,
}

impl RenderedReport {
    /// Returns the report in stored form.
    pub fn packed(&self) -> PackedReport {
        PackedReport { json: Body::of(&self.json), text: self.text.as_ref().map(|text| Body::of(text.as_bytes())) }
    }
}

/// The columns of [`Job`], in its order.
pub(super) const JOB_COLUMNS: &str = "job.number, job.id, job.repository, job.branch, job.before, job.after, job.kind, job.attempts, job.judge, job.push";

/// The number of these columns: the index of the first one after them.
pub(super) const JOB_COLUMN_COUNT: usize = 10;

impl Queue {
    /// Adds jobs for commits that have come to branches of the repository, and notes in the same transaction that
    /// they were seen.
    pub async fn add(&self, repository: &RepositoryName, events: &[CommitEvent]) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        for event in events {
            insert(&mut step, repository, event, "").await?;
            set_tip(&mut step, repository, &event.branch, event.after).await?;
        }
        step.commit().await?;
        step.release();
        Ok(())
    }

    /// Returns the first unresolved job of each branch of the repository, ordered by number.
    pub async fn waiting(&self, repository: &RepositoryName) -> Result<Vec<Waiting>, QueueError> {
        // A cross join runs from left to right, so that jobs are looked up by number.
        let query = "WITH RECURSIVE first (branch, number) AS ( \
            SELECT * FROM (SELECT branch, number FROM job \
                WHERE state = 'waiting' AND repository = ?1 ORDER BY branch, number LIMIT 1) \
            UNION ALL SELECT job.branch, job.number FROM first CROSS JOIN job ON job.number = (SELECT next.number FROM job AS next \
                WHERE next.state = 'waiting' AND next.repository = ?1 AND next.branch > first.branch \
                ORDER BY next.branch, next.number LIMIT 1)) \
            SELECT job.number, job.branch, job.attempts, job.due FROM first CROSS JOIN job USING (number) ORDER BY 1";
        let rows = self.all_rows(sqlx::query(query).bind(repository.as_str())).await?;
        let waiting = |row: &SqliteRow| {
            let (branch, attempts) = (BranchName::new(row.text(1)?), row.count(2)?.into());
            Ok(Waiting { number: JobNumber(row.try_get(0)?), branch, attempts, wait: time_until(row.try_get(3)?) })
        };
        rows.iter().map(waiting).collect()
    }

    /// Returns a waiting job, or `None` if it no longer waits. A job that cannot be read is set aside.
    pub async fn take(&self, number: JobNumber) -> Result<Option<Job>, QueueError> {
        let query = format!("SELECT {JOB_COLUMNS} FROM job WHERE number = ? AND state = 'waiting'");
        let Some(row) = self.first_row(sqlx::query(sqlx::AssertSqlSafe(query)).bind(number.0)).await? else {
            return Ok(None);
        };
        match self.complete_job(&row).await {
            Ok(job) => Ok(Some(job)),
            Err(error) if error.is_damage() => {
                tracing::error!(job = number.0, %error, "the job cannot be read; it is set aside");
                self.not_resolved(number, &error.to_string(), None).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the job with this number, whatever its state, or `None` if there is none.
    pub async fn job(&self, number: JobNumber) -> Result<Option<Job>, QueueError> {
        let query = format!("SELECT {JOB_COLUMNS} FROM job WHERE number = ?");
        match self.first_row(sqlx::query(sqlx::AssertSqlSafe(query)).bind(number.0)).await? {
            Some(row) => Ok(Some(self.complete_job(&row).await?)),
            None => Ok(None),
        }
    }

    /// Reads a job, and makes it begin where the last resolved job of its branch ended.
    async fn complete_job(&self, row: &SqliteRow) -> Result<Job, QueueError> {
        let mut job = job(row)?;
        job.answers = self.answers(&job.name.repository, &job.event.branch).await?;
        let mut number = job.name.number.0;
        while let Some(before) = job.event.before.filter(|_| job.event.kind != EventKind::Facts) {
            let query = "SELECT number, before FROM job WHERE after = ? AND repository = ? AND branch = ? \
                AND state = 'failed' AND kind != 'facts' AND push < 2 AND number < ? ORDER BY number DESC LIMIT 1";
            let query = sqlx::query(query).bind(before.to_string()).bind(job.name.repository.as_str());
            let Some(row) = self.first_row(query.bind(job.event.branch.as_str()).bind(number)).await? else { break };
            // What came before an unreadable job is not known. The job was logged when it was set aside.
            let Ok(earlier) = row.commit_if_any(1) else { break };
            number = row.try_get(0)?;
            job.event.before = earlier;
            job.set_aside.insert(0, before);
        }
        if let Some(before) = job.event.before {
            job.is_delicate = self.is_delicate(&job.name.repository, before).await?;
        }
        Ok(job)
    }

    /// Returns true if a commit took several attempts, or was begun and not resolved: looking at it may kill the
    /// process.
    pub async fn is_delicate(&self, repository: &RepositoryName, commit: CommitId) -> Result<bool, QueueError> {
        let query = "SELECT 1 FROM job WHERE after = ? AND repository = ? \
            AND (attempts > 1 OR attempts > 0 AND state != 'resolved') LIMIT 1";
        Ok(self.first_row(sqlx::query(query).bind(commit.to_string()).bind(repository.as_str())).await?.is_some())
    }

    /// Notes that an attempt at a job begins.
    pub async fn begin(&self, job: JobNumber) -> Result<(), QueueError> {
        let update = concat!("UPDATE job SET attempts = ", one_more!("attempts"), " WHERE number = ?");
        self.execute(sqlx::query(update).bind(job.0)).await?;
        Ok(())
    }

    /// Takes back an attempt at a job, since it does not count.
    pub async fn give_back(&self, job: JobNumber) -> Result<(), QueueError> {
        let update = "UPDATE job SET attempts = max(attempts - 1, 0) WHERE number = ?";
        self.execute(sqlx::query(update).bind(job.0)).await?;
        Ok(())
    }

    /// Stores the report of a job, its deliveries to `sinks`, and the answers of sources of nodes that it was made
    /// with.
    pub async fn resolved(
        &self,
        job: JobNumber,
        report: &PackedReport,
        sinks: &[&str],
        answers: Option<&str>,
    ) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        step.begin_durably().await?;
        note_answers(&mut step, job, answers).await?;
        let insert = "INSERT OR REPLACE INTO report (job, body, text) VALUES (?, ?, ?)";
        sqlx::query(insert)
            .bind(job.0)
            .bind(report.json.bytes())
            .bind(report.text.as_ref().map(Body::bytes))
            .execute(&mut *step)
            .await?;
        for sink in sinks {
            let insert = "INSERT OR IGNORE INTO delivery (job, sink, repository, branch, since) \
                SELECT number, ?, repository, branch, ? FROM job WHERE number = ?";
            sqlx::query(insert).bind(*sink).bind(now()).bind(job.0).execute(&mut *step).await?;
        }
        let update = "UPDATE job SET state = 'resolved', error = NULL, resolved = ? WHERE number = ?";
        sqlx::query(update).bind(now()).bind(job.0).execute(&mut *step).await?;
        let insert = "INSERT OR REPLACE INTO resolution (job) VALUES (?)";
        sqlx::query(insert).bind(job.0).execute(&mut *step).await?;
        step.commit().await?;
        step.release();
        Ok(())
    }

    /// Forgets a job that has nothing to report, and notes the answers that it was resolved with.
    pub async fn nothing_to_tell(&self, job: JobNumber, answers: Option<&str>) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        note_answers(&mut step, job, answers).await?;
        sqlx::query("DELETE FROM job WHERE number = ?").bind(job.0).execute(&mut *step).await?;
        step.commit().await?;
        step.release();
        Ok(())
    }

    /// Notes that the attempt at a job has failed. `again` is the delay of the next attempt; without it, the job is
    /// set aside.
    pub async fn not_resolved(&self, job: JobNumber, error: &str, again: Option<Duration>) -> Result<(), QueueError> {
        let state = if again.is_some() { "waiting" } else { "failed" };
        let due = now().saturating_add(again.map_or(0, millis));
        let update = "UPDATE job SET state = ?, due = ?, error = ? WHERE number = ?";
        self.execute(sqlx::query(update).bind(state).bind(due).bind(error).bind(job.0)).await?;
        Ok(())
    }
}

/// Adds a job. `nodes` are the answers of sources of nodes that it is about, or empty if it is about the commit.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    repository: &RepositoryName,
    event: &CommitEvent,
    nodes: &str,
) -> Result<(), QueueError> {
    let (branch, before) = (event.branch.as_str(), event.before.map(|before| before.to_string()).unwrap_or_default());
    let (repository, after, kind) = (repository.as_str(), event.after.to_string(), event.kind.as_str());
    let same = "SELECT count(*) FROM job WHERE after = ? AND repository = ? AND branch = ? AND ifnull(before, '') = ? AND kind = ?";
    let same = sqlx::query_scalar(same).bind(&after).bind(repository).bind(branch).bind(&before).bind(kind);
    let mut earlier: i64 = same.fetch_one(&mut *connection).await?;
    let id = loop {
        let occurrence = if nodes.is_empty() { earlier.to_string() } else { format!("{earlier} {nodes}") };
        let id = id(&[repository, branch, &before, &after, kind, &occurrence]);
        // Earlier jobs may be forgotten, so the count alone does not ensure a free id.
        let taken = sqlx::query_scalar("SELECT count(*) FROM job WHERE id = ?").bind(&id);
        let taken: i64 = taken.fetch_one(&mut *connection).await?;
        if taken == 0 {
            break id;
        }
        earlier += 1;
    };
    let insert = "INSERT INTO job (id, repository, branch, before, after, kind, judge, push, created) VALUES (?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?)";
    let query = sqlx::query(insert).bind(id).bind(repository).bind(branch).bind(before).bind(after);
    let judge = event.judge.map(|judge| judge.to_string());
    query.bind(kind).bind(judge).bind(event.part.number()).bind(now()).execute(connection).await?;
    Ok(())
}

/// Notes the answers that a job was resolved with; `None` if all nodes are in files.
async fn note_answers(
    connection: &mut SqliteConnection,
    job: JobNumber,
    answers: Option<&str>,
) -> Result<(), QueueError> {
    let Some(answers) = answers else { return Ok(()) };
    let insert = "INSERT INTO nodes (repository, branch, answers) SELECT repository, branch, ? FROM job WHERE number = ? \
        ON CONFLICT (repository, branch) DO UPDATE SET answers = excluded.answers";
    sqlx::query(insert).bind(answers).bind(job.0).execute(connection).await?;
    Ok(())
}

/// Returns the id of a job: the same for the same event and the same number of earlier occurrences.
fn id(parts: &[&str]) -> String {
    let hash = Sha256::digest(parts.join("\0"));
    Hex(&hash[..16]).to_string()
}

/// Reads the job in a row that begins with the columns [`JOB_COLUMNS`].
pub(super) fn job(row: &SqliteRow) -> Result<Job, QueueError> {
    let kind = row.text(6)?;
    let event = CommitEvent {
        // Fails if this is not text, since other bytes name nothing.
        branch: BranchName::new(row.try_get::<String, _>(3)?),
        before: row.commit_if_any(4)?,
        after: row.commit(5)?,
        kind: EventKind::from_word(&kind)
            .ok_or_else(|| QueueError::Damaged(format!("'{kind}' is no kind of commit")))?,
        judge: row.commit_if_any(8)?,
        part: PushPart::from_number(row.count(9)?),
    };
    let (id, repository): (String, String) = (row.try_get(1)?, row.try_get(2)?);
    let number = JobNumber(row.try_get(0)?);
    let name = JobName { id: JobId::new(id), number, repository: RepositoryName::new(repository) };
    Ok(Job { name, event, attempts: row.count(7)?.into(), set_aside: Vec::new(), is_delicate: false, answers: None })
}

/// Reads a job to show it. If it is damaged, its readable parts are returned.
pub(super) fn job_or_rest(row: &SqliteRow) -> Result<Job, QueueError> {
    match job(row) {
        Err(error) if error.is_damage() => {}
        job => return job,
    }
    let before = row.commit_if_any(4).unwrap_or_default();
    let after = row.commit(5).unwrap_or(CommitId::NOWHERE);
    let kind = EventKind::from_word(&row.text(6)?).unwrap_or(EventKind::New);
    let event = CommitEvent::new(BranchName::new(row.text(3)?), before, after, kind);
    let (id, repository) = (JobId::new(row.text(1)?), RepositoryName::new(row.text(2)?));
    let name = JobName { id, number: JobNumber(row.try_get(0)?), repository };
    Ok(Job { name, event, attempts: row.count(7)?.into(), set_aside: Vec::new(), is_delicate: false, answers: None })
}
