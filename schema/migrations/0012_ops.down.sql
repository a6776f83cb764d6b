DROP TABLE IF EXISTS admin_sessions;
DROP INDEX IF EXISTS provider_events_by_age;
DROP INDEX IF EXISTS guest_sessions_by_expiry;
DROP INDEX IF EXISTS requests_by_age;
