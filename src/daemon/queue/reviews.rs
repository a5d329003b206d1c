//! Requests on forges that are to be reviewed, until they are.

use std::time::{Duration, SystemTime};

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::database::row::{Columns, one_more};
use super::deliveries::due_between;
use super::{Queue, QueueError, duration, millis, now, time_until};

/// A request to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewJob {
    number: i64,
    /// The name of the reviews in the settings.
    pub name: String,
    /// The number of the request.
    pub request: u64,
    /// The number of attempts that have failed.
    pub attempts: u32,
    /// The time since the first failed attempt.
    pub age: Duration,
    /// The number of times that the review was requested.
    events: i64,
}

/// A request that is not reviewed, for operators.
#[derive(Debug, Clone)]
pub struct PendingReview {
    /// The name of the reviews in the settings.
    pub name: String,
    /// The number of the request.
    pub request: u64,
    /// True if it was set aside.
    pub is_set_aside: bool,
    /// The number of attempts that have failed.
    pub attempts: u32,
    /// The time of the next attempt, or `None` if that is at once or never.
    pub due: Option<SystemTime>,
    /// The error of the last attempt.
    pub error: Option<String>,
}

impl Queue {
    /// Notes that a request is to be reviewed. One that waits already is tried at once; one that is being reviewed is
    /// reviewed once more.
    pub async fn ask_for_review(&self, names: &[&str], request: u64) -> Result<(), QueueError> {
        let insert = concat!(
            "INSERT INTO review (name, request, since) VALUES (?1, ?2, ?3) ON CONFLICT (name, request) DO UPDATE SET events = ",
            one_more!("events"),
            ", state = 'waiting', attempts = 0, since = ?3, due = 0, error = NULL"
        );
        let mut step = self.database.connection().await?;
        // The forge takes the event as received, and will not announce it again.
        step.begin_durably().await?;
        for name in names {
            sqlx::query(insert).bind(*name).bind(to_column(request)).bind(now()).execute(&mut *step).await?;
        }
        step.commit().await?;
        step.release();
        Ok(())
    }

    /// Returns the next request for these reviews, and the time until it is due; or `None` if there is none.
    pub async fn next_review(&self, names: &[String]) -> Result<Option<(ReviewJob, Duration)>, QueueError> {
        let (now, late) = due_between();
        let query = "SELECT number, name, request, attempts, since, events, due FROM review \
            WHERE state = 'waiting' AND name IN (SELECT value FROM json_each(?1)) \
            ORDER BY due BETWEEN ?2 + 1 AND ?3, iif(due BETWEEN ?2 + 1 AND ?3, due, number) LIMIT 1";
        let names = serde_json::Value::from(names.to_vec()).to_string();
        let row = self.first_row(sqlx::query(query).bind(names).bind(now).bind(late)).await?;
        row.map(|row| Ok((job(&row)?, time_until(row.try_get(6)?)))).transpose()
    }

    /// Notes that a request was reviewed. Returns false if it is to be reviewed once more.
    pub async fn reviewed(&self, job: &ReviewJob) -> Result<bool, QueueError> {
        let delete = "DELETE FROM review WHERE number = ? AND events = ?";
        Ok(self.execute(sqlx::query(delete).bind(job.number).bind(job.events)).await? > 0)
    }

    /// Notes that a review has failed. `again` is the delay of the next attempt; without it, the request is set
    /// aside. Nothing is noted if it was requested again meanwhile.
    pub async fn not_reviewed(&self, job: &ReviewJob, error: &str, again: Option<Duration>) -> Result<(), QueueError> {
        let state = if again.is_some() { "waiting" } else { "dead" };
        let now = now();
        let due = now.saturating_add(again.map_or(0, millis));
        // A first failure in the future was noted while the clock was ahead.
        let update = concat!(
            "UPDATE review SET state = ?1, since = iif(attempts = 0 OR since > ?2, ?2, since), attempts = ",
            one_more!("attempts"),
            ", due = ?3, error = ?4 WHERE number = ?5 AND events = ?6"
        );
        let query = sqlx::query(update).bind(state).bind(now).bind(due).bind(error);
        self.execute(query.bind(job.number).bind(job.events)).await?;
        Ok(())
    }

    /// Returns the requests that are not reviewed, the oldest first, at most `limit`.
    pub async fn pending_reviews(&self, limit: u32) -> Result<Vec<PendingReview>, QueueError> {
        let query = "SELECT name, request, state, attempts, due, error FROM review ORDER BY number LIMIT ?";
        let now = now();
        let review = |row: &SqliteRow| {
            let due: i64 = row.try_get(4)?;
            let is_set_aside = row.text(2)? == "dead";
            Ok(PendingReview {
                name: row.text(0)?,
                request: from_column(row.try_get(1)?),
                is_set_aside,
                attempts: row.count(3)?,
                due: row.time(4)?.filter(|_| due > now && !is_set_aside),
                error: row.text_if_any(5)?,
            })
        };
        self.all_rows(sqlx::query(query).bind(limit)).await?.iter().map(review).collect()
    }

    /// Tries failed reviews again at once. Returns their number.
    pub async fn retry_reviews(&self) -> Result<u64, QueueError> {
        let update = "UPDATE review SET state = 'waiting', attempts = 0, due = 0, since = ? WHERE error IS NOT NULL";
        self.execute(sqlx::query(update).bind(now())).await
    }

    /// Drops reviews that were set aside. Returns their number.
    pub async fn drop_reviews(&self) -> Result<u64, QueueError> {
        self.execute(sqlx::query("DELETE FROM review WHERE state = 'dead'")).await
    }

    /// Sets aside old reviews that are no longer in the settings, and forgets those that were set aside before
    /// `before`.
    pub(super) async fn forget_reviews(&self, names: &[String], before: i64) -> Result<u64, QueueError> {
        self.execute(sqlx::query("UPDATE review SET since = ?1 WHERE since > ?1").bind(now())).await?;
        self.execute(sqlx::query("UPDATE review SET due = ?1 WHERE state = 'dead' AND due > ?1").bind(now())).await?;
        let names = serde_json::Value::from(names.to_vec()).to_string();
        let update = "UPDATE review SET state = 'dead', due = ?1, error = 'the settings have no such reviews' \
            WHERE state = 'waiting' AND since < ?2 AND name NOT IN (SELECT value FROM json_each(?3))";
        self.execute(sqlx::query(update).bind(now()).bind(before).bind(names)).await?;
        self.execute(sqlx::query("DELETE FROM review WHERE state = 'dead' AND due < ?").bind(before)).await
    }
}

/// Reads the job in a row.
fn job(row: &SqliteRow) -> Result<ReviewJob, QueueError> {
    let (attempts, since): (u32, i64) = (row.count(3)?, row.try_get(4)?);
    let age = if attempts == 0 { Duration::ZERO } else { duration(now().saturating_sub(since)) };
    let (number, name, events) = (row.try_get(0)?, row.text(1)?, row.try_get(5)?);
    Ok(ReviewJob { number, name, request: from_column(row.try_get(2)?), attempts, age, events })
}

/// Returns the number of a request as the database stores it.
fn to_column(request: u64) -> i64 {
    i64::try_from(request).unwrap_or(i64::MAX)
}

fn from_column(request: i64) -> u64 {
    request.unsigned_abs()
}
