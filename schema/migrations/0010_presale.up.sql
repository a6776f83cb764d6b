-- Presale codes: who has one may hold before a show's sale opens for everybody, as many times as the
-- code has uses. A use is counted like a unit of stock: taken by the hold, given back when it ends,
-- kept by the sale. The counter stands apart from what admins edit, as all counters do.

CREATE TABLE IF NOT EXISTS presale_codes (
    tenant_id  uuid        NOT NULL,
    region     text        NOT NULL,
    id         uuid        NOT NULL,
    show_id    uuid        NOT NULL,
    code       text        NOT NULL,
    opens_at   timestamptz,
    closes_at  timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT presale_codes_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT presale_codes_show FOREIGN KEY (tenant_id, region, show_id) REFERENCES shows (tenant_id, region, id),
    CONSTRAINT presale_codes_name_unique UNIQUE (tenant_id, region, show_id, code),
    CONSTRAINT presale_codes_length CHECK (length(code) BETWEEN 4 AND 64),
    CONSTRAINT presale_codes_window CHECK (opens_at IS NULL OR closes_at IS NULL OR opens_at < closes_at)
);

CREATE TABLE IF NOT EXISTS presale_counters (
    tenant_id  uuid   NOT NULL,
    region     text   NOT NULL,
    code_id    uuid   NOT NULL,
    sell_limit bigint NOT NULL,
    held       bigint NOT NULL DEFAULT 0,
    booked     bigint NOT NULL DEFAULT 0,
    ceiling    bigint NOT NULL,
    CONSTRAINT presale_counters_pkey PRIMARY KEY (tenant_id, region, code_id),
    CONSTRAINT presale_counters_held CHECK (held >= 0),
    CONSTRAINT presale_counters_booked CHECK (booked >= 0),
    CONSTRAINT presale_counters_sell_limit CHECK (sell_limit >= 0),
    CONSTRAINT presale_counters_ceiling CHECK (held + booked <= ceiling)
) WITH (fillfactor = 50);

ALTER TABLE IF EXISTS holds ADD COLUMN IF NOT EXISTS presale_code_id uuid;

-- How many units of one show a guest may have in live holds and bookings together; null is no limit.
ALTER TABLE IF EXISTS sales_terms ADD COLUMN IF NOT EXISTS max_units_per_buyer bigint
    CONSTRAINT sales_terms_units_per_buyer CHECK (max_units_per_buyer BETWEEN 1 AND 1000);
