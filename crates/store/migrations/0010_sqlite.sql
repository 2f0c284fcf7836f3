-- Runs in progress that end when their client leaves. A row is removed in the transaction that
-- writes the record of its run. It belongs to the server `owner`, whose runs count as lost when
-- `lease_until` has passed on the clock of the database.
CREATE TABLE foreground_runs (
    id                 TEXT NOT NULL PRIMARY KEY,
    tenant             TEXT NOT NULL REFERENCES tenants (id),
    -- The key that the request was authenticated with; none for the operator.
    api_key            TEXT,
    dialect            TEXT NOT NULL,
    model              TEXT NOT NULL,
    -- The target of the first turn; empty before it.
    provider           TEXT NOT NULL,
    upstream_model     TEXT NOT NULL,
    -- The status in its usage row, if its server dies.
    status             BIGINT NOT NULL,
    turns              BIGINT NOT NULL,
    calls              BIGINT NOT NULL,
    -- The finished turns, in tokens and billionths of the price currency.
    unpriced           BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    cost_nanos         BIGINT NOT NULL,
    container          TEXT,
    -- JSON, as in records of runs.
    usage              TEXT NOT NULL,
    skills             TEXT NOT NULL,
    files              TEXT NOT NULL,
    owner              TEXT NOT NULL,
    started_at         BIGINT NOT NULL,
    -- When its server was last known to run it.
    seen_at            BIGINT NOT NULL,
    lease_until        BIGINT NOT NULL
);
CREATE INDEX foreground_runs_by_tenant ON foreground_runs (tenant, id);
-- Not by lease: it changes every few seconds, and there are few rows.
CREATE INDEX foreground_runs_by_owner ON foreground_runs (owner);

-- For lists of runs, which have all of a tenant's runs by id.
CREATE INDEX journal_runs_by_id ON journal_runs (tenant, id);

-- Requests of kept runs, and stored files of containers, count as bytes that a tenant stores.
ALTER TABLE sessions ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET stored_bytes =
    (SELECT COALESCE(SUM(f.size), 0) FROM container_files f WHERE f.container = sessions.id);
UPDATE tenant_storage SET bytes = bytes
    + (SELECT COALESCE(SUM(LENGTH(r.request)), 0) FROM journal_runs r
       WHERE r.tenant = tenant_storage.tenant)
    + (SELECT COALESCE(SUM(s.stored_bytes), 0) FROM sessions s
       WHERE s.tenant = tenant_storage.tenant);
CREATE TRIGGER journal_runs_inserted AFTER INSERT ON journal_runs BEGIN
    UPDATE tenant_storage SET bytes = bytes + LENGTH(new.request) WHERE tenant = new.tenant;
END;
CREATE TRIGGER journal_runs_deleted AFTER DELETE ON journal_runs BEGIN
    UPDATE tenant_storage SET bytes = bytes - LENGTH(old.request) WHERE tenant = old.tenant;
END;
CREATE TRIGGER sessions_resized AFTER UPDATE OF stored_bytes ON sessions BEGIN
    UPDATE tenant_storage SET bytes = bytes + new.stored_bytes - old.stored_bytes
    WHERE tenant = new.tenant;
END;
CREATE TRIGGER sessions_deleted AFTER DELETE ON sessions WHEN old.stored_bytes <> 0 BEGIN
    UPDATE tenant_storage SET bytes = bytes - old.stored_bytes WHERE tenant = old.tenant;
END;
