-- Version 7: requests on forges that are to be reviewed.
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
