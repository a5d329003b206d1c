//! The deliveries of reports to sinks.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::database::row::{Columns, one_more};
use super::jobs::{JOB_COLUMN_COUNT, JOB_COLUMNS, job};
use super::{Job, LONGEST_DELAY, Queue, QueueError, RenderedReport, body, duration, millis, now, time_until};
use crate::event::{JobNumber, RepositoryName};

/// Makes the first delivery that waits for the sink `?2` on the branch of the job `?3` due at `?1`.
const HURRY: &str = "UPDATE delivery SET due = ?1 WHERE due > ?1 AND sink = ?2 AND job = \
    (SELECT min(job) FROM delivery WHERE state = 'waiting' AND sink = ?2 \
      AND repository = (SELECT repository FROM job WHERE number = ?3) \
      AND branch = (SELECT branch FROM job WHERE number = ?3))";

/// Returns the query for the first delivery to the sink `?1`, from the repository `?4` or, if that is null, from all.
/// Those that are due later than `?2` and not after `?3` come last, by the time; the others are sorted by job. Only
/// the oldest delivery of each branch is considered, and the tables are joined in this order, since there may be
/// deliveries of several weeks.
fn first_delivery() -> String {
    let waiting = "FROM delivery WHERE state = 'waiting' AND sink = ?1";
    format!(
        "WITH RECURSIVE repositories (repository) AS ( \
           SELECT coalesce(?4, (SELECT min(repository) {waiting})) \
           UNION ALL SELECT (SELECT min(repository) {waiting} AND repository > repositories.repository) \
             FROM repositories WHERE ?4 IS NULL AND repository IS NOT NULL), \
         branches (repository, name) AS ( \
           SELECT repository, (SELECT min(branch) {waiting} AND repository = repositories.repository) FROM repositories \
           UNION ALL SELECT repository, \
             (SELECT min(branch) {waiting} AND repository = branches.repository AND branch > name) \
             FROM branches WHERE name IS NOT NULL) \
         SELECT {JOB_COLUMNS}, delivery.due, delivery.attempts, delivery.since, delivery.begun \
         FROM branches CROSS JOIN delivery CROSS JOIN job ON job.number = delivery.job \
         WHERE delivery.sink = ?1 AND delivery.job = \
           (SELECT min(job) {waiting} AND repository = branches.repository AND branch = name) \
         ORDER BY delivery.due BETWEEN ?2 + 1 AND ?3, iif(delivery.due BETWEEN ?2 + 1 AND ?3, delivery.due, delivery.job) LIMIT 1"
    )
}

/// The next delivery of a sink.
#[derive(Debug)]
pub enum NextDelivery {
    /// Deliver this report.
    Report {
        /// The job of the report.
        job: Box<Job>,
        /// The report; empty for a sink of snapshots, which needs none.
        report: RenderedReport,
        /// The number of attempts so far.
        attempts: u32,
        /// The time since the first failed attempt.
        age: Duration,
        /// The number of attempts that [were begun](Queue::begin_delivery) since the last one that has an outcome.
        begun: u32,
    },
    /// Try again after this time.
    Later(Duration),
    /// There is nothing to deliver.
    Nothing,
}

impl Queue {
    /// Returns the next delivery of `sink`, from one repository or from all: the oldest of the reports that are first
    /// on their branch and due. So the reports of a branch are delivered in order, and none delays another branch.
    pub async fn next_delivery(
        &self,
        sink: &str,
        repository: Option<&RepositoryName>,
    ) -> Result<NextDelivery, QueueError> {
        let (now, late) = due_between();
        let first = sqlx::query(sqlx::AssertSqlSafe(first_delivery())).bind(sink).bind(now).bind(late);
        let first = first.bind(repository.map(RepositoryName::as_str));
        let Some(row) = self.first_row(first).await? else { return Ok(NextDelivery::Nothing) };
        match time_until(row.try_get(JOB_COLUMN_COUNT)?) {
            Duration::ZERO => self.delivery_or_next((sink, repository), &row).await,
            time => Ok(NextDelivery::Later(time)),
        }
    }

    /// For each of these sinks, makes the first report that waits on the branch of a job due at once. So a new report
    /// soon shows that a sink works again, and does not overtake older ones.
    pub async fn hurry(&self, job: JobNumber, sinks: &[&str]) -> Result<(), QueueError> {
        for sink in sinks {
            self.execute(sqlx::query(HURRY).bind(now()).bind(*sink).bind(job.0)).await?;
        }
        Ok(())
    }

    /// Returns the delivery in a row. If it cannot be read, it is set aside, and the next one is due.
    async fn delivery_or_next(
        &self,
        (sink, repository): (&str, Option<&RepositoryName>),
        row: &SqliteRow,
    ) -> Result<NextDelivery, QueueError> {
        match self.delivery(row, repository.is_none()).await {
            Err(error) if error.is_damage() => {
                let job = JobNumber(row.try_get(0)?);
                tracing::error!(job = job.0, sink, %error, "the report cannot be read; it is set aside");
                self.not_delivered(job, sink, &error.to_string(), None).await?;
                Ok(NextDelivery::Later(Duration::ZERO))
            }
            delivery => delivery,
        }
    }

