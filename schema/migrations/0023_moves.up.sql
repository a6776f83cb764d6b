-- Stays that were moved to other nights or rooms after their sale, guests for whom there was no room, and
-- what that cost.

-- CHANGED lines were given back by a change that kept the booking.
ALTER TABLE IF EXISTS booking_lines DROP CONSTRAINT IF EXISTS booking_lines_known_state;
ALTER TABLE IF EXISTS booking_lines ADD CONSTRAINT booking_lines_known_state
    CHECK (state IN ('BOOKED', 'CANCELLED', 'NO_SHOW', 'WALKED', 'CHANGED'));
ALTER TABLE IF EXISTS booking_lines DROP CONSTRAINT IF EXISTS booking_lines_state;

-- The changes that added a line and that ended it; NULL: it was sold with the booking, and it was not
-- ended by a change.
ALTER TABLE IF EXISTS booking_lines ADD COLUMN IF NOT EXISTS added_by uuid;
ALTER TABLE IF EXISTS booking_lines ADD COLUMN IF NOT EXISTS ended_by uuid;

-- A line that a change added to a sold hold. It was never held: reports find bookings through it.
ALTER TABLE IF EXISTS hold_lines ADD COLUMN IF NOT EXISTS added_by uuid;

-- One change of one stay of a booking. returned_minor + due_minor = added_minor + fee_minor +
-- refund_minor + credited_minor: what the ended lines cost, and what is still to be paid, is what the new
-- lines cost and what was kept, given back, or set against money that was owed or had gone back before.
-- Rows are only added; of an amount due the settlement is written later. There is no foreign key to the
-- booking: what was paid and kept stays when a booking is moved out of the way.
CREATE TABLE IF NOT EXISTS stay_changes (
    tenant_id       uuid        NOT NULL,
    region          text        NOT NULL,
    id              uuid        NOT NULL,
    booking_id      uuid        NOT NULL,
    booking_version bigint      NOT NULL,
    item            bigint      NOT NULL,
    kind            text        NOT NULL,
    currency        text        NOT NULL,
    added_minor     bigint      NOT NULL,
    returned_minor  bigint      NOT NULL,
    fee_minor       bigint      NOT NULL,
    waived_minor    bigint      NOT NULL,
    refund_minor    bigint      NOT NULL,
    credited_minor  bigint      NOT NULL,
    due_minor       bigint      NOT NULL,
    due_state       text        NOT NULL,
    settled_minor   bigint      NOT NULL DEFAULT 0,
    dropped_minor   bigint      NOT NULL DEFAULT 0,
    settle_method   text        NOT NULL DEFAULT '',
    settle_note     text        NOT NULL DEFAULT '',
    settled_by      uuid,
    settled_at      timestamptz,
    reason          text        NOT NULL,
    key_id          uuid        NOT NULL,
    session_id      uuid,
    changed_at      timestamptz NOT NULL,
    CONSTRAINT stay_changes_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT stay_changes_once UNIQUE (tenant_id, region, booking_id, booking_version),
    CONSTRAINT stay_changes_kind CHECK (kind IN ('CHANGE', 'UPGRADE', 'SISTER_HOTEL', 'WALK')),
    CONSTRAINT stay_changes_amounts CHECK (added_minor >= 0 AND returned_minor >= 0 AND fee_minor >= 0 AND waived_minor >= 0
        AND refund_minor >= 0 AND credited_minor >= 0 AND due_minor >= 0 AND settled_minor >= 0 AND dropped_minor >= 0),
    CONSTRAINT stay_changes_balance CHECK (returned_minor + due_minor = added_minor + fee_minor + refund_minor + credited_minor),
    CONSTRAINT stay_changes_due_state CHECK (due_state IN ('NONE', 'DUE', 'SETTLED', 'WAIVED')),
    CONSTRAINT stay_changes_due CHECK ((due_state = 'NONE') = (due_minor = 0) AND settled_minor + dropped_minor <= due_minor
        AND (due_state = 'DUE') = (settled_minor + dropped_minor < due_minor)),
    CONSTRAINT stay_changes_settlement CHECK ((settled_minor = 0) = (settle_method = ''))
);

CREATE INDEX IF NOT EXISTS stay_changes_by_booking ON stay_changes (tenant_id, region, booking_id);
CREATE INDEX IF NOT EXISTS stay_changes_open ON stay_changes (tenant_id, region, changed_at, id) WHERE due_state = 'DUE';

-- What a hotel spent on a stay for which it had no room on a night: the same id as its change.
CREATE TABLE IF NOT EXISTS compensations (
    tenant_id             uuid   NOT NULL,
    region                text   NOT NULL,
    id                    uuid   NOT NULL,
    property_id           uuid   NOT NULL,
    room_type_id          uuid   NOT NULL,
    night                 date   NOT NULL,
    to_room_type_id       uuid,
    nights                bigint NOT NULL,
    rooms                 bigint NOT NULL,
    rate_difference_minor bigint NOT NULL,
    lodging_minor         bigint NOT NULL,
    goodwill_minor        bigint NOT NULL,
    transport_minor       bigint NOT NULL,
    cost_minor            bigint NOT NULL,
    refund_minor          bigint NOT NULL,
    currency              text   NOT NULL,
    CONSTRAINT compensations_pkey PRIMARY KEY (tenant_id, region, id),
    CONSTRAINT compensations_change FOREIGN KEY (tenant_id, region, id) REFERENCES stay_changes (tenant_id, region, id),
    CONSTRAINT compensations_cost CHECK (cost_minor = rate_difference_minor + lodging_minor + goodwill_minor + transport_minor),
    CONSTRAINT compensations_amounts CHECK (rate_difference_minor >= 0 AND lodging_minor >= 0 AND goodwill_minor >= 0
        AND transport_minor >= 0 AND refund_minor >= 0),
    CONSTRAINT compensations_size CHECK (nights > 0 AND rooms > 0)
);

CREATE INDEX IF NOT EXISTS compensations_by_night ON compensations (tenant_id, region, property_id, night);

-- What it costs a hotel to send guests elsewhere, for each room.
CREATE TABLE IF NOT EXISTS walk_terms (
    tenant_id       uuid        NOT NULL,
    property_id     uuid        NOT NULL,
    night_minor     bigint      NOT NULL,
    goodwill_minor  bigint      NOT NULL,
    transport_minor bigint      NOT NULL,
    updated_at      timestamptz NOT NULL,
    CONSTRAINT walk_terms_pkey PRIMARY KEY (tenant_id, property_id),
    CONSTRAINT walk_terms_property FOREIGN KEY (tenant_id, property_id) REFERENCES properties (tenant_id, id),
    CONSTRAINT walk_terms_amounts CHECK (night_minor BETWEEN 0 AND 1000000000000 AND goodwill_minor BETWEEN 0 AND 1000000000000
        AND transport_minor BETWEEN 0 AND 1000000000000)
);
