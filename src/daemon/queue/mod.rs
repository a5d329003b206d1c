//! The durable queue: commits that have come to branches, their reports, and which sink has which report. An `SQLite` database in
//! a folder of the user's choice; each step is a transaction, so that a process that is killed loses nothing and begins again
//! with the step that it was at.

mod branches;
mod database;
mod deliveries;
mod jobs;
mod overview;
mod reports;
mod schedules;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection};

use crate::disk::can_write;
use database::{Database, Step};

pub use deliveries::Waiting;
pub use jobs::{Job, JobNumber, Written};
pub use overview::{Count, Row, Stage};
pub use reports::{Cursor, Kept, Wanted};
pub use schedules::FailingWork;

/// The database in its folder.
const FILE: &str = "queue.db";

/// The file that the daemon which works on the queue holds a lock on.
const LOCK: &str = "lock";

/// What makes each version of the schema of the one before.
const SCHEMA: [&str; 4] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// The version of the schema, which `SQLite` keeps in `user_version`.
const VERSION: usize = SCHEMA.len();

/// How long the lock may be held by who is about to end: a child of a daemon that was killed holds it until it runs its program.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

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
    /// It has no such job.
    #[error("there is no {0} in the queue")]
    NoJob(JobNumber),
    /// It has nothing that was to go to such a sink.
    #[error("the queue has no report for a sink '{0}'")]
    NoSink(String),
    /// The database is damaged.
    #[error("the database of the queue is damaged: {0}")]
    Damaged(String),
    /// The database cannot be opened.
    #[error("cannot use the database {}: {source}", .path.display())]
    Unusable {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// The database does not do as it is told: a full disk, a damaged file.
    #[error("the database of the queue: {0}")]
    Database(#[from] sqlx::Error),
}

impl QueueError {
    /// The same, if the database does not say which it is.
    fn at(self, path: &Path) -> QueueError {
        match self {
            QueueError::Database(source) => QueueError::Unusable { path: path.into(), source },
            error => error,
        }
    }
}

/// A question to the database.
type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// The queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Queue {
    database: Arc<Database>,
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
        Ok((Queue::connect(folder).await?, QueueLock { _file: file }))
    }

    /// The queue that is in a folder, whether a daemon works on it or not.
    pub async fn open(folder: &Path) -> Result<Queue, QueueError> {
        match fs::metadata(folder.join(FILE)) {
            Ok(_) => Queue::connect(folder).await,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(QueueError::Absent(folder.into())),
            Err(source) => Err(QueueError::Folder { folder: folder.into(), source }),
        }
    }

    async fn connect(folder: &Path) -> Result<Queue, QueueError> {
        let path = folder.join(FILE);
        let queue = Queue { database: Arc::new(Database::new(&path)) };
        queue.prepare(folder).await.map_err(|error| error.at(&path))?;
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

    /// Sees whether a daemon could work on the queue in a folder, which need not be there. Nothing is changed.
    pub async fn examine(folder: &Path) -> Result<(), QueueError> {
        can_write(folder).map_err(|source| QueueError::Folder { folder: folder.into(), source })?;
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(());
        }
        let queue = Queue { database: Arc::new(Database::read_only(&path)) };
        let examined = queue.examine_database(folder).await;
        queue.close().await;
        examined.map_err(|error| error.at(&path))
    }

    async fn examine_database(&self, folder: &Path) -> Result<(), QueueError> {
        let mut step = self.database.connection().await?;
        check_version(&mut step, folder).await?;
        step.release();
        self.check().await
    }

    /// The same queue by a connection of its own: who only reads keeps nobody else waiting by it.
    #[must_use]
    pub fn beside(&self) -> Queue {
        Queue { database: Arc::new(self.database.beside()) }
    }

    /// Has the database check itself.
    pub async fn check(&self) -> Result<(), QueueError> {
        let mut connection = self.database.connection().await?;
        let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&mut *connection).await?;
        let broken = sqlx::query("PRAGMA foreign_key_check").fetch_optional(&mut *connection).await?;
        connection.release();
        match (found.as_slice(), broken) {
            ([ok], None) if ok == "ok" => Ok(()),
            (_, None) => Err(QueueError::Damaged(found.join("; "))),
            (_, Some(_)) => Err(QueueError::Damaged("a row refers to one that is gone".to_owned())),
        }
    }

    /// The first row of an answer.
    async fn first(&self, query: Query<'_>) -> Result<Option<SqliteRow>, QueueError> {
        let mut connection = self.database.connection().await?;
        let row = query.fetch_optional(&mut *connection).await?;
        connection.release();
        Ok(row)
    }

    /// All rows of an answer.
    async fn all(&self, query: Query<'_>) -> Result<Vec<SqliteRow>, QueueError> {
        let mut connection = self.database.connection().await?;
        let rows = query.fetch_all(&mut *connection).await?;
        connection.release();
        Ok(rows)
    }

    /// Does one thing, alone; how many rows it concerns.
    async fn execute(&self, query: Query<'_>) -> Result<u64, QueueError> {
        let mut connection = self.database.connection().await?;
        let done = query.execute(&mut *connection).await?;
        connection.release();
        Ok(done.rows_affected())
    }

    /// Writes what is in memory to the file, and closes it.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

async fn version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await
}

/// The version of the schema of a queue, if it is one that is known.
async fn check_version(connection: &mut SqliteConnection, folder: &Path) -> Result<usize, QueueError> {
    let version = version(connection).await?;
    let known = usize::try_from(version).ok().filter(|version| *version <= VERSION);
    known.ok_or_else(|| QueueError::Newer { folder: folder.into(), version })
}

/// Makes the last version of the schema of the one that there is, which another process may be doing.
async fn upgrade(step: &mut Step<'_>) -> Result<(), sqlx::Error> {
    step.begin().await?;
    let version = usize::try_from(version(step).await?).unwrap_or(VERSION);
    for next in SCHEMA.iter().skip(version) {
        sqlx::raw_sql(*next).execute(&mut **step).await?;
    }
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("PRAGMA user_version = {VERSION}"))).execute(&mut **step).await?;
    step.commit().await
}

/// The time as the database has it.
fn now() -> i64 {
    millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A time that is to come; none if it has passed.
fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// Reports may tell what not everybody should know.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
