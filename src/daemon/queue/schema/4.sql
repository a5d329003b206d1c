-- Version 4: why scheduled work was not done when it was tried last.
ALTER TABLE schedule ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedule ADD COLUMN error TEXT;
