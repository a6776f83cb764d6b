ALTER TABLE IF EXISTS sales_terms DROP COLUMN IF EXISTS max_remaining_shown;

DROP TABLE IF EXISTS property_places;
