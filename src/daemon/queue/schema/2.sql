-- Version 2: what is planned, and when it was begun that was done last.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is not delivered is asked for by what is due first and by what is oldest; what is delivered is far more.
DROP INDEX delivery_by_sink;
CREATE INDEX delivery_by_due ON delivery (state, sink, due, job);
CREATE INDEX delivery_by_age ON delivery (state, sink, job, due);
