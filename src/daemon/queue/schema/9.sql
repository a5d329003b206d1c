-- Version 9: the attempts at a delivery that were begun and of which nothing more is known: the daemon has ended in them.
ALTER TABLE delivery ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
