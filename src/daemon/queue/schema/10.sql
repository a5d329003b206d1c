-- Version 10: the commit whose settings judge a job, if it is another than the one before.
ALTER TABLE job ADD COLUMN judge TEXT;
