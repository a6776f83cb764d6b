-- name: KeysRead :many
-- The newest keys. Older ones have signed nothing that may still be shown.
SELECT k.id, k.secret, k.signs_at, clock_timestamp()::timestamptz AS asked_at
FROM admission_keys k
ORDER BY k.id DESC
LIMIT 10;

-- name: KeyInsert :execrows
-- Of two processes that make the same key, one does.
INSERT INTO admission_keys (id, secret, signs_at)
VALUES (@id, @secret, @signs_at)
ON CONFLICT (id) DO NOTHING;

-- name: Now :one
SELECT clock_timestamp()::timestamptz AS now;
