-- name: PromotionsForClaim :many
-- The promotions of properties that apply by themselves or by the codes that are named, as long as they may
-- be booked, with what is left of their uses.
SELECT p.id, p.property_id, p.name, p.code, p.basis_points, p.amount_minor, p.book_from, p.book_until, p.stay_from, p.stay_to, p.min_nights,
    p.counted, COALESCE(n.ceiling - n.held - n.booked, 0)::bigint AS left_uses,
    ARRAY(
        SELECT s.scope_id
        FROM promotion_scopes s
        WHERE s.tenant_id = p.tenant_id AND s.region = p.region AND s.promotion_id = p.id AND s.kind = 'ROOM_TYPE')::uuid[] AS room_type_ids,
    ARRAY(
        SELECT s.scope_id
        FROM promotion_scopes s
        WHERE s.tenant_id = p.tenant_id AND s.region = p.region AND s.promotion_id = p.id AND s.kind = 'RATE_PLAN')::uuid[] AS rate_plan_ids
FROM promotions p
LEFT JOIN presale_counters n ON n.tenant_id = p.tenant_id AND n.region = p.region AND n.code_id = p.id
WHERE p.tenant_id = @tenant_id AND p.region = @region AND p.property_id = ANY(@property_ids::uuid[]) AND p.state = 'ACTIVE'
    AND (p.book_until IS NULL OR p.book_until > @now::timestamptz)
    AND (p.code IS NULL OR p.code = ANY(@codes::text[]))
ORDER BY p.id
LIMIT @max_rows;

-- name: PromotionInsert :exec
INSERT INTO promotions (tenant_id, region, id, property_id, name, code, state, basis_points, amount_minor, book_from, book_until,
    stay_from, stay_to, min_nights, counted)
VALUES (@tenant_id, @region, @id, @property_id, @name, sqlc.narg(code), 'ACTIVE', @basis_points, @amount_minor, sqlc.narg(book_from),
    sqlc.narg(book_until), sqlc.narg(stay_from), sqlc.narg(stay_to), @min_nights, @counted);

-- name: PromotionScopesInsert :execrows
INSERT INTO promotion_scopes (tenant_id, region, promotion_id, kind, scope_id)
SELECT @tenant_id::uuid, @region::text, @promotion_id::uuid, s.kind, s.scope_id
FROM (SELECT unnest(@kinds::text[]) AS kind, unnest(@scope_ids::uuid[]) AS scope_id) AS s;

-- name: PromotionScopesDelete :exec
DELETE FROM promotion_scopes
WHERE tenant_id = @tenant_id AND region = @region AND promotion_id = @promotion_id;

-- name: PromotionSet :execrows
UPDATE promotions
SET name = @name, state = @state, basis_points = @basis_points, amount_minor = @amount_minor, book_from = sqlc.narg(book_from),
    book_until = sqlc.narg(book_until), stay_from = sqlc.narg(stay_from), stay_to = sqlc.narg(stay_to), min_nights = @min_nights
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: PromotionsOpenCount :one
SELECT count(*)
FROM promotions
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND state = 'ACTIVE' AND code IS NULL;

-- name: PromotionsGet :many
SELECT p.id, p.property_id, p.name, p.code, p.state, p.basis_points, p.amount_minor, p.book_from, p.book_until, p.stay_from, p.stay_to,
    p.min_nights, p.counted, COALESCE(n.sell_limit, 0)::bigint AS uses, COALESCE(n.held, 0)::bigint AS held, COALESCE(n.booked, 0)::bigint AS used,
    ARRAY(
        SELECT s.scope_id
        FROM promotion_scopes s
        WHERE s.tenant_id = p.tenant_id AND s.region = p.region AND s.promotion_id = p.id AND s.kind = 'ROOM_TYPE'
        ORDER BY s.scope_id)::uuid[] AS room_type_ids,
    ARRAY(
        SELECT s.scope_id
        FROM promotion_scopes s
        WHERE s.tenant_id = p.tenant_id AND s.region = p.region AND s.promotion_id = p.id AND s.kind = 'RATE_PLAN'
        ORDER BY s.scope_id)::uuid[] AS rate_plan_ids
FROM promotions p
LEFT JOIN presale_counters n ON n.tenant_id = p.tenant_id AND n.region = p.region AND n.code_id = p.id
WHERE p.tenant_id = @tenant_id AND p.region = @region
    AND (p.id = @id::uuid OR p.property_id = @property_id::uuid AND p.id > @after_id::uuid)
ORDER BY p.id
LIMIT @max_rows;

-- name: RoomTypesOfProperty :many
-- Those of some room types that a property has.
SELECT id
FROM room_types
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id AND id = ANY(@ids::uuid[]);

-- name: RoomTypeIDsOfProperty :many
SELECT id
FROM room_types
WHERE tenant_id = @tenant_id AND region = @region AND property_id = @property_id
ORDER BY id
LIMIT 1000;
