-- Version 8: the answers of sources of nodes that the reports of a branch were made with last, and those that are to
-- come after them.
CREATE TABLE nodes (
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    answers    TEXT NOT NULL,
    -- The answers that a job was made for last.
    next       TEXT,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;
