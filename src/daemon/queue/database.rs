//! The one connection to the database. One is enough: each step is short, and two could not write at once.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _};
use tokio::sync::{Mutex, MutexGuard};

/// How long one process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A database and the connection to it, which is opened anew after a step has failed: what state it is in then nobody knows.
#[derive(Debug)]
pub(super) struct Database {
    options: SqliteConnectOptions,
    connection: Mutex<Option<SqliteConnection>>,
}

impl Database {
    /// The database in the file at `path`, which is made when it is needed.
    pub(super) fn new(path: &Path) -> Database {
        // Not every step waits for the disk: what a loss of power takes back is found again in git, under the same id.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        Database { options, connection: Mutex::default() }
    }

    /// The same for one who only reads, and leaves no traces.
    pub(super) fn read_only(path: &Path) -> Database {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        // With a log that is in use, or was left by a daemon that was killed, the file alone is not the whole database.
        let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(!Path::new(&log).exists());
        Database { options: options.busy_timeout(PATIENCE), connection: Mutex::default() }
    }

    /// The same database by another connection.
    pub(super) fn beside(&self) -> Database {
        Database { options: self.options.clone(), connection: Mutex::default() }
    }

    /// The connection, for one step.
    pub(super) async fn connection(&self) -> Result<Step<'_>, sqlx::Error> {
        let mut place = self.connection.lock().await;
        let connection = match place.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        Ok(Step { place, connection })
    }

    /// Writes what is in memory to the file, and ends the connection.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "cannot close the queue properly; nothing is lost");
        }
    }
}

/// The connection in the hands of one step. It is kept for the next one if it is released.
pub(super) struct Step<'a> {
    place: MutexGuard<'a, Option<SqliteConnection>>,
    connection: SqliteConnection,
}

impl Step<'_> {
    /// Begins a transaction, alone among those who write.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Ends a transaction: what was done in it is there from now on, whatever happens.
    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut self.connection).await?;
        Ok(())
    }

    /// The step has succeeded.
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
