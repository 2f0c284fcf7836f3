-- The digest of all files of a container's generation, if it is known.
ALTER TABLE sessions ADD COLUMN files_digest TEXT;

-- Containers whose files are in this store, and whose commands run at any worker.
CREATE TABLE cluster_containers (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    -- On the clock of the database.
    created_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL,
    -- JSON: what it was set up with.
    setup        TEXT   NOT NULL,
    -- The packages that its skills require.
    requirements TEXT,
    -- The worker that ran its last command.
    worker       TEXT,
    -- The command that uses it until `held_until`, and the run that this command is part of.
    held_by      TEXT COLLATE "C",
    held_run     TEXT COLLATE "C",
    held_until   BIGINT NOT NULL DEFAULT 0,
    -- The last command whose changes were committed, and the generation that they made.
    committed_by TEXT COLLATE "C",
    committed_generation BIGINT
);
CREATE INDEX cluster_containers_by_tenant ON cluster_containers (tenant, used_at);
CREATE INDEX cluster_containers_by_use ON cluster_containers (used_at);
CREATE INDEX cluster_containers_by_age ON cluster_containers (created_at);

-- The files of their skills.
CREATE TABLE container_skill_files (
    container    TEXT COLLATE "C" NOT NULL REFERENCES cluster_containers (id) ON DELETE CASCADE,
    folder       TEXT COLLATE "C" NOT NULL,
    skill_digest TEXT COLLATE "C" NOT NULL,
    path         TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    size         BIGINT NOT NULL,
    executable   BIGINT NOT NULL,
    PRIMARY KEY (container, folder, path)
);
CREATE INDEX container_skill_files_by_digest ON container_skill_files (digest, container);

-- Whether a container has a content is asked often, and some contents, such as the empty one,
-- are in most containers.
CREATE INDEX IF NOT EXISTS container_files_by_content ON container_files (digest, container);
DROP INDEX IF EXISTS container_files_by_digest;
