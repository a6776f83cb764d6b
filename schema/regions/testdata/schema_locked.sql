-- Makes the database multi-region; what has no region of its own lives here.
ALTER DATABASE "holdfast" SET PRIMARY REGION "europe-west1";
-- Rows with region 'ap' will live here.
ALTER DATABASE "holdfast" ADD REGION "asia-southeast1";
-- Rows with region 'us' will live here.
ALTER DATABASE "holdfast" ADD REGION "us-east1";
-- Keeps five replicas in three regions; from now on each write waits for the nearest other region.
ALTER DATABASE "holdfast" SURVIVE REGION FAILURE;
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "admin_sessions" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "admin_sessions" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "admin_sessions" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "admission_keys" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "admission_keys" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "admission_keys" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "api_keys" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "api_keys" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "api_keys" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "cancellation_policies" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "cancellation_policies" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "cancellation_policies" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "cancellation_steps" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "cancellation_steps" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "cancellation_steps" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "channel_offers" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channel_offers" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "channel_offers" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "channel_sales" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channel_sales" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "channel_sales" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "channels" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "channels" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "channels" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "customer_secrets" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "customer_secrets" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "customer_secrets" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "member_bindings" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "member_bindings" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "member_bindings" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "member_versions" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "member_versions" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "member_versions" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "members" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "members" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "members" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "properties" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "properties" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "properties" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "property_places" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "property_places" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "property_places" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "rounding_rules" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "rounding_rules" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "rounding_rules" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "sales_terms" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "sales_terms" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "sales_terms" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "tax_rates" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "tax_rates" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "tax_rates" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "tenants" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "tenants" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "tenants" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "trade_hotels" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "trade_hotels" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "trade_hotels" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "venues" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "venues" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "venues" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "walk_terms" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "walk_terms" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "walk_terms" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "webhook_endpoints" SET (schema_locked = false);
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "webhook_endpoints" SET LOCALITY GLOBAL;
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "webhook_endpoints" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "admission_grants" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "admission_grants" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "admission_grants" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "admission_grants" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "admission_uses" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "admission_uses" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "admission_uses" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "admission_uses" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "allotment_changes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "allotment_changes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "allotment_moves" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_moves" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_moves" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "allotment_moves" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "allotment_parts" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotment_parts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotment_parts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "allotment_parts" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "allotments" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "allotments" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "allotments" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "allotments" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "audit_entries" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "audit_entries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "audit_entries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "audit_entries" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "booking_lines" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "booking_lines" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "booking_refunds" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_refunds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_refunds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "booking_refunds" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "booking_windows" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "booking_windows" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "booking_windows" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "booking_windows" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "bookings" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "bookings" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "bookings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "bookings" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "cancellations" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "cancellations" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "cancellations" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "cancellations" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "cancelled_lines" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "cancelled_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "cancelled_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "cancelled_lines" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "channel_rate_plans" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "channel_rate_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "channel_rate_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "channel_rate_plans" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "checked_in_rooms" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "checked_in_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "checked_in_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "checked_in_rooms" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "checkouts" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "checkouts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "checkouts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "checkouts" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "compensations" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "compensations" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "compensations" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "compensations" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "disputes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "disputes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "disputes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "disputes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "events" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "events" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "guest_price_ages" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_price_ages" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_price_ages" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "guest_price_ages" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "guest_prices" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_prices" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_prices" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "guest_prices" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "guest_sessions" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "guest_sessions" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "guest_sessions" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "guest_sessions" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "hold_changes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "hold_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "hold_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "hold_changes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "hold_lines" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "hold_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "hold_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "hold_lines" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "holds" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "holds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "holds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "holds" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "house_counters" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "house_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "house_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "house_counters" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "night_counters" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "night_counters" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "night_edit_chunks" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_edit_chunks" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_edit_chunks" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "night_edit_chunks" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "night_edits" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_edits" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_edits" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "night_edits" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "night_plans" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "night_plans" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "night_rates" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "night_rates" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "night_rates" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "night_rates" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "no_show_lines" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "no_show_lines" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "no_show_lines" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "no_show_lines" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "no_show_releases" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "no_show_releases" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "no_show_releases" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "no_show_releases" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "out_of_order_periods" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "out_of_order_periods" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "out_of_order_periods" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "out_of_order_periods" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "outbox_events" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "outbox_events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "outbox_events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "outbox_events" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "past_pool_counters" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "past_pool_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "past_pool_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "past_pool_counters" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "past_show_seats" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "past_show_seats" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "past_show_seats" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "past_show_seats" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "payment_attempts" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_attempts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_attempts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "payment_attempts" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "payment_differences" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_differences" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_differences" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "payment_differences" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "payment_listings" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_listings" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_listings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "payment_listings" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "payment_repairs" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_repairs" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_repairs" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "payment_repairs" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "payment_reviews" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "payment_reviews" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "payment_reviews" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "payment_reviews" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "physical_rooms" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "physical_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "physical_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "physical_rooms" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "pool_counters" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "pool_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "pool_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "pool_counters" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "pools" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "pools" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "pools" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "pools" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "presale_codes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "presale_codes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "presale_codes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "presale_codes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "presale_counters" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "presale_counters" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "presale_counters" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "presale_counters" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "price_levels" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "price_levels" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "price_levels" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "price_levels" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "promotion_scopes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "promotion_scopes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "promotion_scopes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "promotion_scopes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "promotions" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "promotions" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "promotions" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "promotions" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "provider_events" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "provider_events" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "provider_events" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "provider_events" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "rate_adjustments" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_adjustments" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_adjustments" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "rate_adjustments" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "rate_plan_nights" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_plan_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_plan_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "rate_plan_nights" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "rate_plans" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "rate_plans" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "rate_plans" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "rate_plans" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "refunds" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "refunds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "refunds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "refunds" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "requests" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "requests" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "requests" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "requests" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "room_nights" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "room_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "room_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "room_nights" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "room_types" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "room_types" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "room_types" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "room_types" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "seat_block_changes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_block_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_block_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "seat_block_changes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "seat_block_moves" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_block_moves" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_block_moves" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "seat_block_moves" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "seat_blocks" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seat_blocks" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seat_blocks" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "seat_blocks" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "seating_charts" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "seating_charts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "seating_charts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "seating_charts" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "show_seats" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "show_seats" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "show_seats" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "show_seats" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "shows" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "shows" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "shows" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "shows" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "stay_changes" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_changes" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_changes" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "stay_changes" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "stay_charges" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_charges" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_charges" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "stay_charges" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "stay_prices" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "stay_prices" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "stay_prices" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "stay_prices" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "trade_calendar_nights" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_calendar_nights" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_calendar_nights" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "trade_calendar_nights" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "trade_messages" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_messages" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_messages" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "trade_messages" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "trade_room_types" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "trade_room_types" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "trade_room_types" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "trade_room_types" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "waiting_entries" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_entries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_entries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "waiting_entries" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "waiting_lists" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_lists" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_lists" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "waiting_lists" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "waiting_room_counts" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_room_counts" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_room_counts" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "waiting_room_counts" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "waiting_rooms" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "waiting_rooms" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "waiting_rooms" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "waiting_rooms" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "webhook_deliveries" SET (schema_locked = false);
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "webhook_deliveries" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "webhook_deliveries" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "webhook_deliveries" SET (schema_locked = true);
