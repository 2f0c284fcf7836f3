-- What one skill took, found without reading what all skills of its tenant took.
CREATE INDEX IF NOT EXISTS skill_costs_by_skill ON skill_costs (tenant, skill_id, created_at);
