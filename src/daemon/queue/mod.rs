//! The durable queue: commits that have come to branches, their reports, and which sink has which report. An `SQLite` database in
//! a folder of the user's choice; each step is a transaction, so that a process that is killed loses nothing and begins again
//! with the step that it was at.

mod branches;
mod deliveries;
mod jobs;
mod overview;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

pub use deliveries::Waiting;
pub use jobs::{Job, JobNumber};
pub use overview::{Count, Row, Stage};

/// The database in its folder.
const FILE: &str = "queue.db";

/// The file that the daemon which works on the queue holds a lock on.
const LOCK: &str = "lock";

const SCHEMA: &str = include_str!("schema.sql");

/// The version of the schema, which `SQLite` keeps in `user_version`.
const VERSION: i64 = 1;

/// How long one process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The queue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The folder cannot be made or locked.
    #[error("cannot use {} for the state of the daemon: {source}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another daemon works on it.
    #[error("another daemon has its state in {}", .0.display())]
    Busy(PathBuf),
    /// There is none.
    #[error("there is no daemon's state in {}", .0.display())]
    Absent(PathBuf),
    /// A newer hierad has made it.
    #[error("the queue in {} is of version {version}, this hierad knows up to {VERSION}", .folder.display())]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        version: i64,
    },
    /// The database is damaged.
    #[error("the database of the queue is damaged: {0}")]
    Damaged(String),
    /// The database does not do as it is told: a full disk, a damaged file.
    #[error("the database of the queue: {0}")]
    Database(#[from] sqlx::Error),
}

/// The queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Queue {
    pool: SqlitePool,
}

/// The right to work on a queue; others may look at it meanwhile.
#[derive(Debug)]
pub struct QueueLock {
    _file: File,
}

impl Queue {
    /// Makes the folder and the database as far as they are not there, for the only daemon that works on them.
    pub async fn create(folder: &Path) -> Result<(Queue, QueueLock), QueueError> {
        let failed = |source| QueueError::Folder { folder: folder.into(), source };
        make_private(folder).map_err(failed)?;
        let file = File::create(folder.join(LOCK)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(QueueError::Busy(folder.into())),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok((Queue::connect(folder).await?, QueueLock { _file: file }))
    }

    /// The queue that is in a folder, whether a daemon works on it or not.
    pub async fn open(folder: &Path) -> Result<Queue, QueueError> {
        if !folder.join(FILE).is_file() {
            return Err(QueueError::Absent(folder.into()));
        }
        Queue::connect(folder).await
    }

    async fn connect(folder: &Path) -> Result<Queue, QueueError> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join(FILE))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        // One connection: transactions of this process wait for each other in order.
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let queue = Queue { pool };
        let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&queue.pool).await?;
        match version {
            VERSION => {}
            0 => queue.make().await?,
            version => return Err(QueueError::Newer { folder: folder.into(), version }),
        }
        Ok(queue)
    }

    async fn make(&self) -> Result<(), QueueError> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
        sqlx::raw_sql("PRAGMA user_version = 1").execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// Has the database check itself.
    pub async fn check(&self) -> Result<(), QueueError> {
        let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&self.pool).await?;
        let broken = sqlx::query("PRAGMA foreign_key_check").fetch_optional(&self.pool).await?;
        match (found.as_slice(), broken) {
            ([ok], None) if ok == "ok" => Ok(()),
            (_, None) => Err(QueueError::Damaged(found.join("; "))),
            (_, Some(_)) => Err(QueueError::Damaged("a row refers to one that is gone".to_owned())),
        }
    }

    /// Writes what is in memory to the file, and closes it.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// The time as the database has it.
fn now() -> i64 {
    millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Reports may tell what not everybody should know.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
