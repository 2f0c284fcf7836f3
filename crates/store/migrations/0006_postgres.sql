-- What each tenant keeps: bytes of versions and files, and how many of each. Triggers
-- keep it, so it is changed in the transaction that changes what it counts, whatever
-- way that goes. Neither sizes nor owners are ever updated.
CREATE TABLE tenant_storage (
    tenant   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    bytes    BIGINT NOT NULL,
    files    BIGINT NOT NULL,
    skills   BIGINT NOT NULL,
    versions BIGINT NOT NULL
);

-- A release that knows nothing of this table may still be writing.
LOCK TABLE tenants, files, skills, versions IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO tenant_storage (tenant, bytes, files, skills, versions)
SELECT t.id, CAST(COALESCE(f.bytes, 0) + COALESCE(v.bytes, 0) AS BIGINT),
       COALESCE(f.number, 0), COALESCE(s.number, 0), COALESCE(v.number, 0)
FROM tenants t
LEFT JOIN (SELECT tenant, SUM(size) AS bytes, COUNT(*) AS number
           FROM files GROUP BY tenant) f ON f.tenant = t.id
LEFT JOIN (SELECT tenant, SUM(total_bytes) AS bytes, COUNT(*) AS number
           FROM versions GROUP BY tenant) v ON v.tenant = t.id
LEFT JOIN (SELECT tenant, COUNT(*) AS number
           FROM skills GROUP BY tenant) s ON s.tenant = t.id;

CREATE FUNCTION count_tenant() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tenant_storage (tenant, bytes, files, skills, versions)
    VALUES (NEW.id, 0, 0, 0, 0);
    RETURN NULL;
END $$;
CREATE TRIGGER tenants_inserted AFTER INSERT ON tenants
    FOR EACH ROW EXECUTE FUNCTION count_tenant();

CREATE FUNCTION count_file() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE tenant_storage SET bytes = bytes + NEW.size, files = files + 1
        WHERE tenant = NEW.tenant;
    ELSE
        UPDATE tenant_storage SET bytes = bytes - OLD.size, files = files - 1
        WHERE tenant = OLD.tenant;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER files_counted AFTER INSERT OR DELETE ON files
    FOR EACH ROW EXECUTE FUNCTION count_file();

CREATE FUNCTION count_skill() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE tenant_storage SET skills = skills + 1 WHERE tenant = NEW.tenant;
    ELSE
        UPDATE tenant_storage SET skills = skills - 1 WHERE tenant = OLD.tenant;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER skills_counted AFTER INSERT OR DELETE ON skills
    FOR EACH ROW EXECUTE FUNCTION count_skill();

CREATE FUNCTION count_version() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE tenant_storage SET bytes = bytes + NEW.total_bytes, versions = versions + 1
        WHERE tenant = NEW.tenant;
    ELSE
        UPDATE tenant_storage SET bytes = bytes - OLD.total_bytes, versions = versions - 1
        WHERE tenant = OLD.tenant;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER versions_counted AFTER INSERT OR DELETE ON versions
    FOR EACH ROW EXECUTE FUNCTION count_version();

-- Written to find out whether anything can be.
CREATE TABLE readiness (
    id         BIGINT NOT NULL PRIMARY KEY,
    written_at BIGINT NOT NULL
);
