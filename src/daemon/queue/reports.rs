//! The stored reports, for the HTTP interface. Reports of whole pushes are only for sinks; here, their commits are
//! listed.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::database::row::Columns;
use super::jobs::{JOB_COLUMN_COUNT, JOB_COLUMNS, job_or_rest};
use super::{Job, Queue, QueueError, body};
use crate::event::JobNumber;
use crate::git::{CommitId, CommitTime};

/// A reader's position among all reports, in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(i64);

impl Cursor {
    /// The position before the first report.
    pub const START: Cursor = Cursor(i64::MIN);
}

/// Selects the last report of a commit, in a repository and on a branch if these are given, or the report with a
/// number, which may be about changed facts.
#[derive(Debug, Clone, Copy)]
pub struct ReportQuery<'a> {
    /// The commit.
    pub commit: CommitId,
    /// The repository, or `None` for any.
    pub repository: Option<&'a str>,
    /// The branch, or `None` for any.
    pub branch: Option<&'a str>,
    /// The number of the report, or `None` for the last one of the commit itself.
    pub number: Option<JobNumber>,
}

/// A stored report without its body.
#[derive(Debug, Clone)]
pub struct StoredReport {
    /// The job of the report.
    pub job: Job,
    /// The time at which it was made.
    pub time: CommitTime,
}

impl Queue {
    /// Returns the bytes of the selected report, or `None` if there is none.
    pub async fn report(&self, wanted: ReportQuery<'_>) -> Result<Option<Vec<u8>>, QueueError> {
        let query = "SELECT body FROM report JOIN job ON job.number = report.job WHERE job.after = ?1 \
            AND (?2 IS NULL OR job.repository = ?2) AND (?3 IS NULL OR job.branch = ?3) \
            AND (job.number = ?4 OR ?4 IS NULL AND job.kind != 'facts' AND job.push < 2) ORDER BY job.number DESC LIMIT 1";
        let query = sqlx::query(query).bind(wanted.commit.to_string()).bind(wanted.repository).bind(wanted.branch);
        let query = query.bind(wanted.number.map(|number| number.0));
        match self.first_row(query).await? {
            Some(row) => Ok(Some(body::unpack(row.try_get(0)?).await?)),
            None => Ok(None),
        }
    }

    /// Returns the reason why the selected commit was set aside, or `None` if it was not.
    pub async fn reason(&self, wanted: ReportQuery<'_>) -> Result<Option<String>, QueueError> {
        let query = "SELECT error FROM job WHERE state = 'failed' AND after = ?1 \
            AND (?2 IS NULL OR repository = ?2) AND (?3 IS NULL OR branch = ?3) \
            AND (number = ?4 OR ?4 IS NULL AND kind != 'facts' AND push < 2) ORDER BY number DESC LIMIT 1";
        let query = sqlx::query(query).bind(wanted.commit.to_string()).bind(wanted.repository).bind(wanted.branch);
        let query = query.bind(wanted.number.map(|number| number.0));
        Ok(self.first_row(query).await?.map(|row| row.text_if_any(0)).transpose()?.flatten())
    }

    /// Returns the reports of jobs with numbers below `before`, the latest first, at most `limit` of them. Damaged
    /// jobs have their readable parts.
    pub async fn reports(&self, before: JobNumber, limit: u32) -> Result<Vec<StoredReport>, QueueError> {
        let query = format!(
            "SELECT {JOB_COLUMNS}, job.resolved FROM report JOIN job ON job.number = report.job \
             WHERE report.job < ? AND job.push < 2 ORDER BY report.job DESC LIMIT ?"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(query)).bind(before.0).bind(limit);
        self.all_rows(query).await?.iter().map(stored).collect()
    }

    /// Returns the reports after `cursor` of jobs with numbers below `before`, the earliest first, at most `limit` of
    /// them.
    pub async fn reports_after(
        &self,
        cursor: Cursor,
        before: JobNumber,
        limit: u32,
    ) -> Result<Vec<StoredReport>, QueueError> {
        let query = format!(
            "SELECT {JOB_COLUMNS}, job.resolved FROM resolution JOIN job ON job.number = resolution.job \
             JOIN report ON report.job = job.number WHERE resolution.sequence > ? AND job.number < ? AND job.push < 2 \
             ORDER BY resolution.sequence LIMIT ?"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(query)).bind(cursor.0).bind(before.0).bind(limit);
        self.all_rows(query).await?.iter().map(stored).collect()
    }

    /// Returns the number of the last kept report, in the order in which they were made; 0 if there is none.
    pub async fn last(&self) -> Result<JobNumber, QueueError> {
        let row = self.first_row(sqlx::query("SELECT job FROM resolution ORDER BY sequence DESC LIMIT 1")).await?;
        Ok(JobNumber(row.map_or(Ok(0), |row| row.try_get(0))?))
    }

    /// Returns the position after the last report.
    pub async fn cursor(&self) -> Result<Cursor, QueueError> {
        let row = self.first_row(sqlx::query("SELECT seq FROM sqlite_sequence WHERE name = 'resolution'")).await?;
        Ok(row.map_or(Ok(Cursor::START), |row| row.try_get(0).map(Cursor))?)
    }

    /// Returns the position after the report of a job, or the start if there is no such report.
    pub async fn cursor_at(&self, number: JobNumber) -> Result<Cursor, QueueError> {
        let row = self.first_row(sqlx::query("SELECT sequence FROM resolution WHERE job = ?").bind(number.0)).await?;
        Ok(row.map_or(Ok(Cursor::START), |row| row.try_get(0).map(Cursor))?)
    }

    /// Returns the first report after `cursor` with its position, or `None` if there is none yet. Unreadable ones are
    /// skipped.
    pub async fn report_after(&self, cursor: Cursor) -> Result<Option<(Cursor, JobNumber, Vec<u8>)>, QueueError> {
        let query = "SELECT sequence, job, body FROM resolution JOIN report USING (job) JOIN job ON job.number = job \
            WHERE sequence > ? AND push < 2 ORDER BY sequence LIMIT 1";
        let mut after = cursor.0;
        while let Some(row) = self.first_row(sqlx::query(query).bind(after)).await? {
            after = row.try_get(0)?;
            let number = JobNumber(row.try_get(1)?);
            match body::unpack(row.try_get(2)?).await {
                Ok(report) => return Ok(Some((Cursor(after), number, report))),
                Err(error) if error.is_damage() => {
                    tracing::error!(job = number.0, %error, "the report cannot be read; clients that read all do not get it");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Reads a report without its body: the columns [`JOB_COLUMNS`] and the time.
fn stored(row: &SqliteRow) -> Result<StoredReport, QueueError> {
    let resolved: Option<i64> = row.try_get(JOB_COLUMN_COUNT)?;
    let time = CommitTime { seconds: resolved.unwrap_or_default() / 1000, offset: 0 };
    Ok(StoredReport { job: job_or_rest(row)?, time })
}
