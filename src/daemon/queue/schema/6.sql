-- Version 6: the branches of which nothing can be read, and why.
CREATE TABLE blind (
    repository TEXT NOT NULL,
    branch     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

-- When scheduled work succeeded last: what is done may be only what was not missed.
ALTER TABLE schedule ADD COLUMN succeeded INTEGER;
