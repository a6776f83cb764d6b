-- People who sign in to a tenant with an identity provider of their own, and what each may do where.

-- A person is known by the issuer of their tokens and the subject in them. One who was invited by
-- e-mail has no subject until the first sign-in. Removed members stay, for who reads what they did.
CREATE TABLE IF NOT EXISTS members (
    tenant_id      uuid        NOT NULL,
    id             uuid        NOT NULL,
    issuer         text        NOT NULL,
    subject        text,
    email          text        NOT NULL,
    state          text        NOT NULL,
    channel_id     uuid,
    created_at     timestamptz NOT NULL DEFAULT now(),
    first_seen_at  timestamptz,
    removed_at     timestamptz,
    CONSTRAINT members_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT members_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT members_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT members_issuer_length CHECK (length(issuer) BETWEEN 1 AND 500),
    CONSTRAINT members_subject_length CHECK (length(subject) BETWEEN 1 AND 255),
    CONSTRAINT members_email_length CHECK (length(email) BETWEEN 3 AND 254),
    CONSTRAINT members_state CHECK (state IN ('INVITED', 'ACTIVE', 'REMOVED')),
    CONSTRAINT members_active CHECK (state <> 'ACTIVE' OR (subject IS NOT NULL AND first_seen_at IS NOT NULL)),
    CONSTRAINT members_removed CHECK ((state = 'REMOVED') = (removed_at IS NOT NULL))
);

CREATE UNIQUE INDEX IF NOT EXISTS members_subject_unique ON members (issuer, subject, tenant_id) WHERE state <> 'REMOVED';
CREATE UNIQUE INDEX IF NOT EXISTS members_email_unique ON members (issuer, email, tenant_id) WHERE state <> 'REMOVED';

-- One role of one member, in the whole tenant or at one property, venue or show. venue_id is that of
-- the show, whose hall its staff may look at. The limit is the most that a member with the role gives
-- back on one booking.
CREATE TABLE IF NOT EXISTS member_bindings (
    tenant_id          uuid        NOT NULL,
    member_id          uuid        NOT NULL,
    id                 uuid        NOT NULL,
    role               text        NOT NULL,
    scope_kind         text        NOT NULL,
    scope_region       text        NOT NULL DEFAULT '',
    scope_id           uuid        NOT NULL,
    venue_id           uuid,
    refund_limit_minor bigint,
    refund_currency    text,
    created_at         timestamptz NOT NULL DEFAULT now(),
    created_by         uuid        NOT NULL,
    CONSTRAINT member_bindings_pkey PRIMARY KEY (tenant_id, member_id, id),
    CONSTRAINT member_bindings_member FOREIGN KEY (tenant_id, member_id) REFERENCES members (tenant_id, id),
    CONSTRAINT member_bindings_once UNIQUE (tenant_id, member_id, role, scope_id),
    CONSTRAINT member_bindings_role CHECK (role IN ('TENANT_OWNER', 'CHAIN_MANAGER', 'PROPERTY_MANAGER', 'VENUE_MANAGER',
        'REVENUE_MANAGER', 'BOX_OFFICE', 'CHANNEL_MANAGER', 'SUPPORT', 'AUDITOR')),
    CONSTRAINT member_bindings_scope CHECK (scope_kind IN ('TENANT', 'PROPERTY', 'VENUE', 'SHOW')
        AND (scope_kind = 'TENANT') = (scope_id = '00000000-0000-0000-0000-000000000000')
        AND (scope_kind = 'TENANT') = (scope_region = '')
        AND (scope_kind = 'SHOW') = (venue_id IS NOT NULL)),
    CONSTRAINT member_bindings_refund CHECK ((refund_limit_minor IS NULL) = (refund_currency IS NULL)
        AND (refund_limit_minor IS NULL OR (role = 'SUPPORT' AND refund_limit_minor BETWEEN 1 AND 1000000000000)))
);

-- Grows with each change to a tenant's members or their roles, whose row every such change locks. Every
-- process asks for it, and reads the roles again when it has grown.
CREATE TABLE IF NOT EXISTS member_versions (
    tenant_id uuid   NOT NULL,
    version   bigint NOT NULL,
    CONSTRAINT member_versions_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT member_versions_tenant FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT member_versions_version CHECK (version > 0)
);

-- The secrets with which a channel's seller signs references to customers of its own. They sign, so
-- they are kept as they are.
CREATE TABLE IF NOT EXISTS customer_secrets (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    channel_id uuid        NOT NULL,
    secret     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    CONSTRAINT customer_secrets_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT customer_secrets_channel FOREIGN KEY (tenant_id, channel_id) REFERENCES channels (tenant_id, id),
    CONSTRAINT customer_secrets_ended CHECK ((secret = '') = (ended_at IS NOT NULL))
);

CREATE INDEX IF NOT EXISTS customer_secrets_by_channel ON customer_secrets (tenant_id, channel_id);

-- The pages that may present a publishable key; none means any.
ALTER TABLE IF EXISTS api_keys ADD COLUMN IF NOT EXISTS allowed_origins text[];
-- The key whose successor this one is.
ALTER TABLE IF EXISTS api_keys ADD COLUMN IF NOT EXISTS replaces_id uuid;
