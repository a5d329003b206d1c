//! The deliveries of reports to sinks.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::jobs::{JOB, job};
use super::{Job, Queue, QueueError, RenderedReport, duration, millis, now};
use crate::event::JobNumber;

/// The next delivery of a sink.
#[derive(Debug)]
pub enum NextDelivery {
    /// Deliver this report.
    Report {
        /// The job of the report.
        job: Box<Job>,
        /// The report.
        report: RenderedReport,
        /// The number of attempts so far.
        attempts: u32,
        /// The time since the first failed attempt.
        age: Duration,
    },
    /// Try again after this time.
    Later(Duration),
    /// There is nothing to deliver.
    Nothing,
}

impl Queue {
    /// Returns the next delivery of `sink`: the oldest report that is due or, if the sink wants them `in_order`, the
    /// oldest.
    pub async fn next_delivery(&self, sink: &str, in_order: bool) -> Result<NextDelivery, QueueError> {
        let now = now();
        let Some(row) = self.oldest(sink, if in_order { i64::MAX } else { now }).await? else {
            let due = "SELECT due FROM delivery WHERE sink = ? AND state = 'waiting' ORDER BY due LIMIT 1";
            let Some(row) = self.first(sqlx::query(due).bind(sink)).await? else { return Ok(NextDelivery::Nothing) };
            return Ok(NextDelivery::Later(duration(row.try_get::<i64, _>(0)? - now)));
        };
        let (due, attempts, since): (i64, u32, i64) = (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
        if due > now {
            return Ok(NextDelivery::Later(duration(due - now)));
        }
        let job = Box::new(job(&row)?);
        let report = sqlx::query("SELECT body, text FROM report WHERE job = ?").bind(job.name.number.0);
        let report = self.first(report).await?.ok_or(sqlx::Error::RowNotFound)?;
        let report = RenderedReport { json: report.try_get(0)?, text: report.try_get(1)? };
        let age = if attempts == 0 { Duration::ZERO } else { duration(now - since) };
        Ok(NextDelivery::Report { job, report, attempts, age })
    }

    /// Returns the oldest report that waits for `sink` and is due at `time`, or `None` if there is none.
    async fn oldest(&self, sink: &str, time: i64) -> Result<Option<SqliteRow>, QueueError> {
        let query = format!(
            "SELECT {JOB}, delivery.due, delivery.attempts, delivery.since FROM delivery JOIN job ON job.number = delivery.job \
             WHERE delivery.sink = ? AND delivery.state = 'waiting' AND +delivery.due <= ? ORDER BY delivery.job LIMIT 1"
        );
        self.first(sqlx::query(sqlx::AssertSqlSafe(query)).bind(sink).bind(time)).await
    }

    /// Returns true if reports that `sink` has refused are to be [tried again](Queue::retry) at once.
    pub async fn is_retry_requested(&self, sink: &str) -> Result<bool, QueueError> {
        let query =
            "SELECT 1 FROM delivery WHERE sink = ? AND state = 'waiting' AND due = 0 AND error IS NOT NULL LIMIT 1";
        Ok(self.first(sqlx::query(query).bind(sink)).await?.is_some())
    }

    /// Notes that a sink has a report.
    pub async fn delivered(&self, job: JobNumber, sink: &str) -> Result<(), QueueError> {
        let update = "UPDATE delivery SET state = 'delivered', attempts = attempts + 1, delivered = ?, error = NULL \
            WHERE job = ? AND sink = ?";
        self.execute(sqlx::query(update).bind(now()).bind(job.0).bind(sink)).await?;
        Ok(())
    }

    /// Notes that a sink has refused a report. `again` is the delay of the next attempt; without it the report is set
    /// aside.
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
        let query = sqlx::query(update).bind(state).bind(now).bind(due).bind(error).bind(job.0).bind(sink);
        self.execute(query).await?;
        Ok(())
    }
}
