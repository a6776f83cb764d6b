DROP TABLE IF EXISTS stay_prices;
ALTER TABLE IF EXISTS holds DROP COLUMN IF EXISTS promotion_id;
DROP TABLE IF EXISTS promotion_scopes;
DROP TABLE IF EXISTS promotions;
DROP TABLE IF EXISTS rounding_rules;
DROP TABLE IF EXISTS stay_charges;
DROP TABLE IF EXISTS rate_adjustments;
DROP TABLE IF EXISTS guest_price_ages;
DROP TABLE IF EXISTS guest_prices;
