-- What a session's user calls it, if anything.
ALTER TABLE sessions ADD COLUMN name TEXT;
