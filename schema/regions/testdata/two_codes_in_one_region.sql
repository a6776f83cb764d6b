-- Makes the database multi-region; what has no region of its own lives here.
ALTER DATABASE "holdfast" SET PRIMARY REGION "europe-west1";
-- Rows with region 'us' will live here.
ALTER DATABASE "holdfast" ADD REGION "us-east1";
-- A directory: read in every region without leaving it, written rarely.
ALTER TABLE "tenants" SET LOCALITY GLOBAL;
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "bookings" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'eu' THEN 'europe-west1' WHEN 'uk' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "bookings" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- Where a row lives follows from its region; a code that is not mapped is refused.
ALTER TABLE "holds" ADD COLUMN "crdb_region" crdb_internal_region NOT VISIBLE NOT NULL AS (CASE region WHEN 'eu' THEN 'europe-west1' WHEN 'uk' THEN 'europe-west1' WHEN 'us' THEN 'us-east1' WHEN 'xx' THEN 'europe-west1' END) STORED;
-- Moves each row to its region; rewrites every index of the table.
ALTER TABLE "holds" SET LOCALITY REGIONAL BY ROW AS "crdb_region";
-- In the primary region, because their keys have no region: river_job.
-- Not created by Holdfast and left as they are: spreadsheet.
