-- Where a hotel is and what it has, for whoever looks for one. Latitude and longitude are in millionths of a
-- degree, so that no engine rounds them.
CREATE TABLE IF NOT EXISTS property_places (
    tenant_id    uuid        NOT NULL,
    property_id  uuid        NOT NULL,
    latitude_e6  bigint,
    longitude_e6 bigint,
    stars        bigint,
    amenities    text[]      NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT property_places_pkey PRIMARY KEY (tenant_id, property_id),
    CONSTRAINT property_places_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT property_places_latitude CHECK (latitude_e6 BETWEEN -90000000 AND 90000000),
    CONSTRAINT property_places_longitude CHECK (longitude_e6 BETWEEN -180000000 AND 180000000),
    CONSTRAINT property_places_point CHECK ((latitude_e6 IS NULL) = (longitude_e6 IS NULL)),
    CONSTRAINT property_places_stars CHECK (stars BETWEEN 1 AND 5)
);

-- How much of what is left strangers are told: exactly up to so many units, and of more that there are more.
ALTER TABLE IF EXISTS sales_terms ADD COLUMN IF NOT EXISTS max_remaining_shown bigint;
