//! The answers of sources of nodes that the reports of each branch are made with: those of its last report, until a
//! job has reported what newer ones change.

use sqlx::SqliteConnection;

use super::checkpoints::read_tip;
use super::database::row::Columns;
use super::jobs::insert;
use super::{Queue, QueueError};
use crate::event::{CommitEvent, EventKind, RepositoryName};
use crate::git::{BranchName, CommitId};

/// A branch and its tip, the answers of its last report, and those that a job was made for last.
type Branch = (BranchName, CommitId, Option<String>, Option<String>);

impl Queue {
    /// Makes a job for each branch of a repository whose reports were made with other answers than the `last` ones,
    /// unless commits are waiting: their reports come first. Branches that have had no report begin with the last
    /// answers. Returns the number of jobs.
    pub async fn have_nodes(&self, repository: &RepositoryName, last: &str) -> Result<usize, QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        let waiting = "SELECT count(*) FROM job WHERE state = 'waiting' AND repository = ?";
        let waiting: i64 = sqlx::query_scalar(waiting).bind(repository.as_str()).fetch_one(&mut *step).await?;
        let mut jobs = 0;
        for (branch, tip, answers, next) in branches(&mut step, repository).await? {
            match answers {
                _ if waiting > 0 => break,
                None => set_answers(&mut step, repository, &branch, last).await?,
                Some(answers) if answers == last || next.as_deref() == Some(last) => {}
                Some(_) => {
                    let kind = EventKind::Facts;
                    let event = CommitEvent::new(branch.clone(), Some(tip), tip, kind);
                    insert(&mut step, repository, &event, last).await?;
                    let update = "UPDATE nodes SET next = ? WHERE repository = ? AND branch = ?";
                    let update = sqlx::query(update).bind(last).bind(repository.as_str()).bind(branch.as_str());
                    update.execute(&mut *step).await?;
                    jobs += 1;
                }
            }
        }
        step.commit().await?;
        step.release();
        Ok(jobs)
    }

    /// Returns the answers that the last reports of a repository's branches were made with, without duplicates.
    pub async fn answers_in_use(&self, repository: &RepositoryName) -> Result<Vec<String>, QueueError> {
        let query = sqlx::query("SELECT DISTINCT answers FROM nodes WHERE repository = ?").bind(repository.as_str());
        self.all_rows(query).await?.iter().map(|row| Ok(row.text(0)?)).collect()
    }

    /// Returns the answers that the last report of a branch was made with.
    pub(super) async fn answers(
        &self,
        repository: &RepositoryName,
        branch: &BranchName,
    ) -> Result<Option<String>, QueueError> {
        let query = sqlx::query("SELECT answers FROM nodes WHERE repository = ? AND branch = ?");
        let row = self.first_row(query.bind(repository.as_str()).bind(branch.as_str())).await?;
        Ok(row.map(|row| row.text(0)).transpose()?)
    }
}

async fn branches(connection: &mut SqliteConnection, repository: &RepositoryName) -> Result<Vec<Branch>, QueueError> {
    let query = "SELECT name, tip, answers, next FROM branch \
        LEFT JOIN nodes ON nodes.repository = branch.repository AND nodes.branch = name \
        WHERE branch.repository = ? ORDER BY name";
    let rows = sqlx::query(query).bind(repository.as_str()).fetch_all(connection).await?;
    let branch = |row: &sqlx::sqlite::SqliteRow| {
        let Some((name, tip)) = read_tip(row)? else { return Ok(None) };
        Ok(Some((name, tip, row.text_if_any(2)?, row.text_if_any(3)?)))
    };
    rows.iter().filter_map(|row| branch(row).transpose()).collect()
}

/// Notes the answers that the first report of a branch will be made with.
async fn set_answers(
    connection: &mut SqliteConnection,
    repository: &RepositoryName,
    branch: &BranchName,
    answers: &str,
) -> Result<(), QueueError> {
    let insert = "INSERT INTO nodes (repository, branch, answers) VALUES (?, ?, ?)";
    let query = sqlx::query(insert).bind(repository.as_str()).bind(branch.as_str()).bind(answers);
    query.execute(connection).await?;
    Ok(())
}
