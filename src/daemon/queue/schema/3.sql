-- Version 3: when a commit is resolved that could not be; what is planned is called scheduled.
ALTER TABLE job ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan RENAME TO schedule;
