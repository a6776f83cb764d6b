DROP INDEX IF EXISTS refunds_failed;
DROP TABLE IF EXISTS payment_listings;
DROP TABLE IF EXISTS payment_reviews;
DROP TABLE IF EXISTS payment_differences;
DROP TABLE IF EXISTS payment_repairs;
