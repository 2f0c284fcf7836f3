-- Files that a provider's own servers made and keep, by the tenant whose answer named them.
CREATE TABLE foreign_files (
    tenant     TEXT   NOT NULL REFERENCES tenants (id),
    id         TEXT   NOT NULL,
    provider   TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX foreign_files_by_age ON foreign_files (created_at);