    /// Returns the delivery in a row of [`first_delivery`], with its report if it is wanted.
    async fn delivery(&self, row: &SqliteRow, with_report: bool) -> Result<NextDelivery, QueueError> {
        let (attempts, since, begun): (u32, i64, u32) =
            (row.count(JOB_COLUMN_COUNT + 1)?, row.try_get(JOB_COLUMN_COUNT + 2)?, row.count(JOB_COLUMN_COUNT + 3)?);
        let age = if attempts == 0 { Duration::ZERO } else { duration(now().saturating_sub(since)) };
        let job = Box::new(job(row)?);
        let report = if with_report { self.rendered(&job).await? } else { RenderedReport::default() };
        Ok(NextDelivery::Report { job, report, attempts, age, begun })
    }

    /// Returns the report of a job in the form that sinks get.
    async fn rendered(&self, job: &Job) -> Result<RenderedReport, QueueError> {
        let report = sqlx::query("SELECT body, text FROM report WHERE job = ?").bind(job.name.number.0);
        let report =
            self.first_row(report).await?.ok_or_else(|| QueueError::Damaged("the report is gone".to_owned()))?;
        let text = match report.try_get::<Option<Vec<u8>>, _>(1)? {
            Some(text) => Some(String::from_utf8_lossy(&body::unpack(text).await?).into_owned()),
            None => None,
        };
        Ok(RenderedReport { json: body::unpack(report.try_get(0)?).await?, text })
    }

    /// Returns true if somebody has asked for an immediate [retry](Queue::retry) of what `sink` has refused.
    pub async fn is_retry_requested(&self, sink: &str) -> Result<bool, QueueError> {
        let query =
            "SELECT 1 FROM delivery WHERE sink = ? AND state = 'waiting' AND due = 0 AND error IS NOT NULL LIMIT 1";
        Ok(self.first_row(sqlx::query(query).bind(sink)).await?.is_some())
    }

    /// Notes the beginning of an attempt at a delivery that may kill the daemon.
    pub async fn begin_delivery(&self, job: JobNumber, sink: &str) -> Result<(), QueueError> {
        let update = concat!("UPDATE delivery SET begun = ", one_more!("begun"), " WHERE job = ? AND sink = ?");
        self.execute(sqlx::query(update).bind(job.0).bind(sink)).await?;
        Ok(())
    }

    /// Notes that a sink has a report.
    pub async fn delivered(&self, job: JobNumber, sink: &str) -> Result<(), QueueError> {
        let update = concat!(
            "UPDATE delivery SET state = 'delivered', attempts = ",
            one_more!("attempts"),
            ", delivered = ?, error = NULL WHERE job = ? AND sink = ?"
        );
        self.execute(sqlx::query(update).bind(now()).bind(job.0).bind(sink)).await?;
        Ok(())
    }

    /// Notes that a sink no longer needs a report.
    pub async fn skipped(&self, job: JobNumber, sink: &str, reason: &str) -> Result<(), QueueError> {
        let update = "UPDATE delivery SET state = 'skipped', error = ? WHERE job = ? AND sink = ?";
        self.execute(sqlx::query(update).bind(reason).bind(job.0).bind(sink)).await?;
        Ok(())
    }

    /// Skips the reports that wait for `sink` from repositories other than these, and returns their number.
    pub async fn skip_others(
        &self,
        sink: &str,
        repositories: &[RepositoryName],
        reason: &str,
    ) -> Result<u64, QueueError> {
        let update = "UPDATE delivery SET state = 'skipped', error = ?1 \
            WHERE state = 'waiting' AND sink = ?2 AND repository NOT IN (SELECT value FROM json_each(?3))";
        let names: serde_json::Value = repositories.iter().map(RepositoryName::as_str).collect();
        self.execute(sqlx::query(update).bind(reason).bind(sink).bind(names.to_string())).await
    }

    /// Notes that a sink has refused a report. `again` is the delay of the next attempt; without it, the report is
    /// set aside.
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
        // A first failure in the future was noted while the clock was ahead.
        let update = concat!(
            "UPDATE delivery SET state = ?1, since = iif(attempts = 0 OR since > ?2, ?2, since), attempts = ",
            one_more!("attempts"),
            ", begun = 0, due = ?3, error = ?4 WHERE job = ?5 AND sink = ?6"
        );
        let query = sqlx::query(update).bind(state).bind(now).bind(due).bind(error).bind(job.0).bind(sink);
        self.execute(query).await?;
        Ok(())
    }
}

/// Returns the times between which a delivery is not due yet: now, and the latest time to which any is postponed.
pub(super) fn due_between() -> (i64, i64) {
    let now = now();
    (now, now.saturating_add(millis(LONGEST_DELAY)))
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::{HURRY, first_delivery};
    use crate::daemon::queue::Queue;

    /// Both queries run for each report and each sink, and the table has the deliveries of weeks.
    #[tokio::test]
    async fn no_query_of_each_delivery_reads_all_deliveries() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, _lock) = Queue::create(folder.path()).await.unwrap();
        for query in [first_delivery(), HURRY.to_owned()] {
            let plan = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}"));
            let rows = queue.all_rows(sqlx::query(plan)).await.unwrap();
            let steps: Vec<String> = rows.iter().map(|row| row.try_get(3).unwrap()).collect();
            let read: Vec<&String> =
                steps.iter().filter(|step| step.contains("delivery") || step.contains("job")).collect();
            assert!(!read.is_empty() && read.iter().all(|step| step.starts_with("SEARCH ")), "{steps:#?}");
        }
    }
}
