-- Times are milliseconds since 1970; commits are their full ids.
CREATE TABLE repository (
    name   TEXT PRIMARY KEY,
    -- Tips that branches had once, the oldest first, separated by spaces.
    former TEXT NOT NULL
) STRICT;

-- The branches of a repository, up to where their commits are jobs.
CREATE TABLE branch (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    tip        TEXT NOT NULL,
    PRIMARY KEY (repository, name)
) STRICT, WITHOUT ROWID;

-- The branches of which nothing can be read, and why.
CREATE TABLE blind (
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

-- The answers of sources of nodes that the reports of a branch were made with last, and those that are to come after
-- them.
CREATE TABLE nodes (
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    answers    TEXT NOT NULL,
    -- The answers that a job was made for last.
    next       TEXT,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

-- The commits that have come to branches.
CREATE TABLE job (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    before     TEXT,
    after      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    -- The commit whose settings judge it, if that is another than the one before.
    judge      TEXT,
    state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'resolved', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- When it is tried next, if it could not be resolved.
    due        INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    created    INTEGER NOT NULL,
    -- Later than that of all jobs that were resolved before, whatever the clock says: readers of all reports go by it.
    resolved   INTEGER
) STRICT;
-- The jobs of one repository are found without those of the others, and the first of each branch, since branches take
-- turns.
CREATE INDEX job_by_state ON job (state, repository, number);
CREATE INDEX job_by_branch ON job (repository, branch, number) WHERE state = 'waiting';
CREATE INDEX job_by_commit ON job (after);
CREATE INDEX job_by_resolution ON job (resolved);

-- The order in which jobs were resolved. A number is not used again, and no clock decides it.
CREATE TABLE resolution (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    job      INTEGER NOT NULL UNIQUE REFERENCES job (number) ON DELETE CASCADE
) STRICT;

-- The reports of resolved jobs, compressed.
CREATE TABLE report (
    job  INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
    body BLOB NOT NULL,
    -- The same for a person, where a sink wants it.
    text BLOB
) STRICT;

-- Which report has to go to which sink. Order is kept for each branch.
CREATE TABLE delivery (
    job        INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
    sink       TEXT NOT NULL,
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'skipped', 'dead')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- The attempts that were begun and of which nothing more is known: the daemon has ended in them.
    begun      INTEGER NOT NULL DEFAULT 0,
    -- When it was put here or, once it has failed, when it did so first; when it is tried next, or was set aside.
    since      INTEGER NOT NULL,
    due        INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    delivered  INTEGER,
    PRIMARY KEY (job, sink)
) STRICT, WITHOUT ROWID;
-- What is not delivered is asked for by what is due first and by what is oldest; what is delivered is far more.
CREATE INDEX delivery_by_due ON delivery (state, sink, due, job);
CREATE INDEX delivery_by_age ON delivery (state, sink, job, due);
CREATE INDEX delivery_by_branch ON delivery (sink, repository, branch, job) WHERE state = 'waiting';

-- What is done at certain times, and when it was begun that was done last.
CREATE TABLE schedule (
    name      TEXT PRIMARY KEY,
    done      INTEGER NOT NULL,
    -- When it succeeded last: what is done may be only what was not missed.
    succeeded INTEGER,
    -- Why it was not done when it was tried last.
    failures  INTEGER NOT NULL DEFAULT 0,
    error     TEXT
) STRICT, WITHOUT ROWID;

-- The requests on forges that are to be reviewed.
CREATE TABLE review (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The reviews of the settings, and the number of the request on the forge.
    name     TEXT NOT NULL,
    request  INTEGER NOT NULL,
    -- How often it was asked for: more often since a review began means once more.
    events   INTEGER NOT NULL DEFAULT 1,
    state    TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When it was asked for or, once it has failed, when it did so first; when it is tried next, or was set aside.
    since    INTEGER NOT NULL,
    due      INTEGER NOT NULL DEFAULT 0,
    error    TEXT,
    UNIQUE (name, request)
) STRICT;
