-- name: RepairInsert :execrows
-- One thing is mended, and counted, once per kind, whoever comes first.
INSERT INTO payment_repairs (tenant_id, region, id, kind, subject_id, attempt_id, refund_id, hold_id, repaired_by, repaired_at)
VALUES (@tenant_id, @region, @id, @kind, @subject_id, @attempt_id, @refund_id, @hold_id, @repaired_by, @repaired_at)
ON CONFLICT (tenant_id, region, subject_id, kind) DO NOTHING;

-- name: RepairsPage :many
SELECT id, kind, attempt_id, refund_id, hold_id, repaired_by, repaired_at
FROM payment_repairs
WHERE tenant_id = @tenant_id AND region = @region AND repaired_at >= @first::timestamptz AND repaired_at < @beyond::timestamptz
    AND (repaired_at > @after::timestamptz OR (repaired_at = @after::timestamptz AND id > @after_id::uuid))
ORDER BY repaired_at, id
LIMIT @max_rows;

-- name: RepairCounts :many
SELECT kind, count(*) AS repairs
FROM payment_repairs
WHERE tenant_id = @tenant_id AND region = @region AND repaired_at >= @first::timestamptz AND repaired_at < @beyond::timestamptz
GROUP BY kind
ORDER BY kind;

-- name: RepairsOfHold :many
SELECT id, kind, attempt_id, refund_id, hold_id, repaired_by, repaired_at
FROM payment_repairs
WHERE tenant_id = @tenant_id AND region = @region AND hold_id = @hold_id
ORDER BY repaired_at, id;
