//! The times of the last successes, and since when work is waiting.

use std::time::{Duration, SystemTime};

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::database::row::Columns;
use super::{Query, Queue, QueueError, duration, now};

/// The last successes that the queue knows, each with the name of the repository, sink or scheduled work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastSuccesses {
    /// The last commits that were resolved, by repository.
    pub resolved: Vec<(String, SystemTime)>,
    /// The last reports that were taken, by sink.
    pub delivered: Vec<(String, SystemTime)>,
    /// The last runs of scheduled work, by its name.
    pub scheduled: Vec<(String, SystemTime)>,
}

/// Unfinished work of one repository or sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// The repository or the sink.
    pub name: String,
    /// The number of commits or reports.
    pub number: u64,
    /// The age of the oldest of them.
    pub age: Duration,
}

impl Queue {
    /// Returns the last successes.
    pub async fn last_successes(&self) -> Result<LastSuccesses, QueueError> {
        let resolved = "SELECT repository, max(resolved) FROM job WHERE state = 'resolved' GROUP BY repository";
        let delivered = "SELECT sink, max(delivered) FROM delivery WHERE state = 'delivered' GROUP BY sink";
        let scheduled = "SELECT name, succeeded FROM schedule WHERE succeeded IS NOT NULL";
        Ok(LastSuccesses {
            resolved: self.times(sqlx::query(resolved)).await?,
            delivered: self.times(sqlx::query(delivered)).await?,
            scheduled: self.times(sqlx::query(scheduled)).await?,
        })
    }

    async fn times(&self, query: Query<'_>) -> Result<Vec<(String, SystemTime)>, QueueError> {
        let time = |row: &SqliteRow| Ok((row.text(0)?, row.time(1)?.unwrap_or(SystemTime::UNIX_EPOCH)));
        self.all_rows(query).await?.iter().map(time).collect()
    }

    /// Returns the reports that wait for sinks, by sink. Their age is that of the report.
    pub async fn undelivered(&self) -> Result<Vec<Backlog>, QueueError> {
        let query = "SELECT waiting.sink, waiting.number, job.resolved FROM \
            (SELECT sink, count(*) AS number, min(job) AS oldest FROM delivery WHERE state = 'waiting' GROUP BY sink) \
            AS waiting JOIN job ON job.number = waiting.oldest";
        self.backlogs(sqlx::query(query)).await
    }

    /// Returns the commits that wait to be resolved, by repository.
    pub async fn unresolved(&self) -> Result<Vec<Backlog>, QueueError> {
        let query = "SELECT waiting.repository, waiting.number, job.created FROM \
            (SELECT repository, count(*) AS number, min(number) AS oldest FROM job WHERE state = 'waiting' \
             GROUP BY repository) AS waiting JOIN job ON job.number = waiting.oldest";
        self.backlogs(sqlx::query(query)).await
    }

    async fn backlogs(&self, query: Query<'_>) -> Result<Vec<Backlog>, QueueError> {
        let now = now();
        let backlog = |row: &SqliteRow| {
            let (number, since): (i64, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
            let age = duration(now.saturating_sub(since.unwrap_or(now)));
            Ok(Backlog { name: row.text(0)?, number: number.unsigned_abs(), age })
        };
        self.all_rows(query).await?.iter().map(backlog).collect()
    }
}
