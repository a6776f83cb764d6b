DROP INDEX IF EXISTS admission_grants_by_expiry;
