-- Without blocks, no seat is set aside: earlier versions would keep such seats from everybody else for good.
UPDATE show_seats SET block_channel_id = NULL WHERE block_channel_id IS NOT NULL;

UPDATE past_show_seats SET block_channel_id = NULL WHERE block_channel_id IS NOT NULL;

ALTER TABLE IF EXISTS bookings DROP COLUMN IF EXISTS commission_basis_points;

DROP TABLE IF EXISTS channel_offers;

DROP TABLE IF EXISTS channel_sales;

ALTER TABLE IF EXISTS past_show_seats DROP COLUMN IF EXISTS block_id;

ALTER TABLE IF EXISTS show_seats DROP COLUMN IF EXISTS block_id;

DROP TABLE IF EXISTS seat_block_changes;

DROP TABLE IF EXISTS seat_blocks;
