-- Whether a provider's file is in the account of a client's own key: only then it is fetched with
-- such a key.
ALTER TABLE foreign_files ADD COLUMN client_key BIGINT NOT NULL DEFAULT 0;
