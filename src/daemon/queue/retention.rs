//! Forgets old work, a little at a time, and frees its space on disk.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Queue, QueueError, millis, now};
use crate::event::RepositoryName;

/// The maximum number of jobs that are deleted in one step. Other steps run in between.
const BATCH: u64 = 200;

/// The maximum number of pages of the file that are freed in one step.
const PAGES_AT_ONCE: u32 = 1000;

/// The number of free pages that stay in the file.
const SPARE_PAGES: i64 = 256;

/// The rule for dropping old work.
#[derive(Debug, Clone)]
pub struct Retention {
    /// The time after which work is dropped.
    pub keep: Duration,
    /// The sinks of the settings.
    pub sinks: Vec<String>,
    /// The sinks that need no reports of repositories other than those in the settings.
    pub ordered: BTreeSet<String>,
    /// The repositories of the settings.
    pub repositories: Vec<RepositoryName>,
    /// The reviews of the settings.
    pub reviews: Vec<String>,
}

/// The number of forgotten jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Jobs that were resolved, and whose reports all sinks have.
    pub done: u64,
    /// Jobs that were set aside, or whose reports were, and reviews.
    pub set_aside: u64,
}

impl Queue {
    /// Forgets jobs that are older than the rule allows: those that were resolved and whose reports all sinks have,
    /// and what was set aside. What waits for a sink or a repository that is gone is set aside after the same time.
    pub async fn forget(&self, rule: &Retention) -> Result<Forgotten, QueueError> {
        self.correct_times().await?;
        self.set_strays_aside(rule).await?;
        let before = now().saturating_sub(millis(rule.keep));
        let done = "state = 'resolved' AND resolved < ?1 AND NOT EXISTS \
            (SELECT 1 FROM delivery WHERE job = number AND delivery.state IN ('waiting', 'dead'))";
        let reports = "state = 'resolved' AND resolved < ?1 AND NOT EXISTS \
            (SELECT 1 FROM delivery WHERE job = number AND (delivery.state = 'waiting' OR delivery.state = 'dead' AND delivery.due >= ?1))";
        let jobs = "state = 'failed' AND due < ?1";
        let done = self.delete(done, before).await?;
        let reviews = self.forget_reviews(&rule.reviews, before).await?;
        let set_aside = self.delete(reports, before).await? + self.delete(jobs, before).await? + reviews;
        Ok(Forgotten { done, set_aside })
    }

    /// Sets times in the future to now: the clock was ahead when they were noted.
    async fn correct_times(&self) -> Result<(), QueueError> {
        for correct in [
            "UPDATE job SET resolved = ?1 WHERE resolved > ?1",
            "UPDATE job SET created = ?1 WHERE state = 'waiting' AND created > ?1",
            "UPDATE job SET due = ?1 WHERE state = 'failed' AND due > ?1",
            "UPDATE delivery SET due = ?1 WHERE state = 'dead' AND due > ?1",
            "UPDATE delivery SET since = ?1 WHERE state = 'waiting' AND since > ?1",
        ] {
            self.execute(sqlx::query(correct).bind(now())).await?;
        }
        Ok(())
    }

    /// Skips what nobody needs any more, and sets aside what has waited too long for sinks and repositories that are
    /// gone.
    async fn set_strays_aside(&self, rule: &Retention) -> Result<(), QueueError> {
        for sink in &rule.ordered {
            self.skip_others(sink, &rule.repositories, "the repository is not watched any more").await?;
        }
        let before = now().saturating_sub(millis(rule.keep));
        let repositories = rule.repositories.iter().map(|name| name.as_str().to_owned()).collect();
        for (statement, names) in [
            (
                "UPDATE delivery SET state = 'dead', due = ?1, error = 'the settings have no such sink' \
                 WHERE state = 'waiting' AND since < ?2 AND sink NOT IN (SELECT value FROM json_each(?3))",
                &rule.sinks,
            ),
            (
                "UPDATE job SET state = 'failed', due = ?1, error = 'the settings have no such repository' \
                 WHERE state = 'waiting' AND created < ?2 AND repository NOT IN (SELECT value FROM json_each(?3))",
                &repositories,
            ),
        ] {
            let names = serde_json::Value::from(names.clone()).to_string();
            self.execute(sqlx::query(statement).bind(now()).bind(before).bind(names)).await?;
        }
        Ok(())
    }

    /// Deletes the jobs that a condition on the time `before` selects, and returns their number.
    async fn delete(&self, condition: &str, before: i64) -> Result<u64, QueueError> {
        let delete =
            format!("DELETE FROM job WHERE number IN (SELECT number FROM job WHERE {condition} LIMIT {BATCH})");
        let mut all = 0;
        loop {
            let deleted = self.execute(sqlx::query(sqlx::AssertSqlSafe(&*delete)).bind(before)).await?;
            all += deleted;
            if deleted < BATCH {
                return Ok(all);
            }
        }
    }

    /// Frees space on disk that is no longer needed.
    pub async fn shrink(&self) -> Result<(), QueueError> {
        let mut free = self.pragma("freelist_count").await?;
        while free > SPARE_PAGES {
            let mut step = self.database.connection().await?;
            let vacuum = format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})");
            sqlx::raw_sql(sqlx::AssertSqlSafe(vacuum)).execute(&mut *step).await?;
            step.release();
            let rest = self.pragma("freelist_count").await?;
            if rest >= free {
                break;
            }
            free = rest;
        }
        Ok(())
    }

    async fn pragma(&self, name: &str) -> Result<i64, QueueError> {
        let mut step = self.database.connection().await?;
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("PRAGMA {name}")));
        let value = query.fetch_one(&mut *step).await?;
        step.release();
        Ok(value)
    }
}
