//! What a watch knows of a repository, over restarts.

use std::collections::VecDeque;

use sqlx::{Row, SqliteConnection};

use super::{Queue, QueueError};
use crate::daemon::Known;
use crate::git::{BranchName, CommitId};

impl Queue {
    /// What a former watch knew of the repository; nothing if there was none.
    pub async fn known(&self, repository: &str) -> Result<Option<Known>, QueueError> {
        let former = sqlx::query("SELECT former FROM repository WHERE name = ?").bind(repository);
        let Some(row) = self.first(former).await? else { return Ok(None) };
        let former: String = row.try_get(0)?;
        let rows = sqlx::query("SELECT name, tip FROM branch WHERE repository = ?").bind(repository);
        let mut known = Known { former: commits(&former), ..Known::default() };
        for row in self.all(rows).await? {
            let (name, tip): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            let tip = CommitId::from_hex(&tip).ok_or_else(|| damaged(&tip))?;
            known.branches.insert(BranchName::new(name), tip);
        }
        Ok(Some(known))
    }

    /// Keeps what a watch knows of the repository.
    pub async fn remember(&self, repository: &str, known: &Known) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        step.begin().await?;
        remember_former(&mut step, repository, &known.former).await?;
        sqlx::query("DELETE FROM branch WHERE repository = ?").bind(repository).execute(&mut *step).await?;
        for (branch, tip) in &known.branches {
            set_tip(&mut step, repository, branch, *tip).await?;
        }
        step.commit().await?;
        step.release();
        Ok(())
    }
}

async fn remember_former(
    connection: &mut SqliteConnection,
    repository: &str,
    former: &VecDeque<CommitId>,
) -> Result<(), QueueError> {
    let former = former.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let insert = "INSERT INTO repository (name, former) VALUES (?, ?) \
        ON CONFLICT (name) DO UPDATE SET former = excluded.former";
    sqlx::query(insert).bind(repository).bind(former).execute(connection).await?;
    Ok(())
}

/// Notes how far a branch is known.
pub(super) async fn set_tip(
    connection: &mut SqliteConnection,
    repository: &str,
    branch: &BranchName,
    tip: CommitId,
) -> Result<(), QueueError> {
    let insert = "INSERT INTO branch (repository, name, tip) VALUES (?, ?, ?) \
        ON CONFLICT (repository, name) DO UPDATE SET tip = excluded.tip";
    let query = sqlx::query(insert).bind(repository).bind(branch.as_str()).bind(tip.to_string());
    query.execute(connection).await?;
    Ok(())
}

fn commits(list: &str) -> VecDeque<CommitId> {
    list.split(' ').filter_map(CommitId::from_hex).collect()
}

/// A commit that is none.
pub(super) fn damaged(id: &str) -> QueueError {
    QueueError::Damaged(format!("'{id}' is no commit"))
}
