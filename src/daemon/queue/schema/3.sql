-- Version 3: when a commit is resolved that could not be.
ALTER TABLE job ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
