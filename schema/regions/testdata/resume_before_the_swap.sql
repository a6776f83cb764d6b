-- The new column takes over the name; the table is still split by the old one.
ALTER TABLE "bookings" RENAME COLUMN "crdb_region" TO "crdb_region_prev", RENAME COLUMN "crdb_region_next" TO "crdb_region";
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "bookings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Nothing uses the column of the earlier mapping any more.
ALTER TABLE "bookings" DROP COLUMN "crdb_region_prev";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "bookings" SET (schema_locked = true);
-- SET LOCALITY does not unlock the table by itself; this has to stand alone.
ALTER TABLE "holds" SET (schema_locked = false);
-- The expression of the column in use cannot change, so a second one computes the new mapping.
ALTER TABLE "holds" ADD COLUMN "crdb_region_next" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'ap' THEN 'asia-southeast1' WHEN 'eu' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- The new column takes over the name; the table is still split by the old one.
ALTER TABLE "holds" RENAME COLUMN "crdb_region" TO "crdb_region_prev", RENAME COLUMN "crdb_region_next" TO "crdb_region";
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "holds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Nothing uses the column of the earlier mapping any more.
ALTER TABLE "holds" DROP COLUMN "crdb_region_prev";
-- Locks the table again, as v26.1 and later do by default.
ALTER TABLE "holds" SET (schema_locked = true);
-- In the primary region, because their keys have no region: river_job.
-- Not created by Holdfast and left as they are: spreadsheet.
