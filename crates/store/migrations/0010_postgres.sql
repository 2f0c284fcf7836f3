-- Runs in progress that end when their client leaves. A row is removed in the transaction that
-- writes the record of its run. It belongs to the server `owner`, whose runs count as lost when
-- `lease_until` has passed on the clock of the database.
CREATE TABLE foreground_runs (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant             TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    -- The key that the request was authenticated with; none for the operator.
    api_key            TEXT COLLATE "C",
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
    owner              TEXT COLLATE "C" NOT NULL,
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
-- A release that knows nothing of this may still be writing.
LOCK TABLE tenant_storage, journal_runs, sessions, container_files IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE sessions ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET stored_bytes = CAST(f.bytes AS BIGINT)
FROM (SELECT container, SUM(size) AS bytes FROM container_files GROUP BY container) f
WHERE f.container = sessions.id;
UPDATE tenant_storage SET bytes = bytes
    + (SELECT CAST(COALESCE(SUM(OCTET_LENGTH(r.request)), 0) AS BIGINT) FROM journal_runs r
       WHERE r.tenant = tenant_storage.tenant)
    + (SELECT CAST(COALESCE(SUM(s.stored_bytes), 0) AS BIGINT) FROM sessions s
       WHERE s.tenant = tenant_storage.tenant);

CREATE FUNCTION count_journal_run() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE tenant_storage SET bytes = bytes + OCTET_LENGTH(NEW.request)
        WHERE tenant = NEW.tenant;
    ELSE
        UPDATE tenant_storage SET bytes = bytes - OCTET_LENGTH(OLD.request)
        WHERE tenant = OLD.tenant;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER journal_runs_counted AFTER INSERT OR DELETE ON journal_runs
    FOR EACH ROW EXECUTE FUNCTION count_journal_run();

CREATE FUNCTION count_container() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE tenant_storage SET bytes = bytes + NEW.stored_bytes - OLD.stored_bytes
        WHERE tenant = NEW.tenant;
    ELSE
        UPDATE tenant_storage SET bytes = bytes - OLD.stored_bytes WHERE tenant = OLD.tenant;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sessions_resized AFTER UPDATE OF stored_bytes ON sessions
    FOR EACH ROW EXECUTE FUNCTION count_container();
CREATE TRIGGER sessions_deleted AFTER DELETE ON sessions
    FOR EACH ROW WHEN (OLD.stored_bytes <> 0) EXECUTE FUNCTION count_container();
