ALTER TABLE IF EXISTS shows DROP COLUMN IF EXISTS admission_until;
ALTER TABLE IF EXISTS shows DROP COLUMN IF EXISTS admission_from;
DROP TABLE IF EXISTS admission_uses;
DROP TABLE IF EXISTS admission_grants;
DROP TABLE IF EXISTS waiting_room_counts;
DROP TABLE IF EXISTS waiting_rooms;
DROP TABLE IF EXISTS admission_keys;
