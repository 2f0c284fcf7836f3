-- Vectors of skills, by the digest of the text and the model that made them.
CREATE TABLE skill_vectors (
    id      INTEGER NOT NULL PRIMARY KEY,
    model   TEXT    NOT NULL,
    digest  TEXT    NOT NULL,
    content BLOB    NOT NULL,
    used_at BIGINT  NOT NULL
);
CREATE UNIQUE INDEX skill_vectors_by_text ON skill_vectors (model, digest);
CREATE INDEX skill_vectors_by_use ON skill_vectors (used_at);

-- The vector of a document; 0 if the model refused its text.
ALTER TABLE skill_documents ADD COLUMN vector BIGINT;
CREATE INDEX skill_documents_without_vector ON skill_documents (number, tenant)
    WHERE vector IS NULL;
CREATE INDEX skill_documents_by_vector ON skill_documents (vector) WHERE vector IS NOT NULL;

-- Grows with every change of the vectors of a tenant's documents.
ALTER TABLE skill_index ADD COLUMN vector_revision BIGINT NOT NULL DEFAULT 0;
