-- What skills took of requests: rows are added together with the usage rows that they are a part
-- of, and added up. Rows of days that are over are merged into one for each skill and day.
CREATE TABLE skill_costs (
    tenant                     TEXT   NOT NULL,
    -- Empty for a skill that is not stored.
    skill_id                   TEXT   NOT NULL,
    skill                      TEXT   NOT NULL,
    -- 0 as written, 1 merged, 2 while it is being merged.
    merged                     BIGINT NOT NULL,
    runs_offered               BIGINT NOT NULL,
    runs_loaded                BIGINT NOT NULL,
    runs_used                  BIGINT NOT NULL,
    -- A row may take back what an earlier one of the same run counted.
    runs_in_vain               BIGINT NOT NULL,
    offered_input_tokens       BIGINT NOT NULL,
    offered_output_tokens      BIGINT NOT NULL,
    offered_cache_read_tokens  BIGINT NOT NULL,
    offered_cache_write_tokens BIGINT NOT NULL,
    offered_cost_nanos         BIGINT NOT NULL,
    loaded_input_tokens        BIGINT NOT NULL,
    loaded_output_tokens       BIGINT NOT NULL,
    loaded_cache_read_tokens   BIGINT NOT NULL,
    loaded_cache_write_tokens  BIGINT NOT NULL,
    loaded_cost_nanos          BIGINT NOT NULL,
    used_input_tokens          BIGINT NOT NULL,
    used_output_tokens         BIGINT NOT NULL,
    used_cache_read_tokens     BIGINT NOT NULL,
    used_cache_write_tokens    BIGINT NOT NULL,
    used_cost_nanos            BIGINT NOT NULL,
    sandbox_ms                 BIGINT NOT NULL,
    created_at                 BIGINT NOT NULL
);
CREATE INDEX skill_costs_by_tenant ON skill_costs (tenant, created_at);
CREATE INDEX skill_costs_by_age ON skill_costs (created_at);
CREATE INDEX skill_costs_unmerged ON skill_costs (created_at, tenant) WHERE merged = 0;

-- Time in the sandbox, and what skills took of a run in progress, as JSON.
ALTER TABLE usage ADD COLUMN sandbox_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE foreground_runs ADD COLUMN sandbox_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE foreground_runs ADD COLUMN skill_costs TEXT NOT NULL DEFAULT '[]';
