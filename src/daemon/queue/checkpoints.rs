//! The checkpoints of watches, kept across restarts: the last seen commits of branches, as the watch's tracker gives
//! them.

use std::collections::VecDeque;

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::database::row::Columns;
use super::{Queue, QueueError};
use crate::daemon::watch::BranchCheckpoint;
use crate::event::RepositoryName;
use crate::git::{BranchName, CommitId};

impl Queue {
    /// Returns the checkpoint of a repository, or `None` if it was never watched.
    pub async fn checkpoint(&self, repository: &RepositoryName) -> Result<Option<BranchCheckpoint>, QueueError> {
        let former = sqlx::query("SELECT former FROM repository WHERE name = ?").bind(repository.as_str());
        let Some(row) = self.first_row(former).await? else { return Ok(None) };
        let former = row.text(0)?;
        let rows = sqlx::query("SELECT name, tip FROM branch WHERE repository = ?").bind(repository.as_str());
        let mut checkpoint = BranchCheckpoint { former: commits(&former), ..BranchCheckpoint::default() };
        for row in self.all_rows(rows).await? {
            if let Some((name, tip)) = read_tip(&row)? {
                checkpoint.branches.insert(name, tip);
            }
        }
        Ok(Some(checkpoint))
    }

    /// Saves the checkpoint of a repository.
    pub async fn save_checkpoint(
        &self,
        repository: &RepositoryName,
        checkpoint: &BranchCheckpoint,
    ) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        save_former(&mut step, repository, &checkpoint.former).await?;
        sqlx::query("DELETE FROM branch WHERE repository = ?").bind(repository.as_str()).execute(&mut *step).await?;
        for (branch, tip) in &checkpoint.branches {
            set_tip(&mut step, repository, branch, *tip).await?;
        }
        for delete in [
            "DELETE FROM blind WHERE repository = ?1 AND branch NOT IN (SELECT name FROM branch WHERE repository = ?1)",
            "DELETE FROM nodes WHERE repository = ?1 AND branch NOT IN (SELECT name FROM branch WHERE repository = ?1)",
        ] {
            sqlx::query(delete).bind(repository.as_str()).execute(&mut *step).await?;
        }
        step.commit().await?;
        step.release();
        Ok(())
    }
}

async fn save_former(
    connection: &mut SqliteConnection,
    repository: &RepositoryName,
    former: &VecDeque<CommitId>,
) -> Result<(), QueueError> {
    let former = former.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let insert = "INSERT INTO repository (name, former) VALUES (?, ?) \
        ON CONFLICT (name) DO UPDATE SET former = excluded.former";
    sqlx::query(insert).bind(repository.as_str()).bind(former).execute(connection).await?;
    Ok(())
}

/// Returns the branch and the tip in the first two columns of a row, or `None` if the tip is not a commit, so that
/// the branch counts as new.
pub(super) fn read_tip(row: &SqliteRow) -> Result<Option<(BranchName, CommitId)>, QueueError> {
    let branch = BranchName::new(row.text(0)?);
    match row.commit(1) {
        Ok(tip) => Ok(Some((branch, tip))),
        Err(error) if error.is_damage() => {
            tracing::error!(%branch, %error, "the last seen commit of the branch cannot be read; it is forgotten");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Saves the last seen commit of a branch.
pub(super) async fn set_tip(
    connection: &mut SqliteConnection,
    repository: &RepositoryName,
    branch: &BranchName,
    tip: CommitId,
) -> Result<(), QueueError> {
    let insert = "INSERT INTO branch (repository, name, tip) VALUES (?, ?, ?) \
        ON CONFLICT (repository, name) DO UPDATE SET tip = excluded.tip";
    let query = sqlx::query(insert).bind(repository.as_str()).bind(branch.as_str()).bind(tip.to_string());
    query.execute(connection).await?;
    Ok(())
}

fn commits(list: &str) -> VecDeque<CommitId> {
    list.split(' ').filter_map(CommitId::from_hex).collect()
}
