-- Browsers that are signed in to the console.
CREATE TABLE console_sessions (
    -- SHA-256 of the id that the browser has.
    digest     TEXT   NOT NULL PRIMARY KEY,
    tenant     TEXT   NOT NULL,
    -- The key, and the prefix of the secret that was used; none for the operator.
    key_id     TEXT,
    key_prefix TEXT,
    -- What ties the operator's session to the master key; none for keys.
    binding    TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at);
