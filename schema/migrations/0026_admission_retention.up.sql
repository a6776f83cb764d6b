-- Grants whose time is long over are deleted; retention finds them by this index, without reading those
-- that are being given out.
CREATE INDEX IF NOT EXISTS admission_grants_by_expiry ON admission_grants (tenant_id, region, expires_at);
