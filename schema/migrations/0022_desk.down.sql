ALTER TABLE IF EXISTS night_plans DROP CONSTRAINT IF EXISTS night_plans_out_of_order_parts;
ALTER TABLE IF EXISTS night_plans DROP COLUMN IF EXISTS out_of_order_rooms;
ALTER TABLE IF EXISTS night_plans DROP COLUMN IF EXISTS out_of_order_set;
DROP TABLE IF EXISTS no_show_lines;
DROP TABLE IF EXISTS no_show_releases;
DROP TABLE IF EXISTS checked_in_rooms;
DROP TABLE IF EXISTS room_nights;
DROP TABLE IF EXISTS out_of_order_periods;
DROP TABLE IF EXISTS physical_rooms;
