-- Version 10: the commit whose settings judge a job, if it is another than the one before; and the first job of each
-- branch is found without the others, since branches take turns.
ALTER TABLE job ADD COLUMN judge TEXT;
CREATE INDEX job_by_branch ON job (repository, branch, number) WHERE state = 'waiting';
