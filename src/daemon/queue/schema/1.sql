-- Version 1. Times are milliseconds since 1970; commits are their full ids.
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

-- The commits that have come to branches.
CREATE TABLE job (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    before     TEXT,
    after      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'resolved', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    created    INTEGER NOT NULL,
    -- Later than that of all jobs that were resolved before, whatever the clock says: readers of all reports go by it.
    resolved   INTEGER
) STRICT;
CREATE INDEX job_by_state ON job (state, number);
CREATE INDEX job_by_commit ON job (after);
CREATE INDEX job_by_resolution ON job (resolved);

-- The reports of resolved jobs.
CREATE TABLE report (
    job  INTEGER PRIMARY KEY REFERENCES job (number) ON DELETE CASCADE,
    body BLOB NOT NULL,
    -- The same for a person, where a sink wants it.
    text TEXT
) STRICT;

-- Which report has to go to which sink.
CREATE TABLE delivery (
    job       INTEGER NOT NULL REFERENCES job (number) ON DELETE CASCADE,
    sink      TEXT NOT NULL,
    state     TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'dead')),
    attempts  INTEGER NOT NULL DEFAULT 0,
    -- When it was put here or, once it has failed, when it did so first; when it is tried next.
    since     INTEGER NOT NULL,
    due       INTEGER NOT NULL DEFAULT 0,
    error     TEXT,
    delivered INTEGER,
    PRIMARY KEY (job, sink)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_sink ON delivery (sink, state, due, job);
