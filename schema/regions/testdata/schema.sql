-- Makes the database multi-region; what has no region of its own lives here.
ALTER DATABASE "holdfast" SET PRIMARY REGION "europe-west1";
-- Rows with region 'ap' will live here.
ALTER DATABASE "holdfast" ADD REGION "asia-southeast1";
-- Rows with region 'us' will live here.
ALTER DATABASE "holdfast" ADD REGION "us-east1";
-- Keeps five replicas in three regions; from now on each write waits for the nearest other region.
ALTER DATABASE "holdfast" SURVIVE REGION FAILURE;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "admin_sessions" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "admission_keys" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "api_keys" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "cancellation_policies" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "cancellation_steps" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channel_offers" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channel_sales" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channels" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "customer_secrets" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "member_bindings" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "member_versions" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "members" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "properties" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "property_places" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "rounding_rules" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "sales_terms" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "tax_rates" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "tenants" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "trade_hotels" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "venues" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "walk_terms" SET LOCALITY GLOBAL;
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "webhook_endpoints" SET LOCALITY GLOBAL;
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "admission_grants" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "admission_grants" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "admission_uses" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "admission_uses" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_moves" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_moves" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_parts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_parts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotments" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotments" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "audit_entries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "audit_entries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_refunds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_refunds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_windows" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_windows" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "bookings" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "bookings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "cancellations" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "cancellations" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "cancelled_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "cancelled_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "channel_rate_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "channel_rate_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "checked_in_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "checked_in_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "checkouts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "checkouts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "compensations" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "compensations" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "disputes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "disputes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_price_ages" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_price_ages" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_prices" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_prices" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_sessions" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_sessions" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "hold_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "hold_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "hold_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "hold_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "holds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "holds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "house_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "house_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_edit_chunks" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_edit_chunks" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_edits" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_edits" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_rates" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_rates" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "no_show_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "no_show_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "no_show_releases" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "no_show_releases" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "out_of_order_periods" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "out_of_order_periods" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "outbox_events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "outbox_events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "past_pool_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "past_pool_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "past_show_seats" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "past_show_seats" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_attempts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_attempts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_differences" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_differences" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_listings" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_listings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_repairs" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_repairs" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_reviews" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_reviews" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "physical_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "physical_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "pool_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "pool_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "pools" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "pools" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "presale_codes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "presale_codes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "presale_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "presale_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "price_levels" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "price_levels" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "promotion_scopes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "promotion_scopes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "promotions" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "promotions" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "provider_events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "provider_events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_adjustments" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_adjustments" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_plan_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_plan_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "refunds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "refunds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "requests" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "requests" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "room_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "room_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "room_types" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "room_types" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_block_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_block_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_block_moves" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_block_moves" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_blocks" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_blocks" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seating_charts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seating_charts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "show_seats" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "show_seats" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "shows" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "shows" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_charges" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_charges" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_prices" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_prices" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_calendar_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_calendar_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_messages" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_messages" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_room_types" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_room_types" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_entries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_entries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_lists" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_lists" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_room_counts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_room_counts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "webhook_deliveries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "webhook_deliveries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
