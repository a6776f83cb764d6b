ALTER TABLE IF EXISTS sales_terms DROP COLUMN IF EXISTS max_units_per_buyer;
ALTER TABLE IF EXISTS holds DROP COLUMN IF EXISTS presale_code_id;
DROP TABLE IF EXISTS presale_counters;
DROP TABLE IF EXISTS presale_codes;
