//! The one connection to the database. One is enough: each step is short, and two could not write at once.

pub(super) mod row;

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _};
use tokio::sync::{Mutex, MutexGuard};

use crate::disk::identity;

/// The time that one process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum size, in bytes, of the write-ahead log that stays on disk after a large transaction.
const LOG_SIZE: &str = "16777216";

/// A database and the connection to it. After a failed step the connection is reopened, since its state is unknown.
#[derive(Debug)]
pub(super) struct Database {
    options: SqliteConnectOptions,
    connection: Mutex<Option<SqliteConnection>>,
    /// The file, and its identity once it was opened.
    file: KnownFile,
}

/// A path, and the identity of the file there once it was opened.
type KnownFile = Arc<(PathBuf, OnceLock<Option<(u64, u64)>>)>;

/// The file of the database was removed or replaced: what is written to the open one would be lost.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} was removed or replaced under the daemon: put it back, or restart the daemon, which goes on with what is there",
    .0.display()
)]
struct Replaced(PathBuf);

impl Database {
    /// Returns the database in the file at `path`, which is created when it is needed.
    pub(super) fn new(path: &Path) -> Database {
        // Not every step waits for the disk: commits lost in a power failure are found again in git, under the same
        // ids. See `begin_durably` for what must not be lost.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .pragma("journal_size_limit", LOG_SIZE)
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        Database { options, connection: Mutex::default(), file: file(path) }
    }

    /// Returns the database for reading only, without leaving traces.
    pub(super) fn read_only(path: &Path) -> Database {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        // If a log is in use, or was left by a daemon that was killed, the file alone is not the whole database.
        let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(!Path::new(&log).exists());
        Database { options: options.busy_timeout(PATIENCE), connection: Mutex::default(), file: file(path) }
    }

    /// Returns the same database with another connection.
    pub(super) fn beside(&self) -> Database {
        Database { options: self.options.clone(), connection: Mutex::default(), file: self.file.clone() }
    }

    /// Takes the connection for one step.
    pub(super) async fn connection(&self) -> Result<Step<'_>, sqlx::Error> {
        let mut place = self.connection.lock().await;
        let (path, opened) = &*self.file;
        if let Some(Some(opened)) = opened.get()
            && identity(path) != Some(*opened)
        {
            return Err(sqlx::Error::Io(std::io::Error::other(Replaced(path.clone()))));
        }
        let connection = match place.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        opened.get_or_init(|| identity(path));
        Ok(Step { place, connection })
    }

    /// Writes pending changes to the file, and ends the connection.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "cannot close the queue properly; nothing is lost");
        }
    }
}

fn file(path: &Path) -> KnownFile {
    Arc::new((path.to_owned(), OnceLock::new()))
}

/// The connection while one step has it. The next step gets it if it is released.
pub(super) struct Step<'a> {
    place: MutexGuard<'a, Option<SqliteConnection>>,
    connection: SqliteConnection,
}

impl Step<'_> {
    /// Begins a transaction that no other writer overlaps.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Begins a transaction which, once committed, survives a power failure, as do all that were committed before it.
    /// Numbers that others see are assigned this way, so that none is assigned twice.
    pub(super) async fn begin_durably(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("PRAGMA synchronous = FULL").execute(&mut self.connection).await?;
        self.begin().await
    }

    /// Commits the transaction.
    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT; PRAGMA synchronous = NORMAL").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Gives the connection back after a successful step.
    pub(super) fn release(self) {
        let Step { mut place, connection } = self;
        *place = Some(connection);
    }
}

impl Deref for Step<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Step<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn level(step: &mut Step<'_>) -> i64 {
        sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut **step).await.unwrap()
    }

    #[tokio::test]
    async fn durable_transactions_wait_for_the_disk() {
        const NORMAL: i64 = 1;
        const FULL: i64 = 2;
        let folder = tempfile::tempdir().unwrap();
        let database = Database::new(&folder.path().join("d.db"));
        let mut step = database.connection().await.unwrap();
        step.begin().await.unwrap();
        assert_eq!(level(&mut step).await, NORMAL);
        step.commit().await.unwrap();
        step.begin_durably().await.unwrap();
        assert_eq!(level(&mut step).await, FULL);
        step.commit().await.unwrap();
        assert_eq!(level(&mut step).await, NORMAL);
    }
}
