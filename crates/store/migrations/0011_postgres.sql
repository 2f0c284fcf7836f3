-- The index of skills' words: postings packed into pages, with one code for both databases.

DROP TABLE skill_words;

-- The last number given to a document, and how much is recent.
CREATE TABLE skill_index (
    tenant       TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    last_number  BIGINT NOT NULL,
    recent       BIGINT NOT NULL,
    recent_bytes BIGINT NOT NULL
);

-- The latest version of each skill. Its terms are here while it is recent, and in a block
-- after that. Terms are packed already, so compressing them again costs more than it saves.
CREATE TABLE skill_documents (
    skill  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
    tenant TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    terms  BYTEA
);
ALTER TABLE skill_documents ALTER COLUMN terms SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX skill_documents_by_number ON skill_documents (tenant, number);
CREATE UNIQUE INDEX skill_documents_recent ON skill_documents (tenant, number)
    WHERE terms IS NOT NULL;

-- Blocks of documents by number. Only `dead` and `state` change once a block is live.
CREATE TABLE skill_blocks (
    id           BIGINT NOT NULL PRIMARY KEY,
    tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('building', 'live', 'retired')),
    first_number BIGINT NOT NULL,
    last_number  BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL,
    documents    BIGINT NOT NULL,
    dead         BYTEA  NOT NULL,
    numbers      BYTEA  NOT NULL,
    lengths      BYTEA  NOT NULL,
    directory    BYTEA  NOT NULL
);
ALTER TABLE skill_blocks ALTER COLUMN numbers SET STORAGE EXTERNAL;
ALTER TABLE skill_blocks ALTER COLUMN lengths SET STORAGE EXTERNAL;
CREATE INDEX skill_blocks_by_tenant ON skill_blocks (tenant, state, first_number);
CREATE INDEX skill_blocks_unused ON skill_blocks (changed_at) WHERE state <> 'live';

-- The pages of a block have consecutive keys, which begin with its id. A page stays in its
-- row: a query reads many of them.
CREATE TABLE skill_pages (
    key     BIGINT NOT NULL PRIMARY KEY,
    content BYTEA  NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE skill_pages ALTER COLUMN content SET STORAGE MAIN;

-- What earlier releases have stored, until it is indexed.
CREATE TABLE skills_to_index (
    skill TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE
);
INSERT INTO skills_to_index (skill) SELECT id FROM skills WHERE latest_version IS NOT NULL;
