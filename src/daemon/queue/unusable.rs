//! Forgets what no step of the daemon can use, and what would have every later step of its kind fail. Other rows that
//! are damaged are found when their turn comes, and are set aside then.

use super::{Queue, QueueError};

/// The rows that are forgotten, and the statement for them. `SQLite` gives no number after the largest, and JSON none
/// after 2^53.
const UNUSABLE: [(&str, &str); 5] = [
    ("commits whose number is none", "DELETE FROM job WHERE number NOT BETWEEN 1 AND 9007199254740991"),
    ("places of reports that are none", "DELETE FROM resolution WHERE sequence NOT BETWEEN 1 AND 9007199254740991"),
    ("reviews whose number is none", "DELETE FROM review WHERE number NOT BETWEEN 1 AND 9007199254740991"),
    (
        "deliveries of commits that are gone",
        "DELETE FROM delivery WHERE state = 'waiting' AND job NOT IN (SELECT number FROM job)",
    ),
    (
        "last numbers that are none",
        "UPDATE sqlite_sequence SET seq = 0 \
         WHERE typeof(seq) IS NOT 'integer' OR seq NOT BETWEEN 0 AND 9007199254740991",
    ),
];

impl Queue {
    /// Forgets what cannot be used, and tells the log.
    pub(super) async fn forget_unusable(&self) -> Result<(), QueueError> {
        for (what, statement) in UNUSABLE {
            let rows = self.execute(sqlx::query(statement)).await?;
            if rows > 0 {
                tracing::error!(rows, what, "rows of the queue cannot be used; they are forgotten");
            }
        }
        Ok(())
    }
}
