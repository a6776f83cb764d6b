ALTER TABLE IF EXISTS pools DROP COLUMN IF EXISTS has_allotment;
ALTER TABLE IF EXISTS night_plans DROP COLUMN IF EXISTS has_allotment;
DROP TABLE IF EXISTS allotment_changes;
DROP TABLE IF EXISTS allotment_parts;
DROP TABLE IF EXISTS allotments;
