//! The durable queue: commits that have come to branches, their reports, the deliveries of these to sinks, and the
//! requests on forges that are to be reviewed.
//!
//! It is an `SQLite` database in a folder of the user's choice. Each step is a transaction, so that a process that is
//! killed loses nothing and goes on with the step that it was at. Ids and kinds become text here and nowhere else in
//! the daemon.
//!
//! A database of any former version is upgraded when it is opened (`SCHEMA`). One of a newer version is refused.

mod blind;
mod body;
mod checkpoints;
mod database;
mod deliveries;
mod jobs;
mod nodes;
mod overview;
mod reports;
mod retention;
mod reviews;
mod schedules;
mod times;
mod unusable;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection};

use crate::disk::{FileMode, can_write};
use crate::event::JobNumber;

pub use body::Body;
pub use deliveries::NextDelivery;
pub use jobs::{Job, PackedReport, RenderedReport, Waiting};
pub use overview::{PendingItem, Stage, StageCount};
pub use reports::{Cursor, ReportQuery, StoredReport};
pub use retention::{Forgotten, Retention};
pub use reviews::{PendingReview, ReviewJob};
pub use schedules::FailingWork;
pub use times::{Backlog, LastSuccesses};

use database::{Database, Step};

/// The file of the database.
const DATABASE_FILE: &str = "queue.db";

/// The file that the working daemon holds a lock on.
const LOCK_FILE: &str = "lock";

/// The steps of the schema: each upgrades it to the next version.
const SCHEMA: [&str; 2] = [include_str!("schema.sql"), "ALTER TABLE job ADD COLUMN push INTEGER NOT NULL DEFAULT 0"];

/// The version of the schema, as stored in `user_version`.
const VERSION: usize = SCHEMA.len();

/// The longest time until failed work is tried again. Work with a later time was postponed while the clock was ahead,
/// and is due now.
pub const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// The time to wait for the lock: a child of a daemon that was killed holds it until it runs its program.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The queue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The folder cannot be made or locked.
    #[error("cannot use {} for the state of the daemon: {source}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Another daemon works on it.
    #[error("another daemon keeps its state in {}", .0.display())]
    Busy(PathBuf),
    /// There is no queue.
    #[error("no daemon keeps its state in {}", .0.display())]
    Absent(PathBuf),
    /// A newer hierad has made the queue.
    #[error("the queue in {} has version {version}, and this hierad supports versions up to \
             {VERSION}", .folder.display())]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        version: i64,
    },
    /// The queue has no such job.
    #[error("there is no {0} in the queue")]
    NoJob(JobNumber),
    /// The queue has nothing for such a sink.
    #[error("the queue has no report for a sink '{0}'")]
    NoSink(String),
    /// The database is damaged.
    #[error("the database of the queue is damaged: {0}")]
    Damaged(String),
    /// The database cannot be opened.
    #[error("cannot use the database {}: {source}{}", .path.display(), advice(source))]
    Unusable {
        /// Its file.
        path: PathBuf,
        /// The reason.
        source: sqlx::Error,
    },
    /// A step of the database has failed: the disk may be full, the file damaged.
    #[error("the database of the queue: {0}")]
    Database(#[from] sqlx::Error),
}

impl QueueError {
    /// Returns true if the error is the fault of one row: others can be read.
    fn is_damage(&self) -> bool {
        matches!(
            self,
            QueueError::Damaged(_) | QueueError::Database(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
        )
    }

    /// Adds the path to an error that names none.
    fn with_path(self, path: &Path) -> QueueError {
        match self {
            QueueError::Database(source) => QueueError::Unusable { path: path.into(), source },
            error => error,
        }
    }
}

/// Returns what to do about a database that cannot be opened, if that is known.
fn advice(error: &sqlx::Error) -> &'static str {
    /// `SQLITE_NOTADB`
    const NO_DATABASE: &str = "26";
    match error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() {
        Some(NO_DATABASE) => "; restore it from a backup, or move it away: then the queue begins anew",
        _ => "",
    }
}

/// A query of the database.
type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// The queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Queue {
    database: Arc<Database>,
}

/// The right to work on a queue. Others may look at it meanwhile.
#[derive(Debug)]
pub struct QueueLock {
    _file: File,
}

