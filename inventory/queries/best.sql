-- name: ChartOfShow :one
-- A show keeps its chart for good.
SELECT chart_id
FROM shows
WHERE tenant_id = @tenant_id AND region = @region AND id = @id;

-- name: SeatsForChoice :many
-- What the best seats are looked for in; the claim locks those that were chosen and asks them again.
SELECT seat_id, price_level_id, state, claimable_at, block_id
FROM show_seats
WHERE tenant_id = @tenant_id AND region = @region AND show_id = @show_id;
