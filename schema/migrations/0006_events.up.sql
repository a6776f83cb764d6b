-- Who is told of what happened: the tenants' webhook endpoints and their deliveries.

-- channel_id is whose sale the event is about, null for none. fan_out_due_at is set until deliveries
-- were made for the endpoints that want the event; events from before this version have none.
ALTER TABLE IF EXISTS outbox_events ADD COLUMN IF NOT EXISTS channel_id uuid;
ALTER TABLE IF EXISTS outbox_events ADD COLUMN IF NOT EXISTS fan_out_due_at timestamptz;

CREATE INDEX IF NOT EXISTS outbox_events_by_channel ON outbox_events (tenant_id, region, channel_id, occurred_at, id);
CREATE INDEX IF NOT EXISTS outbox_events_by_fan_out ON outbox_events (tenant_id, region, fan_out_due_at);

-- A directory table: read for every event in its region, written rarely. No channel means all
-- channels, no event types all types. The secret signs, so it is kept as it is; after a rotation the
-- previous one signs too, for a while. A deleted endpoint stays until its last delivery is gone.
CREATE TABLE IF NOT EXISTS webhook_endpoints (
    tenant_id             uuid        NOT NULL,
    id                    uuid        NOT NULL,
    channel_id            uuid,
    url                   text        NOT NULL,
    description           text        NOT NULL DEFAULT '',
    event_types           text[]      NOT NULL,
    secret                text        NOT NULL,
    previous_secret       text        NOT NULL DEFAULT '',
    previous_secret_until timestamptz,
    state                 text        NOT NULL,
    disabled_reason       text,
    disabled_at           timestamptz,
    version               bigint      NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_endpoints_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT webhook_endpoints_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT webhook_endpoints_url_length CHECK (length(url) BETWEEN 1 AND 2000),
    CONSTRAINT webhook_endpoints_description_length CHECK (length(description) <= 200),
    CONSTRAINT webhook_endpoints_event_types_count CHECK (COALESCE(array_length(event_types, 1), 0) <= 50),
    CONSTRAINT webhook_endpoints_state CHECK (state IN ('ENABLED', 'DISABLED')),
    CONSTRAINT webhook_endpoints_reason CHECK (disabled_reason IN ('REQUESTED', 'GONE')),
    CONSTRAINT webhook_endpoints_disabled CHECK ((state = 'DISABLED') = (disabled_reason IS NOT NULL) AND (state = 'DISABLED') = (disabled_at IS NOT NULL)),
    CONSTRAINT webhook_endpoints_secret CHECK ((secret = '') = (deleted_at IS NOT NULL)),
    CONSTRAINT webhook_endpoints_previous CHECK ((previous_secret = '') = (previous_secret_until IS NULL)),
    CONSTRAINT webhook_endpoints_deleted CHECK (deleted_at IS NULL OR (state = 'DISABLED' AND previous_secret = '')),
    CONSTRAINT webhook_endpoints_version CHECK (version > 0)
);

-- One event for one endpoint. The row is the truth; a job only drives it. While a try is under way
-- next_attempt_at is when the delivery is due again if nobody comes back to say how it went.
CREATE TABLE IF NOT EXISTS webhook_deliveries (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    id              uuid        NOT NULL,
    event_id        uuid        NOT NULL,
    endpoint_id     uuid        NOT NULL,
    state           text        NOT NULL,
    attempts        bigint      NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    opened_at       timestamptz NOT NULL,
    next_attempt_at timestamptz,
    last_attempt_at timestamptz,
    last_status     bigint,
    last_error      text        NOT NULL DEFAULT '',
    settled_at      timestamptz,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT webhook_deliveries_once UNIQUE (tenant_id, region, event_id, endpoint_id),
    CONSTRAINT webhook_deliveries_event FOREIGN KEY (tenant_id, region, event_id) REFERENCES outbox_events (tenant_id, region, id),
    CONSTRAINT webhook_deliveries_endpoint FOREIGN KEY (tenant_id, endpoint_id) REFERENCES webhook_endpoints (tenant_id, id),
    CONSTRAINT webhook_deliveries_state CHECK (state IN ('PENDING', 'DELIVERED', 'FAILED')),
    CONSTRAINT webhook_deliveries_due CHECK ((state = 'PENDING') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_deliveries_settled CHECK ((state <> 'PENDING') = (settled_at IS NOT NULL)),
    CONSTRAINT webhook_deliveries_attempts CHECK (attempts >= 0),
    CONSTRAINT webhook_deliveries_status CHECK (last_status BETWEEN 100 AND 999),
    CONSTRAINT webhook_deliveries_error_length CHECK (length(last_error) <= 200)
);

CREATE INDEX IF NOT EXISTS webhook_deliveries_by_endpoint ON webhook_deliveries (tenant_id, region, endpoint_id, created_at, id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_by_state ON webhook_deliveries (tenant_id, region, endpoint_id, state, created_at, id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_pending ON webhook_deliveries (tenant_id, region, endpoint_id, next_attempt_at)
    WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS webhook_deliveries_ended ON webhook_deliveries (tenant_id, region, settled_at)
    WHERE settled_at IS NOT NULL;
