-- Times are microseconds since 1970. Ids sort by the time they were made.
-- Large columns come last, so that lists need not read past them.

CREATE TABLE tenants (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE skills (
    id              TEXT   NOT NULL PRIMARY KEY,
    tenant          TEXT   NOT NULL REFERENCES tenants (id),
    name            TEXT   NOT NULL,
    title           TEXT,
    source          TEXT   NOT NULL,
    latest_version  TEXT,
    default_version TEXT,
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
    id          TEXT   NOT NULL PRIMARY KEY,
    skill       TEXT   NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    tenant      TEXT   NOT NULL,
    number      BIGINT NOT NULL,
    ordinal     BIGINT NOT NULL,
    name        TEXT   NOT NULL,
    description TEXT   NOT NULL,
    folder      TEXT,
    digest      TEXT   NOT NULL,
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
    place      TEXT   NOT NULL PRIMARY KEY,
    state      TEXT   NOT NULL CHECK (state IN ('pending', 'ready', 'doomed')),
    digest     TEXT,
    size       BIGINT NOT NULL,
    touched_at BIGINT NOT NULL,
    data       BLOB
);
CREATE UNIQUE INDEX blobs_ready ON blobs (digest) WHERE state = 'ready';
CREATE INDEX blobs_by_age ON blobs (touched_at);

CREATE TABLE version_blobs (
    version TEXT NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    digest  TEXT NOT NULL,
    PRIMARY KEY (version, digest)
) WITHOUT ROWID;
CREATE INDEX version_blobs_by_digest ON version_blobs (digest);

CREATE TABLE files (
    id           TEXT   NOT NULL PRIMARY KEY,
    tenant       TEXT   NOT NULL REFERENCES tenants (id),
    name         TEXT   NOT NULL,
    mime         TEXT   NOT NULL,
    size         BIGINT NOT NULL,
    digest       TEXT   NOT NULL,
    purpose      TEXT   NOT NULL,
    scope        TEXT,
    downloadable BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT
);
CREATE INDEX files_by_tenant ON files (tenant, id);
CREATE INDEX files_by_scope ON files (tenant, scope, id);
CREATE INDEX files_by_digest ON files (digest);
CREATE INDEX files_by_expiry ON files (expires_at);

CREATE TABLE keys (
    id           TEXT   NOT NULL PRIMARY KEY,
    tenant       TEXT   NOT NULL REFERENCES tenants (id),
    name         TEXT   NOT NULL,
    prefix       TEXT   NOT NULL UNIQUE,
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
    tenant     TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    version    TEXT   NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX requests_by_age ON requests (created_at);
CREATE INDEX requests_by_version ON requests (version);

-- The words of each skill's latest version. The index keeps no text of its own
-- and knows rows by number only; `skill_words` says which skill a number is. Words
-- come cut, in lower case and without accents, with a blank between them: the ascii
-- tokenizer leaves them as they are. Nobody asks at which place in a column a word is.
CREATE TABLE skill_words (
    number INTEGER PRIMARY KEY,
    skill  TEXT NOT NULL UNIQUE REFERENCES skills (id) ON DELETE CASCADE
);
CREATE VIRTUAL TABLE skill_index USING fts5 (
    tenant, name, description, body,
    content = '', contentless_delete = 1, tokenize = 'ascii', detail = column, prefix = '2 3 4 5'
);
CREATE TRIGGER skill_words_deleted AFTER DELETE ON skill_words BEGIN
    DELETE FROM skill_index WHERE rowid = old.number;
END;

INSERT INTO tenants (id, name, created_at) VALUES ('default', 'default', 0);
