//! Forgets rows that no step of the daemon can use, and that would make every later step of their kind fail. Other
//! damaged rows are found when their turn comes, and are set aside then.

use super::{Queue, QueueError};

/// The rows that are forgotten, and the statement for them. `SQLite` assigns no number after the largest, and JSON
/// has no exact ones beyond 2^53.
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
    /// Forgets what cannot be used, and logs that.
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
