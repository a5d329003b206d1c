//! The last runs of scheduled work.

use std::time::SystemTime;

use super::database::row::{Columns, one_more};
use super::{Queue, QueueError, millis};

impl Queue {
    /// Returns the start of the last successful run of the work `name`, by the clock of that time. If there was none,
    /// `now` is stored and returned.
    pub async fn last_done(&self, name: &str, now: SystemTime) -> Result<SystemTime, QueueError> {
        let insert = "INSERT OR IGNORE INTO schedule (name, done) VALUES (?, ?)";
        self.execute(sqlx::query(insert).bind(name).bind(since_1970(now))).await?;
        let row = self.first_row(sqlx::query("SELECT done FROM schedule WHERE name = ?").bind(name)).await?;
        let done = row.ok_or(sqlx::Error::RowNotFound)?.time(0)?;
        Ok(done.unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// Sets the last run of the work `name` to `now`, since the clock was ahead when it was noted.
    pub async fn put_last_done_right(&self, name: &str, now: SystemTime) -> Result<(), QueueError> {
        let update = "UPDATE schedule SET done = ? WHERE name = ?";
        self.execute(sqlx::query(update).bind(since_1970(now)).bind(name)).await?;
        Ok(())
    }

    /// Notes a successful run of the work `name` that began at `start`.
    pub async fn done(&self, name: &str, start: SystemTime) -> Result<(), QueueError> {
        let update = "INSERT INTO schedule (name, done, succeeded) VALUES (?1, ?2, ?2) ON CONFLICT (name) \
            DO UPDATE SET done = excluded.done, succeeded = excluded.succeeded, failures = 0, error = NULL";
        self.execute(sqlx::query(update).bind(name).bind(since_1970(start))).await?;
        Ok(())
    }
}

/// Scheduled work whose last run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingWork {
    /// The name.
    pub name: String,
    /// The failures since the last success.
    pub failures: u64,
    /// The error of the last run.
    pub error: String,
}

impl Queue {
    /// Notes a failed run of the work `name`.
    pub async fn failed_work(&self, name: &str, error: &str) -> Result<(), QueueError> {
        let update = concat!("UPDATE schedule SET failures = ", one_more!("failures"), ", error = ? WHERE name = ?");
        self.execute(sqlx::query(update).bind(error).bind(name)).await?;
        Ok(())
    }

    /// Returns the scheduled work whose last run failed, ordered by name.
    pub async fn failing_work(&self) -> Result<Vec<FailingWork>, QueueError> {
        let select = "SELECT name, failures, error FROM schedule WHERE failures > 0 ORDER BY name";
        let rows = self.all_rows(sqlx::query(select)).await?;
        let work = rows
            .iter()
            .map(|row| Ok(FailingWork { name: row.text(0)?, failures: row.count(1)?.into(), error: row.text(2)? }));
        Ok(work.collect::<Result<_, sqlx::Error>>()?)
    }
}

fn since_1970(time: SystemTime) -> i64 {
    millis(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
