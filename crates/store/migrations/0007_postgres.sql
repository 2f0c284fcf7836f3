-- Items of stored answers, by the ids that their clients were given.
CREATE TABLE response_items (
    tenant   TEXT COLLATE "C" NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    response TEXT COLLATE "C" NOT NULL,
    size     BIGINT NOT NULL,
    item     TEXT   NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, response) REFERENCES responses (tenant, id) ON DELETE CASCADE
);
CREATE INDEX response_items_by_response ON response_items (tenant, response);

-- Conversations that clients of the Responses API keep here. `next` is the position
-- of the next item; positions of deleted items are not used again.
CREATE TABLE conversations (
    tenant     TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id         TEXT COLLATE "C" NOT NULL,
    metadata   TEXT   NOT NULL,
    items      BIGINT NOT NULL,
    size       BIGINT NOT NULL,
    next       BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX conversations_by_expiry ON conversations (expires_at);
CREATE INDEX conversations_by_size ON conversations (tenant, expires_at, size);

CREATE TABLE conversation_items (
    tenant       TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    position     BIGINT NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    size         BIGINT NOT NULL,
    item         TEXT   NOT NULL,
    PRIMARY KEY (tenant, conversation, position),
    FOREIGN KEY (tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (tenant, id, conversation);

-- Chat completions that clients asked to be stored.
CREATE TABLE chat_completions (
    tenant     TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id         TEXT COLLATE "C" NOT NULL,
    model      TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    messages   TEXT   NOT NULL,
    completion TEXT   NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX chat_completions_by_age ON chat_completions (tenant, created_at, id, size);
CREATE INDEX chat_completions_by_model ON chat_completions (tenant, model, created_at, id);
CREATE INDEX chat_completions_by_expiry ON chat_completions (expires_at);

CREATE TABLE chat_completion_metadata (
    tenant     TEXT COLLATE "C" NOT NULL,
    completion TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    value      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, completion, key),
    FOREIGN KEY (tenant, completion) REFERENCES chat_completions (tenant, id) ON DELETE CASCADE
);
