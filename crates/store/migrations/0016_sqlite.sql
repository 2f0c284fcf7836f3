-- Labels: names that point to one version of a skill, and can be moved.
CREATE TABLE skill_labels (
    skill      TEXT   NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    name       TEXT   NOT NULL,
    version    TEXT   NOT NULL REFERENCES versions (id) ON DELETE CASCADE,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (skill, name)
) WITHOUT ROWID;
CREATE INDEX skill_labels_by_version ON skill_labels (version);

-- What is said about a version after its upload, which itself never changes. Apart from the
-- table of versions, whose rows are large: most versions have no such row.
CREATE TABLE version_marks (
    version        TEXT NOT NULL PRIMARY KEY REFERENCES versions (id) ON DELETE CASCADE,
    notes          TEXT,
    revoked_at     BIGINT,
    revoked_reason TEXT
) WITHOUT ROWID;
