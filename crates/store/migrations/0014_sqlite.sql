-- Whether the runs of a key may use all stored skills of its tenant: 0, 1, or none for what the
-- operator has configured.
ALTER TABLE keys ADD COLUMN auto BIGINT;

-- Terms have other stems, and declared triggers are terms too: all skills are indexed again.
INSERT INTO skills_to_index (skill)
SELECT id FROM skills WHERE latest_version IS NOT NULL
ON CONFLICT (skill) DO NOTHING;
