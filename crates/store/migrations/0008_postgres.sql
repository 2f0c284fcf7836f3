-- Runs in progress, and those that ended recently: the journal from which a run is resumed.
-- A row is owned by the server whose `epoch` it has until `lease_until`, on the clock of the
-- database.
CREATE TABLE journal_runs (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant           TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    -- The key that the request was authenticated with; none for the operator.
    api_key          TEXT COLLATE "C",
    dialect          TEXT NOT NULL,
    model            TEXT NOT NULL,
    -- Whether the run goes on without its client, and is resumed.
    kept             BIGINT NOT NULL,
    state            TEXT NOT NULL,
    -- Version of the form in which request and steps are stored.
    format           BIGINT NOT NULL,
    owner            TEXT,
    epoch            BIGINT NOT NULL,
    lease_until      BIGINT NOT NULL,
    next_step        BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL,
    idempotency_key  TEXT COLLATE "C",
    request_digest   TEXT NOT NULL,
    request          BYTEA NOT NULL,
    -- The response or error with which it ended, as JSON.
    result           TEXT,
    created_at       BIGINT NOT NULL,
    ended_at         BIGINT
);
CREATE UNIQUE INDEX journal_runs_by_idempotency_key ON journal_runs (tenant, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX journal_runs_by_lease ON journal_runs (lease_until)
    WHERE state IN ('queued', 'running');
CREATE INDEX journal_runs_by_end ON journal_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX journal_runs_by_tenant ON journal_runs (tenant, state);

-- Finished steps of a run: turns of the model and results of tools.
CREATE TABLE journal_steps (
    run        TEXT COLLATE "C" NOT NULL REFERENCES journal_runs (id) ON DELETE CASCADE,
    seq        BIGINT NOT NULL,
    epoch      BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    -- The id of the tool call.
    call       TEXT,
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (run, seq)
);

-- What a run has sent to its client, in chunks of consecutive events.
CREATE TABLE journal_events (
    run        TEXT COLLATE "C" NOT NULL REFERENCES journal_runs (id) ON DELETE CASCADE,
    first_seq  BIGINT NOT NULL,
    last_seq   BIGINT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (run, first_seq)
);

-- Webhooks to be delivered.
CREATE TABLE webhook_deliveries (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run        TEXT COLLATE "C" NOT NULL,
    tenant     TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    url        TEXT NOT NULL,
    body       TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX webhook_deliveries_by_due ON webhook_deliveries (due_at);

-- The files of a container, as of its generation. A generation is committed together with the
-- step that produced it.
ALTER TABLE sessions ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
-- The run that uses the container, and its epoch.
ALTER TABLE sessions ADD COLUMN held_by TEXT;
ALTER TABLE sessions ADD COLUMN held_epoch BIGINT;
CREATE TABLE container_files (
    container  TEXT COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    path       TEXT COLLATE "C" NOT NULL,
    -- Of a regular file: its content. Of a symbolic link: its target.
    digest     TEXT COLLATE "C",
    target     TEXT,
    size       BIGINT NOT NULL,
    mode       BIGINT NOT NULL,
    PRIMARY KEY (container, path)
);
CREATE INDEX container_files_by_digest ON container_files (digest);
