//! When scheduled work was done last.

use std::time::{Duration, SystemTime};

use sqlx::Row;

use super::{Queue, QueueError, millis};

impl Queue {
    /// When the work `name` was begun that was done last: `now` if it was never done, which is kept, or if the clock was ahead then.
    pub async fn last_done(&self, name: &str, now: SystemTime) -> Result<SystemTime, QueueError> {
        let insert = "INSERT OR IGNORE INTO schedule (name, done) VALUES (?, ?)";
        self.execute(sqlx::query(insert).bind(name).bind(since_1970(now))).await?;
        let row = self.first(sqlx::query("SELECT done FROM schedule WHERE name = ?").bind(name)).await?;
        let done: i64 = row.ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
        Ok(now.min(SystemTime::UNIX_EPOCH + Duration::from_millis(done.unsigned_abs())))
    }

    /// Notes that the work `name` is done that was begun at `start`.
    pub async fn done(&self, name: &str, start: SystemTime) -> Result<(), QueueError> {
        let update =
            "INSERT INTO schedule (name, done) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET done = excluded.done";
        self.execute(sqlx::query(update).bind(name).bind(since_1970(start))).await?;
        Ok(())
    }
}

fn since_1970(time: SystemTime) -> i64 {
    millis(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
