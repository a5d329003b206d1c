-- Version 3: when a commit is resolved that could not be.
ALTER TABLE job ADD COLUMN due INTEGER NOT NULL DEFAULT 0;

-- What is planned is called scheduled. Some programs of version 2 did so already.
CREATE TABLE IF NOT EXISTS plan (
    name TEXT PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS schedule (
    name TEXT PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO schedule SELECT name, done FROM plan;
DROP TABLE plan;
