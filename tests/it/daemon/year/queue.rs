//! The state database, as it is on disk.

use std::path::Path;

use sqlx::{Connection, Row, SqliteConnection};
use tokio::runtime::Runtime;

/// A reader of the database.
pub(super) struct Rows {
    runtime: Runtime,
    connection: SqliteConnection,
}

impl Rows {
    pub(super) fn open(state: &Path) -> Rows {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let database = format!("sqlite://{}", state.join("queue.db").display());
        let connection = runtime.block_on(SqliteConnection::connect(&database)).unwrap();
        Rows { runtime, connection }
    }

    /// Returns the texts of a query's rows, or `None` while it is not to be read.
    pub(super) fn get(&mut self, query: &str) -> Option<Vec<String>> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(&mut self.connection);
        let rows = self.runtime.block_on(rows).ok()?;
        Some(rows.iter().map(|row| row.get::<String, _>(0)).collect())
    }

    pub(super) fn run<T>(&self, task: impl Future<Output = T>) -> T {
        self.runtime.block_on(task)
    }
}
