-- The index of skills' words: postings packed into pages, with one code for both databases.

DROP TRIGGER skill_words_deleted;
DROP TABLE skill_index;
DROP TABLE skill_words;

-- The last number given to a document, and how much is recent.
CREATE TABLE skill_index (
    tenant       TEXT   NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    last_number  BIGINT NOT NULL,
    recent       BIGINT NOT NULL,
    recent_bytes BIGINT NOT NULL
) WITHOUT ROWID;

-- The latest version of each skill. Its terms are here while it is recent, and in a block
-- after that.
CREATE TABLE skill_documents (
    skill  TEXT   NOT NULL PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
    tenant TEXT   NOT NULL,
    number BIGINT NOT NULL,
    terms  BLOB
) WITHOUT ROWID;
CREATE UNIQUE INDEX skill_documents_by_number ON skill_documents (tenant, number);
CREATE UNIQUE INDEX skill_documents_recent ON skill_documents (tenant, number)
    WHERE terms IS NOT NULL;

-- Blocks of documents by number. Only `dead` and `state` change once a block is live.
CREATE TABLE skill_blocks (
    id           INTEGER NOT NULL PRIMARY KEY,
    tenant       TEXT   NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    state        TEXT   NOT NULL CHECK (state IN ('building', 'live', 'retired')),
    first_number BIGINT NOT NULL,
    last_number  BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL,
    documents    BIGINT NOT NULL,
    dead         BLOB   NOT NULL,
    numbers      BLOB   NOT NULL,
    lengths      BLOB   NOT NULL,
    directory    BLOB   NOT NULL
);
CREATE INDEX skill_blocks_by_tenant ON skill_blocks (tenant, state, first_number);
CREATE INDEX skill_blocks_unused ON skill_blocks (changed_at) WHERE state <> 'live';

-- The pages of a block have consecutive keys, which begin with its id.
CREATE TABLE skill_pages (
    key     INTEGER NOT NULL PRIMARY KEY,
    content BLOB    NOT NULL
);

-- What earlier releases have stored, until it is indexed.
CREATE TABLE skills_to_index (
    skill TEXT NOT NULL PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE
) WITHOUT ROWID;
INSERT INTO skills_to_index (skill) SELECT id FROM skills WHERE latest_version IS NOT NULL;
