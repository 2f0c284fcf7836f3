-- The audit log: who changed what, when and from where. Rows are only ever added.
CREATE TABLE audit_log (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Whose objects were changed. A tenant may be gone, and its log stays.
    tenant      TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    -- `key`, `master`, `loopback` or `cli`; the id and the name of a key.
    actor_kind  TEXT COLLATE "C" NOT NULL,
    actor_id    TEXT,
    actor_name  TEXT,
    action      TEXT COLLATE "C" NOT NULL,
    -- The id of what was changed.
    object      TEXT COLLATE "C",
    outcome     TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('ok', 'refused', 'failed')),
    error_code  TEXT,
    -- JSON, without secrets.
    before_json TEXT,
    after_json  TEXT,
    peer        TEXT,
    request_id  TEXT,
    user_agent  TEXT
);
CREATE INDEX audit_log_by_tenant ON audit_log (tenant, id);
CREATE INDEX audit_log_by_object ON audit_log (object, id);

-- Rows before this time may be deleted.
CREATE TABLE audit_retention (
    only_row       BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
    expired_before BIGINT NOT NULL
);
INSERT INTO audit_retention (only_row, expired_before) VALUES (1, 0);

CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < (SELECT expired_before FROM audit_retention) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE OR REPLACE FUNCTION refuse_audit_truncate() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_log_not_truncated BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_truncate();

-- The secret that a key had before it was rotated, while it is still accepted.
ALTER TABLE keys ADD COLUMN previous_prefix TEXT COLLATE "C";
ALTER TABLE keys ADD COLUMN previous_hash TEXT;
ALTER TABLE keys ADD COLUMN previous_until BIGINT;
CREATE UNIQUE INDEX keys_by_previous_prefix ON keys (previous_prefix)
    WHERE previous_prefix IS NOT NULL;

-- The key that the request of a run was authenticated with; none for the operator.
ALTER TABLE runs ADD COLUMN api_key TEXT;
