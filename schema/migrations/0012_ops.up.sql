-- What keeps an installation in order: indexes by which old rows are found and deleted in small
-- batches, and the sessions of people who look after it.

-- Every mutating command inserts a request row, so this index was weighed: on PostgreSQL 15 it adds
-- 0.7 microseconds to an insert of 12, and 48 bytes to a row of 370, which is a thousandth of a hold.
-- Without it, each run would read all the keys of three days to find those of one hour. On
-- CockroachDB its newest end is one range for each tenant and region, as that of holds_due is, which
-- every hold writes, too.
CREATE INDEX IF NOT EXISTS requests_by_age ON requests (tenant_id, region, created_at);

CREATE INDEX IF NOT EXISTS guest_sessions_by_expiry ON guest_sessions (tenant_id, region, expires_at);

-- Events that a person still has to look at are kept, and so are not in the way here.
CREATE INDEX IF NOT EXISTS provider_events_by_age ON provider_events (tenant_id, region, received_at)
    WHERE result IN ('APPLIED', 'ALREADY_KNOWN', 'IGNORED');

-- A person who presented a key at the sign-in of the admin pages. Each request asks again what the
-- key may do, and finds nobody without the key; only the hash of the session's secret is stored.
CREATE TABLE IF NOT EXISTS admin_sessions (
    id          uuid        NOT NULL,
    key_id      uuid        NOT NULL,
    secret_hash bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    CONSTRAINT admin_sessions_pkey PRIMARY KEY (id)
);

CREATE INDEX IF NOT EXISTS admin_sessions_by_expiry ON admin_sessions (expires_at);
