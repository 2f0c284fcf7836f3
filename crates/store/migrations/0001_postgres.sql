-- Times are microseconds since 1970. Ids sort by the time they were made.
-- Large columns come last, so that lists need not read past them.
-- Whatever is sorted or compared is so by bytes, as SQLite does.

CREATE TABLE tenants (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE skills (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant          TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    name            TEXT COLLATE "C" NOT NULL,
    title           TEXT COLLATE "C",
    source          TEXT   NOT NULL,
    latest_version  TEXT COLLATE "C",
    default_version TEXT COLLATE "C",
    -- The highest given so far; never given again, even after a deletion.
    last_number     BIGINT NOT NULL,
    last_ordinal    BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE INDEX skills_by_tenant ON skills (tenant, id);
CREATE INDEX skills_by_name ON skills (tenant, name, id);
CREATE INDEX skills_by_title ON skills (tenant, title);

CREATE TABLE versions (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    skill       TEXT COLLATE "C" NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    tenant      TEXT COLLATE "C" NOT NULL,
    number      BIGINT NOT NULL,
    ordinal     BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    description TEXT   NOT NULL,
    folder      TEXT,
    digest      TEXT COLLATE "C" NOT NULL,
    file_count  BIGINT NOT NULL,
    total_bytes BIGINT NOT NULL,
    scan_status TEXT,
    created_at  BIGINT NOT NULL,
    frontmatter TEXT   NOT NULL,
    manifest    TEXT   NOT NULL,
    scan_report TEXT,
    body        TEXT   NOT NULL,
    UNIQUE (skill, number),
    UNIQUE (skill, ordinal)
);
CREATE INDEX versions_by_skill ON versions (skill, id);

-- A blob is pending while its object is being written, ready when it may be
-- referred to, doomed while its object is being removed. An object's place is
-- never used twice, so writing and removing never meet.
CREATE TABLE blobs (
    place      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    state      TEXT   NOT NULL CHECK (state IN ('pending', 'ready', 'doomed')),
    digest     TEXT COLLATE "C",
    size       BIGINT NOT NULL,
    touched_at BIGINT NOT NULL,
    data       BYTEA
);
CREATE UNIQUE INDEX blobs_ready ON blobs (digest) WHERE state = 'ready';
CREATE INDEX blobs_by_age ON blobs (touched_at);

CREATE TABLE version_blobs (
    version TEXT COLLATE "C" NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    digest  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (version, digest)
);
CREATE INDEX version_blobs_by_digest ON version_blobs (digest);

CREATE TABLE files (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    name         TEXT COLLATE "C" NOT NULL,
    mime         TEXT   NOT NULL,
    size         BIGINT NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    purpose      TEXT   NOT NULL,
    scope        TEXT COLLATE "C",
    downloadable BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT
);
CREATE INDEX files_by_tenant ON files (tenant, id);
CREATE INDEX files_by_scope ON files (tenant, scope, id);
CREATE INDEX files_by_digest ON files (digest);
CREATE INDEX files_by_expiry ON files (expires_at);

CREATE TABLE keys (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    name         TEXT COLLATE "C" NOT NULL,
    prefix       TEXT COLLATE "C" NOT NULL UNIQUE,
    hash         TEXT   NOT NULL,
    scopes       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX keys_by_tenant ON keys (tenant, id);

-- Uploads by the key their client gave them, so that a repeated one is answered, not done twice.
CREATE TABLE requests (
    tenant     TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX requests_by_age ON requests (created_at);
CREATE INDEX requests_by_version ON requests (version);

-- The words of each skill's latest version.
CREATE TABLE skill_words (
    skill  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
    tenant TEXT COLLATE "C" NOT NULL,
    words  TSVECTOR NOT NULL
);
CREATE INDEX skill_words_index ON skill_words USING GIN (words);

INSERT INTO tenants (id, name, created_at) VALUES ('default', 'default', 0);
