ALTER TABLE IF EXISTS api_keys DROP COLUMN IF EXISTS replaces_id;
ALTER TABLE IF EXISTS api_keys DROP COLUMN IF EXISTS allowed_origins;
DROP TABLE IF EXISTS customer_secrets;
DROP TABLE IF EXISTS member_versions;
DROP TABLE IF EXISTS member_bindings;
DROP TABLE IF EXISTS members;
