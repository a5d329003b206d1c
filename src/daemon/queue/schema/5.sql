-- Version 5: the branch of each delivery, since order is kept for each branch, and deliveries that nobody needs any more.
CREATE TABLE delivery_5 (
    job        INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
    sink       TEXT NOT NULL,
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'skipped', 'dead')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- When it was put here or, once it has failed, when it did so first; when it is tried next, or was set aside.
    since      INTEGER NOT NULL,
    due        INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    delivered  INTEGER,
    PRIMARY KEY (job, sink)
) STRICT, WITHOUT ROWID;
INSERT INTO delivery_5 SELECT job, sink, repository, branch, delivery.state, delivery.attempts, since, delivery.due, delivery.error, delivered
    FROM delivery JOIN job ON job.number = delivery.job;
DROP TABLE delivery;
ALTER TABLE delivery_5 RENAME TO delivery;
CREATE INDEX delivery_by_due ON delivery (state, sink, due, job);
CREATE INDEX delivery_by_age ON delivery (state, sink, job, due);
CREATE INDEX delivery_by_branch ON delivery (sink, repository, branch, job) WHERE state = 'waiting';

-- The jobs of one repository are found without those of the others.
DROP INDEX job_by_state;
CREATE INDEX job_by_state ON job (state, repository, number);

-- The order in which jobs were resolved. A number is not used again, and no clock decides it.
CREATE TABLE resolution (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    job      INTEGER NOT NULL UNIQUE REFERENCES job (number) ON DELETE CASCADE
) STRICT;
INSERT INTO resolution (job) SELECT number FROM job WHERE resolved IS NOT NULL ORDER BY resolved;

-- The text of a report, compressed. Bodies are compressed in their own column, which tells by its first byte.
ALTER TABLE report ADD COLUMN packed_text BLOB;
