-- Who sells, and who is asking. Directory tables have no region: they are read everywhere and
-- written rarely. Guest sessions are written with every buyer, so they live in a region.

CREATE TABLE IF NOT EXISTS tenants (
    id               uuid        NOT NULL,
    name             text        NOT NULL,
    slug             text        NOT NULL,
    home_region      text        NOT NULL,
    payment_provider text        NOT NULL,
    payment_account  text        NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenants_pkey PRIMARY KEY (id),
    CONSTRAINT tenants_slug_unique UNIQUE (slug),
    CONSTRAINT tenants_name_length CHECK (length(name) BETWEEN 1 AND 200)
);

CREATE TABLE IF NOT EXISTS properties (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    region     text        NOT NULL,
    name       text        NOT NULL,
    time_zone  text        NOT NULL,
    currency   text        NOT NULL,
    country    text        NOT NULL,
    city       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT properties_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT properties_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT properties_name_length CHECK (length(name) BETWEEN 1 AND 200)
);

CREATE TABLE IF NOT EXISTS venues (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    region     text        NOT NULL,
    name       text        NOT NULL,
    time_zone  text        NOT NULL,
    currency   text        NOT NULL,
    country    text        NOT NULL,
    city       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT venues_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT venues_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT venues_name_length CHECK (length(name) BETWEEN 1 AND 200)
);

CREATE TABLE IF NOT EXISTS channels (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    name       text        NOT NULL,
    kind       text        NOT NULL,
    suspended  boolean     NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT channels_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT channels_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT channels_name_unique UNIQUE (tenant_id, name),
    CONSTRAINT channels_name_length CHECK (length(name) BETWEEN 1 AND 100),
    CONSTRAINT channels_kind CHECK (kind IN ('OWN_SITE', 'BOX_OFFICE', 'PARTNER'))
);

-- A key's secret is never stored, only its SHA-256. A PLATFORM key belongs to no tenant.
CREATE TABLE IF NOT EXISTS api_keys (
    id           uuid        NOT NULL,
    tenant_id    uuid,
    channel_id   uuid,
    kind         text        NOT NULL,
    mode         text        NOT NULL,
    name         text        NOT NULL,
    secret_hash  bytea       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT api_keys_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT api_keys_name_length CHECK (length(name) BETWEEN 1 AND 100),
    CONSTRAINT api_keys_kind CHECK (kind IN ('PLATFORM', 'ADMIN', 'PARTNER', 'PUBLISHABLE')),
    CONSTRAINT api_keys_mode CHECK (mode IN ('LIVE', 'TEST')),
    CONSTRAINT api_keys_owner CHECK ((kind = 'PLATFORM') = (tenant_id IS NULL)),
    CONSTRAINT api_keys_seller CHECK (kind NOT IN ('PARTNER', 'PUBLISHABLE') OR channel_id IS NOT NULL)
);

CREATE INDEX IF NOT EXISTS api_keys_by_tenant ON api_keys (tenant_id, created_at);

CREATE TABLE IF NOT EXISTS guest_sessions (
    tenant_id   uuid        NOT NULL,
    region      text        NOT NULL,
    id          uuid        NOT NULL,
    channel_id  uuid        NOT NULL,
    secret_hash bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    CONSTRAINT guest_sessions_pkey PRIMARY KEY (tenant_id, region, id)
);

-- A tenant's default terms have the zero scope_id; a property or show overrides what it names.
CREATE TABLE IF NOT EXISTS sales_terms (
    tenant_id                       uuid        NOT NULL,
    scope_id                        uuid        NOT NULL,
    hold_seconds                    bigint,
    max_extensions                  bigint,
    max_hold_seconds                bigint,
    processing_seconds              bigint,
    grace_seconds                   bigint,
    late_payment                    text,
    on_decline                      text,
    max_seats_per_hold              bigint,
    max_quantity_per_hold           bigint,
    max_nights_per_stay             bigint,
    max_active_holds_per_buyer      bigint,
    max_active_holds_per_instrument bigint,
    admission_required              boolean,
    orphan_seats                    text,
    updated_at                      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sales_terms_pkey PRIMARY KEY (tenant_id, scope_id),
    CONSTRAINT sales_terms_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT sales_terms_hold CHECK (hold_seconds BETWEEN 1 AND 86400),
    CONSTRAINT sales_terms_extensions CHECK (max_extensions BETWEEN 0 AND 10),
    CONSTRAINT sales_terms_hold_cap CHECK (max_hold_seconds BETWEEN 1 AND 172800),
    CONSTRAINT sales_terms_processing CHECK (processing_seconds BETWEEN 1 AND 86400),
    CONSTRAINT sales_terms_grace CHECK (grace_seconds BETWEEN 0 AND 86400),
    CONSTRAINT sales_terms_late_payment CHECK (late_payment IN ('HONOUR', 'REFUND')),
    CONSTRAINT sales_terms_on_decline CHECK (on_decline IN ('RELEASE', 'KEEP')),
    CONSTRAINT sales_terms_seats CHECK (max_seats_per_hold BETWEEN 1 AND 100),
    CONSTRAINT sales_terms_quantity CHECK (max_quantity_per_hold BETWEEN 1 AND 1000),
    CONSTRAINT sales_terms_nights CHECK (max_nights_per_stay BETWEEN 1 AND 366),
    CONSTRAINT sales_terms_buyer CHECK (max_active_holds_per_buyer BETWEEN 1 AND 1000),
    CONSTRAINT sales_terms_instrument CHECK (max_active_holds_per_instrument BETWEEN 1 AND 1000),
    CONSTRAINT sales_terms_orphans CHECK (orphan_seats IN ('ALLOW', 'REFUSE'))
);
