//! The branches of which nothing can be read, kept across restarts.

use super::database::row::Columns;
use super::{Queue, QueueError};
use crate::event::RepositoryName;
use crate::git::BranchName;

impl Queue {
    /// Notes the reason why nothing of a branch can be read, or `None` if something can.
    pub async fn set_blind(
        &self,
        repository: &RepositoryName,
        branch: &BranchName,
        reason: Option<&str>,
    ) -> Result<(), QueueError> {
        let query = if reason.is_some() {
            "INSERT INTO blind (repository, branch, reason) VALUES (?1, ?2, ?3) \
             ON CONFLICT (repository, branch) DO UPDATE SET reason = excluded.reason"
        } else {
            "DELETE FROM blind WHERE repository = ?1 AND branch = ?2"
        };
        self.execute(sqlx::query(query).bind(repository.as_str()).bind(branch.as_str()).bind(reason)).await?;
        Ok(())
    }

    /// Returns the branches of a repository that cannot be read at all, with the reasons.
    pub async fn blind(&self, repository: &RepositoryName) -> Result<Vec<(BranchName, String)>, QueueError> {
        let query = sqlx::query("SELECT branch, reason FROM blind WHERE repository = ? ORDER BY branch");
        let rows = self.all_rows(query.bind(repository.as_str())).await?;
        let branch = |row: &sqlx::sqlite::SqliteRow| Ok((BranchName::new(row.text(0)?), row.text(1)?));
        rows.iter().map(branch).collect()
    }
}
