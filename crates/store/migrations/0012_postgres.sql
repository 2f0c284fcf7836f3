-- Vectors of skills, by the digest of the text and the model that made them. Their bytes do
-- not compress.
CREATE TABLE skill_vectors (
    id      BIGINT           NOT NULL PRIMARY KEY,
    model   TEXT COLLATE "C" NOT NULL,
    digest  TEXT COLLATE "C" NOT NULL,
    content BYTEA            NOT NULL,
    used_at BIGINT           NOT NULL
);
ALTER TABLE skill_vectors ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX skill_vectors_by_text ON skill_vectors (model, digest);
CREATE INDEX skill_vectors_by_use ON skill_vectors (used_at);

-- The vector of a document; 0 if the model refused its text.
ALTER TABLE skill_documents ADD COLUMN vector BIGINT;
CREATE INDEX skill_documents_without_vector ON skill_documents (number, tenant)
    WHERE vector IS NULL;
CREATE INDEX skill_documents_by_vector ON skill_documents (vector) WHERE vector IS NOT NULL;

-- Grows with every change of the vectors of a tenant's documents.
ALTER TABLE skill_index ADD COLUMN vector_revision BIGINT NOT NULL DEFAULT 0;
