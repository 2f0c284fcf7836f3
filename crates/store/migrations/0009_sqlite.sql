-- Batches: many requests to models, run within a day. `kind` is `messages` for those whose
-- requests come in the body and whose results are read from the rows, and `file` for those
-- with a file of requests and files of results.
CREATE TABLE batches (
    id                  TEXT NOT NULL PRIMARY KEY,
    tenant              TEXT NOT NULL REFERENCES tenants (id),
    kind                TEXT NOT NULL,
    -- The dialect of the requests.
    dialect             TEXT NOT NULL,
    -- The key that the batch was created with; none for the operator.
    api_key             TEXT,
    state               TEXT NOT NULL,
    -- Incremented each time its requests are read from the start.
    attempt             BIGINT NOT NULL,
    metadata            TEXT NOT NULL,
    input_file          TEXT,
    output_file         TEXT,
    error_file          TEXT,
    -- How long its files are stored, in microseconds.
    output_lifetime     BIGINT NOT NULL,
    -- Why it failed, as JSON.
    errors              TEXT,
    -- Bytes of requests and results.
    bytes               BIGINT NOT NULL,
    -- Numbers of its items, in all and by state. They change with the items.
    total               BIGINT NOT NULL,
    succeeded           BIGINT NOT NULL,
    errored             BIGINT NOT NULL,
    cancelled           BIGINT NOT NULL,
    expired             BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    started_at          BIGINT,
    cancel_requested_at BIGINT,
    finalizing_at       BIGINT,
    ended_at            BIGINT,
    expires_at          BIGINT NOT NULL
);
CREATE INDEX batches_by_tenant ON batches (tenant, kind, id);
CREATE INDEX batches_by_state ON batches (state, tenant) WHERE ended_at IS NULL;
CREATE INDEX batches_by_end ON batches (ended_at) WHERE ended_at IS NOT NULL;

-- The requests of a batch and their results.
CREATE TABLE batch_items (
    batch     TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    seq       BIGINT NOT NULL,
    tenant    TEXT NOT NULL REFERENCES tenants (id),
    custom_id TEXT NOT NULL,
    state     TEXT NOT NULL,
    -- The request, until it has ended.
    body      BLOB,
    -- The run that it became. Runs are deleted before batches are.
    run       TEXT,
    -- The HTTP status and the body of the response or error, as JSON.
    status    BIGINT,
    result    TEXT,
    PRIMARY KEY (batch, seq)
);
CREATE UNIQUE INDEX batch_items_by_custom_id ON batch_items (batch, custom_id);
CREATE INDEX batch_items_pending ON batch_items (batch, seq) WHERE state = 'pending';
CREATE INDEX batch_items_running ON batch_items (tenant, batch, seq)
    WHERE state IN ('running', 'stopping');

-- The server that schedules batches, until `lease_until` on the clock of the database.
CREATE TABLE batch_scheduler (
    id          BIGINT NOT NULL PRIMARY KEY,
    owner       TEXT,
    lease_until BIGINT NOT NULL
);
INSERT INTO batch_scheduler (id, owner, lease_until) VALUES (1, NULL, 0);
