//! Reports on their way to sinks.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::jobs::{JOB, job};
use super::{Job, JobNumber, Queue, QueueError, Written, duration, millis, now};

/// What a sink has to do next.
#[derive(Debug)]
pub enum Waiting {
    /// To take this report.
    Report {
        /// The job that the report is of.
        job: Box<Job>,
        /// The report.
        report: Written,
        /// How often it was tried.
        attempts: u32,
        /// For how long it has been tried in vain.
        age: Duration,
    },
    /// To try again after this time.
    Later(Duration),
    /// Nothing.
    Nothing,
}

impl Queue {
    /// What `sink` has to do next: the oldest report of those that are due or, if it wants them `in_order`, the oldest.
    pub async fn next_delivery(&self, sink: &str, in_order: bool) -> Result<Waiting, QueueError> {
        let now = now();
        let Some(row) = self.oldest(sink, if in_order { i64::MAX } else { now }).await? else {
            let due = "SELECT due FROM delivery WHERE sink = ? AND state = 'waiting' ORDER BY due LIMIT 1";
            let Some(row) = self.first(sqlx::query(due).bind(sink)).await? else { return Ok(Waiting::Nothing) };
            return Ok(Waiting::Later(duration(row.try_get::<i64, _>(0)? - now)));
        };
        let (due, attempts, since): (i64, u32, i64) = (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
        if due > now {
            return Ok(Waiting::Later(duration(due - now)));
        }
        let job = Box::new(job(&row)?);
        let report = sqlx::query("SELECT body, text FROM report WHERE job = ?").bind(job.number);
        let report = self.first(report).await?.ok_or(sqlx::Error::RowNotFound)?;
        let report = Written { json: report.try_get(0)?, text: report.try_get(1)? };
        let age = if attempts == 0 { Duration::ZERO } else { duration(now - since) };
        Ok(Waiting::Report { job, report, attempts, age })
    }

    /// The oldest report that waits for `sink` and is due at a time.
    async fn oldest(&self, sink: &str, time: i64) -> Result<Option<SqliteRow>, QueueError> {
        let query = format!(
            "SELECT {JOB}, delivery.due, delivery.attempts, delivery.since FROM delivery JOIN job ON job.number = delivery.job \
             WHERE delivery.sink = ? AND delivery.state = 'waiting' AND +delivery.due <= ? ORDER BY delivery.job LIMIT 1"
        );
        self.first(sqlx::query(sqlx::AssertSqlSafe(query)).bind(sink).bind(time)).await
    }

    /// Whether somebody has reports that `sink` has refused [tried again](Queue::retry).
    pub async fn is_asked_for(&self, sink: &str) -> Result<bool, QueueError> {
        let query =
            "SELECT 1 FROM delivery WHERE sink = ? AND state = 'waiting' AND due = 0 AND error IS NOT NULL LIMIT 1";
        Ok(self.first(sqlx::query(query).bind(sink)).await?.is_some())
    }

    /// Notes that a sink has a report.
    pub async fn delivered(&self, job: JobNumber, sink: &str) -> Result<(), QueueError> {
        let update = "UPDATE delivery SET state = 'delivered', attempts = attempts + 1, delivered = ?, error = NULL \
            WHERE job = ? AND sink = ?";
        self.execute(sqlx::query(update).bind(now()).bind(job).bind(sink)).await?;
        Ok(())
    }

    /// Notes that a sink could not take a report, and when it is tried again: never if nothing is said.
    pub async fn not_delivered(
        &self,
        job: JobNumber,
        sink: &str,
        error: &str,
        again: Option<Duration>,
    ) -> Result<(), QueueError> {
        let state = if again.is_some() { "waiting" } else { "dead" };
        let now = now();
        let due = now.saturating_add(again.map_or(0, millis));
        let update = "UPDATE delivery SET state = ?, since = iif(attempts = 0, ?, since), attempts = attempts + 1, due = ?, \
            error = ? WHERE job = ? AND sink = ?";
        let query = sqlx::query(update).bind(state).bind(now).bind(due).bind(error).bind(job).bind(sink);
        self.execute(query).await?;
        Ok(())
    }
}
