-- What each tenant keeps: bytes of versions and files, and how many of each. Triggers
-- keep it, so it is changed in the transaction that changes what it counts, whatever
-- way that goes. Neither sizes nor owners are ever updated.
CREATE TABLE tenant_storage (
    tenant   TEXT   NOT NULL PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    bytes    BIGINT NOT NULL,
    files    BIGINT NOT NULL,
    skills   BIGINT NOT NULL,
    versions BIGINT NOT NULL
) WITHOUT ROWID;

INSERT INTO tenant_storage (tenant, bytes, files, skills, versions)
SELECT t.id, COALESCE(f.bytes, 0) + COALESCE(v.bytes, 0),
       COALESCE(f.number, 0), COALESCE(s.number, 0), COALESCE(v.number, 0)
FROM tenants t
LEFT JOIN (SELECT tenant, SUM(size) AS bytes, COUNT(*) AS number
           FROM files GROUP BY tenant) f ON f.tenant = t.id
LEFT JOIN (SELECT tenant, SUM(total_bytes) AS bytes, COUNT(*) AS number
           FROM versions GROUP BY tenant) v ON v.tenant = t.id
LEFT JOIN (SELECT tenant, COUNT(*) AS number
           FROM skills GROUP BY tenant) s ON s.tenant = t.id;

CREATE TRIGGER tenants_inserted AFTER INSERT ON tenants BEGIN
    INSERT INTO tenant_storage (tenant, bytes, files, skills, versions)
    VALUES (new.id, 0, 0, 0, 0);
END;
CREATE TRIGGER files_inserted AFTER INSERT ON files BEGIN
    UPDATE tenant_storage SET bytes = bytes + new.size, files = files + 1
    WHERE tenant = new.tenant;
END;
CREATE TRIGGER files_deleted AFTER DELETE ON files BEGIN
    UPDATE tenant_storage SET bytes = bytes - old.size, files = files - 1
    WHERE tenant = old.tenant;
END;
CREATE TRIGGER skills_inserted AFTER INSERT ON skills BEGIN
    UPDATE tenant_storage SET skills = skills + 1 WHERE tenant = new.tenant;
END;
CREATE TRIGGER skills_deleted AFTER DELETE ON skills BEGIN
    UPDATE tenant_storage SET skills = skills - 1 WHERE tenant = old.tenant;
END;
CREATE TRIGGER versions_inserted AFTER INSERT ON versions BEGIN
    UPDATE tenant_storage SET bytes = bytes + new.total_bytes, versions = versions + 1
    WHERE tenant = new.tenant;
END;
CREATE TRIGGER versions_deleted AFTER DELETE ON versions BEGIN
    UPDATE tenant_storage SET bytes = bytes - old.total_bytes, versions = versions - 1
    WHERE tenant = old.tenant;
END;

-- Written to find out whether anything can be.
CREATE TABLE readiness (
    id         BIGINT NOT NULL PRIMARY KEY,
    written_at BIGINT NOT NULL
);