impl Queue {
    /// Opens the queue in a folder for the one daemon that works on it. Creates the folder and the database if they
    /// do not exist.
    pub async fn create(folder: &Path) -> Result<(Queue, QueueLock), QueueError> {
        let failed = |source| QueueError::Folder { folder: folder.into(), source };
        FileMode::PRIVATE.create_folder(folder).map_err(failed)?;
        let file = open_private(&folder.join(LOCK_FILE)).map_err(failed)?;
        let end = Instant::now() + LOCK_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
                Err(fs::TryLockError::WouldBlock) if Instant::now() > end => {
                    return Err(QueueError::Busy(folder.into()));
                }
                Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PATIENCE / 100).await,
            }
        }
        // SQLite gives the mode of the database to its other files, but not to those of a former daemon.
        for suffix in ["", "-wal", "-shm"] {
            let path = folder.join(format!("{DATABASE_FILE}{suffix}"));
            if suffix.is_empty() || path.exists() {
                open_private(&path).map_err(failed)?;
            }
        }
        let queue = Queue::connect(folder).await?;
        queue.forget_unusable().await.map_err(|error| error.with_path(&folder.join(DATABASE_FILE)))?;
        Ok((queue, QueueLock { _file: file }))
    }

    /// Opens the queue in a folder, whether a daemon works on it or not.
    pub async fn open(folder: &Path) -> Result<Queue, QueueError> {
        match fs::metadata(folder.join(DATABASE_FILE)) {
            Ok(_) => Queue::connect(folder).await,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(QueueError::Absent(folder.into())),
            Err(source) => Err(QueueError::Folder { folder: folder.into(), source }),
        }
    }

    async fn connect(folder: &Path) -> Result<Queue, QueueError> {
        let path = folder.join(DATABASE_FILE);
        let queue = Queue { database: Arc::new(Database::new(&path)) };
        queue.prepare(folder).await.map_err(|error| error.with_path(&path))?;
        Ok(queue)
    }

    async fn prepare(&self, folder: &Path) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        if check_version(&mut step, folder).await? < VERSION {
            upgrade(&mut step).await?;
        }
        step.release();
        Ok(())
    }

    /// Checks that a daemon could work on the queue in a folder, which need not exist. Nothing is changed.
    pub async fn examine(folder: &Path) -> Result<(), QueueError> {
        can_write(folder).map_err(|source| QueueError::Folder { folder: folder.into(), source })?;
        let path = folder.join(DATABASE_FILE);
        if !path.exists() {
            return Ok(());
        }
        let queue = Queue { database: Arc::new(Database::read_only(&path)) };
        let examined = queue.examine_database(folder).await;
        queue.close().await;
        examined.map_err(|error| error.with_path(&path))
    }

    async fn examine_database(&self, folder: &Path) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        check_version(&mut step, folder).await?;
        step.release();
        self.check().await
    }

    /// Returns the same queue with its own connection, so that a reader does not delay others.
    #[must_use]
    pub fn beside(&self) -> Queue {
        Queue { database: Arc::new(self.database.beside()) }
    }

    /// Makes the database check itself.
    pub async fn check(&self) -> Result<(), QueueError> {
        let mut connection = self.database.connection().await?;
        let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&mut *connection).await?;
        let broken = sqlx::query("PRAGMA foreign_key_check").fetch_optional(&mut *connection).await?;
        connection.release();
        match (found.as_slice(), broken) {
            ([ok], None) if ok == "ok" => Ok(()),
            (_, None) => Err(QueueError::Damaged(found.join("; "))),
            (_, Some(_)) => Err(QueueError::Damaged("a row refers to a missing one".to_owned())),
        }
    }

    /// Returns the first row of an answer, or `None` if it has none.
    async fn first_row(&self, query: Query<'_>) -> Result<Option<SqliteRow>, QueueError> {
        let mut connection = self.database.connection().await?;
        let row = query.fetch_optional(&mut *connection).await?;
        connection.release();
        Ok(row)
    }

    /// Returns all rows of an answer.
    async fn all_rows(&self, query: Query<'_>) -> Result<Vec<SqliteRow>, QueueError> {
        let mut connection = self.database.connection().await?;
        let rows = query.fetch_all(&mut *connection).await?;
        connection.release();
        Ok(rows)
    }

    /// Executes one statement, and returns the number of rows that it changed.
    async fn execute(&self, query: Query<'_>) -> Result<u64, QueueError> {
        let mut connection = self.database.connection().await?;
        let done = query.execute(&mut *connection).await?;
        connection.release();
        Ok(done.rows_affected())
    }

    /// Writes pending changes to the file, and closes it.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

async fn version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await
}

/// Returns the version of a queue's schema. Fails if it is newer than this program.
async fn check_version(connection: &mut SqliteConnection, folder: &Path) -> Result<usize, QueueError> {
    let version = version(connection).await?;
    let known = usize::try_from(version).ok().filter(|version| *version <= VERSION);
    known.ok_or_else(|| QueueError::Newer { folder: folder.into(), version })
}

/// Upgrades the schema to the latest version. Another process may be doing the same.
async fn upgrade(step: &mut Step<'_>) -> Result<(), sqlx::Error> {
    step.begin().await?;
    let version = usize::try_from(version(step).await?).unwrap_or(VERSION);
    for next in SCHEMA.iter().skip(version) {
        sqlx::raw_sql(*next).execute(&mut **step).await?;
    }
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("PRAGMA user_version = {VERSION}"))).execute(&mut **step).await?;
    step.commit().await
}

/// Returns the current time as the database stores it: milliseconds since 1970.
fn now() -> i64 {
    millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a number of milliseconds as a duration, or zero if it is negative.
fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// Returns the time until failed work is `due`, or zero if that is in the past or later than can be.
fn time_until(due: i64) -> Duration {
    Some(duration(due.saturating_sub(now()))).filter(|time| *time <= LONGEST_DELAY).unwrap_or_default()
}

/// Opens or creates a file, and makes it accessible to its owner only, since reports may be confidential.
fn open_private(path: &Path) -> std::io::Result<File> {
    let file = match FileMode::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => File::options().write(true).open(path)?,
        made => made?,
    };
    if !FileMode::PRIVATE.is_of(&file.metadata()?) {
        FileMode::PRIVATE.give(&file)?;
    }
    Ok(file)
}
