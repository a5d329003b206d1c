-- Version 2: what is planned, and when it was begun that was done last.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
