//! The reports that are kept, for those who ask for them.

use sqlx::Row;

use super::jobs::{JOB, job};
use super::{Job, JobNumber, Queue, QueueError};
use crate::git::{CommitId, CommitTime};

/// Where a reader of all reports is: they come in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(i64);

impl Cursor {
    /// Before the first.
    pub const START: Cursor = Cursor(i64::MIN);
}

/// Which report is asked for: the last one of a commit, or that of its coming to one place.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The commit.
    pub commit: CommitId,
    /// The repository that it has come to; any if nothing is said.
    pub repository: Option<&'a str>,
    /// The branch that it has come to; any if nothing is said.
    pub branch: Option<&'a str>,
}

/// A report that is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The job that it is of.
    pub job: Job,
    /// When it was made.
    pub time: CommitTime,
}

impl Queue {
    /// The report that is wanted, if it is kept.
    pub async fn report(&self, wanted: Wanted<'_>) -> Result<Option<Vec<u8>>, QueueError> {
        let query = "SELECT body FROM report JOIN job ON job.number = report.job WHERE job.after = ?1 \
            AND (?2 IS NULL OR job.repository = ?2) AND (?3 IS NULL OR job.branch = ?3) ORDER BY job.number DESC LIMIT 1";
        let query = sqlx::query(query).bind(wanted.commit.to_string()).bind(wanted.repository).bind(wanted.branch);
        Ok(self.first(query).await?.map(|row| row.try_get(0)).transpose()?)
    }

    /// The reports whose jobs have numbers below `before`, the latest first, at most `limit` of them.
    pub async fn reports(&self, before: JobNumber, limit: u32) -> Result<Vec<Kept>, QueueError> {
        let query = format!(
            "SELECT {JOB}, job.resolved FROM report JOIN job ON job.number = report.job \
             WHERE report.job < ? ORDER BY report.job DESC LIMIT ?"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(query)).bind(before).bind(limit);
        let kept = |row: &sqlx::sqlite::SqliteRow| {
            let resolved: Option<i64> = row.try_get(8)?;
            let time = CommitTime { seconds: resolved.unwrap_or_default() / 1000, offset: 0 };
            Ok(Kept { job: job(row)?, time })
        };
        self.all(query).await?.iter().map(kept).collect()
    }

    /// Behind the report that was made last.
    pub async fn cursor(&self) -> Result<Cursor, QueueError> {
        let row = self.first(sqlx::query("SELECT max(resolved) FROM job")).await?;
        let last: Option<i64> = row.map_or(Ok(None), |row| row.try_get(0))?;
        Ok(last.map_or(Cursor::START, Cursor))
    }

    /// Behind the report of a job; before all where that is not known.
    pub async fn cursor_at(&self, number: JobNumber) -> Result<Cursor, QueueError> {
        let row = self.first(sqlx::query("SELECT resolved FROM job WHERE number = ?").bind(number)).await?;
        let resolved: Option<i64> = row.map_or(Ok(None), |row| row.try_get(0))?;
        Ok(resolved.map_or(Cursor::START, Cursor))
    }

    /// The first report behind `cursor` that is kept, and where it is.
    pub async fn report_after(&self, cursor: Cursor) -> Result<Option<(Cursor, JobNumber, Vec<u8>)>, QueueError> {
        let query = "SELECT job.resolved, job.number, report.body FROM job JOIN report ON report.job = job.number \
            WHERE job.resolved > ? ORDER BY job.resolved LIMIT 1";
        let Some(row) = self.first(sqlx::query(query).bind(cursor.0)).await? else { return Ok(None) };
        Ok(Some((Cursor(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?)))
    }
}
