-- What a key may spend: on which models, how fast, and how much.
ALTER TABLE keys ADD COLUMN models TEXT;
ALTER TABLE keys ADD COLUMN requests_per_minute BIGINT;
ALTER TABLE keys ADD COLUMN tokens_per_minute BIGINT;
ALTER TABLE keys ADD COLUMN budget_nanos BIGINT;
ALTER TABLE keys ADD COLUMN budget_period TEXT;

-- What requests to models used. A row counts all requests of one kind that ended
-- within a moment of each other, so rows are added up, never updated. Money is in
-- billionths of the currency prices are given in.
CREATE TABLE usage (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant             TEXT COLLATE "C" NOT NULL,
    key                TEXT COLLATE "C",
    model              TEXT COLLATE "C" NOT NULL,
    provider           TEXT COLLATE "C" NOT NULL,
    upstream_model     TEXT COLLATE "C" NOT NULL,
    dialect            TEXT   NOT NULL,
    status             BIGINT NOT NULL,
    requests           BIGINT NOT NULL,
    unpriced           BIGINT NOT NULL,
    estimated          BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cache_read_tokens  BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    cost_nanos         BIGINT NOT NULL,
    millis             BIGINT NOT NULL,
    created_at         BIGINT NOT NULL
);
CREATE INDEX usage_by_tenant ON usage (tenant, created_at);
CREATE INDEX usage_by_key ON usage (key, created_at);
CREATE INDEX usage_by_age ON usage (created_at);

-- Answers that can be asked for, and answered to, later.
CREATE TABLE responses (
    tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id           TEXT COLLATE "C" NOT NULL,
    size         BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    conversation TEXT   NOT NULL,
    response     TEXT   NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX responses_by_size ON responses (tenant, created_at, size);
