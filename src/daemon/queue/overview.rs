//! The unfinished work of the queue, for operators: counts, lists, retries and drops.

use std::time::SystemTime;

use sqlx::{Row, SqliteConnection};

use super::database::row::Columns;
use super::jobs::{JOB_COLUMN_COUNT, JOB_COLUMNS, job_or_rest};
use super::{Job, Queue, QueueError, now};
use crate::event::JobNumber;

/// The stage that unfinished work has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// A commit that is to be resolved, for the first time or again.
    Waiting,
    /// A commit that could not be resolved.
    Failed,
    /// A report that is to be delivered, for the first time or again.
    Undelivered,
    /// A report that a sink did not accept in time.
    Dead,
}

impl Stage {
    /// Returns the word for the stage.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Waiting => "waiting",
            Stage::Failed => "failed",
            Stage::Undelivered => "undelivered",
            Stage::Dead => "dead",
        }
    }
}

/// The amount of work in a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageCount {
    /// The stage.
    pub stage: Stage,
    /// The sink, or `None` for commits that are not resolved.
    pub sink: Option<String>,
    /// The number of commits or reports.
    pub number: u64,
}

/// A commit that is not resolved, or a report that is not delivered.
#[derive(Debug, Clone)]
pub struct PendingItem {
    /// The job of the commit.
    pub job: Job,
    /// The stage.
    pub stage: Stage,
    /// The sink, or `None` for commits that are not resolved.
    pub sink: Option<String>,
    /// The number of attempts so far.
    pub attempts: i64,
    /// The time of the next attempt, or `None` if that is at once or never.
    pub due: Option<SystemTime>,
    /// The error of the last attempt.
    pub error: Option<String>,
}

impl Queue {
    /// Counts the unfinished work.
    pub async fn counts(&self) -> Result<Vec<StageCount>, QueueError> {
        let query = "SELECT state, NULL, count(*) FROM job WHERE state IN ('waiting', 'failed') GROUP BY state \
            UNION ALL SELECT iif(state = 'dead', 'dead', 'undelivered'), sink, count(*) FROM delivery \
            WHERE state IN ('waiting', 'dead') GROUP BY state, sink";
        let rows = self.all_rows(sqlx::query(query)).await?;
        let count = |row: &sqlx::sqlite::SqliteRow| {
            let number: i64 = row.try_get(2)?;
            let stage = stage(&row.text(0)?);
            Ok(StageCount { stage, sink: row.text_if_any(1)?, number: number.unsigned_abs() })
        };
        rows.iter().map(count).collect()
    }

    /// Returns the unfinished work, the oldest first, at most `limit` items.
    pub async fn pending(&self, limit: u32) -> Result<Vec<PendingItem>, QueueError> {
        let query = format!(
            "SELECT {JOB_COLUMNS}, state, NULL AS sink, attempts AS tried, due, error FROM job WHERE state IN ('waiting', 'failed') \
             UNION ALL SELECT {JOB_COLUMNS}, iif(delivery.state = 'dead', 'dead', 'undelivered'), sink, delivery.attempts, delivery.due, delivery.error \
             FROM delivery JOIN job ON job.number = delivery.job WHERE delivery.state IN ('waiting', 'dead') ORDER BY 1, sink LIMIT ?"
        );
        let rows = self.all_rows(sqlx::query(sqlx::AssertSqlSafe(query)).bind(limit)).await?;
        let now = now();
        let row = |row: &sqlx::sqlite::SqliteRow| {
            let due: i64 = row.try_get(JOB_COLUMN_COUNT + 3)?;
            let stage = stage(&row.text(JOB_COLUMN_COUNT)?);
            let time = row.time(JOB_COLUMN_COUNT + 3)?;
            let due = time.filter(|_| due > now && matches!(stage, Stage::Waiting | Stage::Undelivered));
            let (sink, attempts, error) = (
                row.text_if_any(JOB_COLUMN_COUNT + 1)?,
                row.count(JOB_COLUMN_COUNT + 2)?.into(),
                row.text_if_any(JOB_COLUMN_COUNT + 4)?,
            );
            Ok(PendingItem { job: job_or_rest(row)?, stage, sink, attempts, due, error })
        };
        rows.iter().map(row).collect()
    }

    /// Tries failed work again at once: that of one job, of one sink, or all. Returns the number of items.
    pub async fn retry(&self, job: Option<JobNumber>, sink: Option<&str>) -> Result<u64, QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        exists(&mut step, job, sink).await?;
        let job = job.map(|number| number.0);
        let jobs = "UPDATE job SET state = 'waiting', attempts = 0, due = 0 \
            WHERE state IN ('waiting', 'failed') AND error IS NOT NULL AND (?1 IS NULL OR number = ?1) AND ?2 IS NULL";
        let jobs = sqlx::query(jobs).bind(job).bind(sink).execute(&mut *step).await?.rows_affected();
        let again = "UPDATE delivery SET state = 'waiting', attempts = 0, begun = 0, due = 0, since = ?3 \
            WHERE state IN ('waiting', 'dead') AND error IS NOT NULL AND (?1 IS NULL OR job = ?1) AND (?2 IS NULL OR sink = ?2)";
        let again = sqlx::query(again).bind(job).bind(sink).bind(now()).execute(&mut *step).await?.rows_affected();
        step.commit().await?;
        step.release();
        Ok(jobs + again)
    }

    /// Drops work that was set aside, and reports that are still to be delivered if `undelivered`: that of one job,
    /// of one sink, or all. Returns the number of items.
    pub async fn drop(&self, job: Option<JobNumber>, sink: Option<&str>, undelivered: bool) -> Result<u64, QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        exists(&mut step, job, sink).await?;
        let job = job.map(|number| number.0);
        let jobs = "DELETE FROM job WHERE state = 'failed' AND (?1 IS NULL OR number = ?1) AND ?2 IS NULL";
        let jobs = sqlx::query(jobs).bind(job).bind(sink).execute(&mut *step).await?.rows_affected();
        let reports = "DELETE FROM delivery WHERE (state = 'dead' OR (?3 AND state = 'waiting')) \
            AND (?1 IS NULL OR job = ?1) AND (?2 IS NULL OR sink = ?2)";
        let reports = sqlx::query(reports).bind(job).bind(sink).bind(undelivered);
        let reports = reports.execute(&mut *step).await?.rows_affected();
        step.commit().await?;
        step.release();
        Ok(jobs + reports)
    }
}

/// Fails if the queue has no such job or sink: the operator has mistyped it.
async fn exists(step: &mut SqliteConnection, job: Option<JobNumber>, sink: Option<&str>) -> Result<(), QueueError> {
    if let Some(number) = job {
        let found = sqlx::query("SELECT 1 FROM job WHERE number = ?").bind(number.0).fetch_optional(&mut *step).await?;
        found.ok_or(QueueError::NoJob(number))?;
    }
    if let Some(name) = sink {
        let found =
            sqlx::query("SELECT 1 FROM delivery WHERE sink = ? LIMIT 1").bind(name).fetch_optional(step).await?;
        found.ok_or_else(|| QueueError::NoSink(name.to_owned()))?;
    }
    Ok(())
}

fn stage(word: &str) -> Stage {
    [Stage::Waiting, Stage::Failed, Stage::Undelivered]
        .into_iter()
        .find(|stage| stage.as_str() == word)
        .unwrap_or(Stage::Dead)
}
