-- What runs leave behind: their records, their sessions, and the turns that a
-- client's dialect could not carry.

CREATE TABLE runs (
    id            TEXT   NOT NULL PRIMARY KEY,
    tenant        TEXT   NOT NULL REFERENCES tenants (id),
    model         TEXT   NOT NULL,
    provider      TEXT,
    dialect       TEXT   NOT NULL,
    status        TEXT   NOT NULL,
    turns         BIGINT NOT NULL,
    calls         BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT NOT NULL,
    session       TEXT,
    error         TEXT,
    -- JSON: usage as summed, skills with their use, files by id, events in order.
    usage         TEXT   NOT NULL,
    skills        TEXT   NOT NULL,
    files         TEXT   NOT NULL,
    events        TEXT   NOT NULL
);
CREATE INDEX runs_by_tenant ON runs (tenant, id);
CREATE INDEX runs_by_age ON runs (started_at);

-- Which versions of which skills a session was made with.
CREATE TABLE sessions (
    id         TEXT   NOT NULL PRIMARY KEY,
    tenant     TEXT   NOT NULL REFERENCES tenants (id),
    -- The upstream's own container that goes with it, if there is one.
    upstream   TEXT,
    used_at    BIGINT NOT NULL,
    skills     TEXT   NOT NULL
);
CREATE INDEX sessions_by_age ON sessions (used_at);

-- Turns by the call that a client will answer.
CREATE TABLE hidden_turns (
    tenant     TEXT   NOT NULL REFERENCES tenants (id),
    call       TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    turns      TEXT   NOT NULL,
    PRIMARY KEY (tenant, call)
) WITHOUT ROWID;
CREATE INDEX hidden_turns_by_expiry ON hidden_turns (expires_at);
