DROP TABLE IF EXISTS allotment_moves;

ALTER TABLE IF EXISTS seat_block_changes DROP COLUMN IF EXISTS block_note;

ALTER TABLE IF EXISTS seat_block_changes DROP COLUMN IF EXISTS block_reason;

DROP TABLE IF EXISTS seat_block_moves;
