DROP TABLE IF EXISTS walk_terms;
DROP TABLE IF EXISTS compensations;
DROP TABLE IF EXISTS stay_changes;
ALTER TABLE IF EXISTS hold_lines DROP COLUMN IF EXISTS added_by;
ALTER TABLE IF EXISTS booking_lines DROP COLUMN IF EXISTS ended_by;
ALTER TABLE IF EXISTS booking_lines DROP COLUMN IF EXISTS added_by;
-- What was given back by a change looks cancelled to those who know no changes.
UPDATE booking_lines SET state = 'CANCELLED' WHERE state = 'CHANGED';
ALTER TABLE IF EXISTS booking_lines DROP CONSTRAINT IF EXISTS booking_lines_state;
ALTER TABLE IF EXISTS booking_lines ADD CONSTRAINT booking_lines_state CHECK (state IN ('BOOKED', 'CANCELLED', 'NO_SHOW', 'WALKED'));
ALTER TABLE IF EXISTS booking_lines DROP CONSTRAINT IF EXISTS booking_lines_known_state;
