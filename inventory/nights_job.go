package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// NightsJobState says where an edit stands that runs as a job.
type NightsJobState string

// The states. The last two are final.
const (
	// NightsJobRunning still has chunks to write, or waits for a worker that does.
	NightsJobRunning NightsJobState = "RUNNING"
	// NightsJobDone has been through all its chunks.
	NightsJobDone NightsJobState = "DONE"
	// NightsJobCancelled was ended before its last chunk; what is written stays written.
	NightsJobCancelled NightsJobState = "CANCELLED"
)

// NightsJob is an edit of more nights than one transaction writes.
type NightsJob struct {
	ID       NightsJobID
	Property tenants.PropertyID
	// RoomType is zero for an edit of all room types of the property.
	RoomType RoomTypeID
	// RatePlan is zero for an edit of what the room types say.
	RatePlan    RatePlanID
	First, Last civil.Date
	State       NightsJobState
	// Nights is how many it has to write, and Written how many it has.
	Nights, Written int64
	// Chunks are its parts; Waiting are still to be written, and Failed could not be.
	Chunks, Waiting, Failed int64
	// Oversold is how many nights were sold above their limit when they were written.
	Oversold  int64
	CreatedAt time.Time
	EndedAt   *time.Time
}

// NightsChunkState says what became of a part of a job.
type NightsChunkState string

// The states. The last two are final.
const (
	NightsChunkWaiting NightsChunkState = "WAITING"
	NightsChunkWritten NightsChunkState = "WRITTEN"
	NightsChunkFailed  NightsChunkState = "FAILED"
)

// NightsChunk is a part of a job: nights of one room type or of the house, written all or none.
type NightsChunk struct {
	Ordinal int64
	// RoomType is zero for the house.
	RoomType    RoomTypeID
	First, Last civil.Date
	Nights      int64
	State       NightsChunkState
	Oversold    int64
	// Fault is why it could not be written.
	Fault   string
	EndedAt *time.Time
}

// startNightsJob stores an edit for the workers, once it is known that every night can take it.
func (s *Service) startNightsJob(ctx context.Context, actor tenants.Actor, edit NightsEdit, t target, dates []civil.Date) (NightsSet, error) {
	size := edit.size(t, len(dates))
	if err := edit.requireKey(size); err != nil {
		return NightsSet{}, err
	}
	if size > maxNightsPerJob {
		return NightsSet{}, fault.Invalid("nights", "expected at most %d nights of all room types together, got %d", maxNightsPerJob, size)
	}
	fingerprint, err := request.Fingerprint(edit)
	if err != nil {
		return NightsSet{}, err
	}
	if err := s.rehearse(ctx, t, dates, edit.Change); err != nil {
		return NightsSet{}, err
	}
	job := NightsJobID{Region: t.at.region, UUID: uuid.New()}
	return db.Replayable(ctx, s.db, "inventory.StartNightsJob", func(ctx context.Context, tx pgx.Tx) (NightsSet, error) {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: t.at.tenant, Region: t.at.region, Key: edit.RequestKey, Scope: "setNights/KEY/" + actor.Key.UUID.String(),
		}, fingerprint, job.UUID)
		if err != nil {
			return NightsSet{}, err
		}
		if replayed {
			return NightsSet{Job: &NightsJobID{Region: job.Region, UUID: earlier}}, nil
		}
		return NightsSet{Job: &job}, insertJobTx(ctx, tx, actor, job, edit, t, dates)
	})
}

// rehearse merges the change with what is planned, so that a job is refused like a short edit is: as a
// whole, and before anything is written. Nights that are edited meanwhile may still refuse it.
func (s *Service) rehearse(ctx context.Context, t target, dates []civil.Date, change NightChange) error {
	if !change.setsRooms() {
		return nil
	}
	_, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		if t.plan != nil {
			return struct{}{}, rehearsePlan(ctx, tx, t, dates, change)
		}
		for _, room := range t.rooms {
			rows, err := dbsqlc.New(tx).NightPlansOf(ctx, dbsqlc.NightPlansOfParams{
				TenantID: t.at.tenant, Region: string(t.at.region), RoomTypeID: room, FirstNight: dates[0], LastNight: dates[len(dates)-1],
			})
			if err != nil {
				return struct{}{}, fmt.Errorf("read night plans: %w", err)
			}
			present := make(map[civil.Date]dbsqlc.NightPlansLockRow, len(rows))
			for _, row := range rows {
				present[row.Night] = dbsqlc.NightPlansLockRow(row)
			}
			for _, date := range dates {
				plan, exists := present[date]
				if _, err := merge(plan, exists, DatedChange{Night: date, Change: change}); err != nil {
					return struct{}{}, err
				}
			}
		}
		return struct{}{}, nil
	})
	return err
}

func insertJobTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, job NightsJobID, edit NightsEdit, t target, dates []civil.Date) error {
	change, err := json.Marshal(edit.Change)
	if err != nil {
		return fmt.Errorf("store an edit of nights: %w", err)
	}
	author, err := json.Marshal(actor.Author())
	if err != nil {
		return fmt.Errorf("store an edit of nights: %w", err)
	}
	params := dbsqlc.NightEditInsertParams{
		TenantID: t.at.tenant, Region: string(t.at.region), ID: job.UUID, PropertyID: t.property,
		FirstNight: dates[0], LastNight: dates[len(dates)-1], Weekdays: maskOf(edit.Nights.Weekdays),
		Change: change, Author: author, Nights: int64(edit.size(t, len(dates))), RatePlanID: t.plan,
	}
	var resource fmt.Stringer = tenants.PropertyID{Region: t.at.region, UUID: t.property}
	if edit.RoomType != nil {
		params.RoomTypeID, resource = &edit.RoomType.UUID, *edit.RoomType
	}
	if edit.RatePlan != nil {
		resource = *edit.RatePlan
	}
	queries := dbsqlc.New(tx)
	if err := queries.NightEditInsert(ctx, params); err != nil {
		return fmt.Errorf("store an edit of nights: %w", err)
	}
	if _, err := queries.NightEditChunksInsert(ctx, edit.chunks(t, job, dates)); err != nil {
		return fmt.Errorf("store the chunks of an edit of nights: %w", err)
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionNightsSet, Resource: resource,
		After: struct {
			Job      NightsJobID
			From, To civil.Date
			Weekdays []time.Weekday
			Change   NightChange
		}{job, dates[0], dates[len(dates)-1], edit.Nights.Weekdays, edit.Change},
	})
}

// chunks divides an edit into transactions: each room type in parts of a year, then the house.
func (e NightsEdit) chunks(t target, job NightsJobID, dates []civil.Date) dbsqlc.NightEditChunksInsertParams {
	params := dbsqlc.NightEditChunksInsertParams{TenantID: t.at.tenant, Region: string(t.at.region), EditID: job.UUID}
	add := func(room uuid.UUID) {
		for start := 0; start < len(dates); start += nightsPerChunk {
			part := dates[start:min(len(dates), start+nightsPerChunk)]
			params.Ordinals = append(params.Ordinals, int64(len(params.Ordinals)))
			params.RoomTypeIds = append(params.RoomTypeIds, room)
			params.FirstNights = append(params.FirstNights, part[0])
			params.LastNights = append(params.LastNights, part[len(part)-1])
			params.Nights = append(params.Nights, int64(len(part)))
		}
	}
	if e.Change.setsRooms() {
		for _, room := range t.rooms {
			add(room)
		}
	}
	if e.Change.setsHouse() {
		add(uuid.Nil)
	}
	return params
}

// maskOf has a bit for each weekday, Sunday's the lowest.
func maskOf(weekdays []time.Weekday) int64 {
	if weekdays == nil {
		return 1<<7 - 1
	}
	mask := int64(0)
	for _, day := range weekdays {
		mask |= 1 << day
	}
	return mask
}

func weekdaysOf(mask int64) []time.Weekday {
	days := []time.Weekday{}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if mask&(1<<day) != 0 {
			days = append(days, day)
		}
	}
	return days
}

// WriteNightsJobs writes up to limit chunks of the jobs that are under way, the oldest jobs of every
// tenant in turn, and says how many. It may run in several processes, and be stopped anywhere: a chunk
// and the note that it is written are one transaction.
func (s *Service) WriteNightsJobs(ctx context.Context, limit int) (int, error) {
	running, err := s.runningNightsJobs(ctx)
	if err != nil {
		return 0, err
	}
	written := 0
	var failures []error
	for len(running) > 0 && written < limit {
		left := running[:0]
		for _, job := range running {
			if ctx.Err() != nil || written >= limit {
				return written, errors.Join(failures...)
			}
			more, err := s.writeChunk(ctx, job.at, job.id)
			switch {
			case err != nil:
				failures = append(failures, fmt.Errorf("write nights of job %s: %w", NightsJobID{Region: job.at.region, UUID: job.id}, err))
			case more:
				left = append(left, job)
				written++
			}
		}
		running = left
	}
	return written, errors.Join(failures...)
}

type runningJob struct {
	at place
	id uuid.UUID
}

func (s *Service) runningNightsJobs(ctx context.Context) ([]runningJob, error) {
	queries := dbsqlc.New(s.db.Pool())
	places, err := queries.SellingPlaces(ctx)
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read where stock is sold: %w", err))
	}
	params := dbsqlc.NightEditsRunningParams{MaxEdits: maxJobsAtOnce}
	for _, p := range places {
		params.TenantIds = append(params.TenantIds, p.TenantID)
		params.Regions = append(params.Regions, p.Region)
	}
	rows, err := queries.NightEditsRunning(ctx, params)
	if err != nil {
		return nil, db.Classify(fmt.Errorf("read edits of nights: %w", err))
	}
	running := make([]runningJob, len(rows))
	for i, row := range rows {
		running[i] = runningJob{at: place{tenant: row.TenantID, region: ids.Region(row.Region)}, id: row.ID}
	}
	return running, nil
}

// writeChunk writes the next chunk of a job, and reports false when there was none.
func (s *Service) writeChunk(ctx context.Context, at place, job uuid.UUID) (bool, error) {
	return db.Replayable(ctx, s.db, "inventory.WriteNightsChunk", func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return writeChunkTx(ctx, tx, at, job)
	})
}

func writeChunkTx(ctx context.Context, tx pgx.Tx, at place, job uuid.UUID) (bool, error) {
	queries := dbsqlc.New(tx)
	edit, err := queries.NightEditLock(ctx, dbsqlc.NightEditLockParams{TenantID: at.tenant, Region: string(at.region), ID: job})
	if err != nil {
		return false, fmt.Errorf("lock an edit of nights: %w", err)
	}
	if NightsJobState(edit.State) != NightsJobRunning {
		return false, nil
	}
	chunk, err := queries.NightEditChunkNext(ctx, dbsqlc.NightEditChunkNextParams{TenantID: at.tenant, Region: string(at.region), EditID: job})
	if db.IsNoRows(err) {
		_, err := queries.NightEditEnd(ctx, dbsqlc.NightEditEndParams{TenantID: at.tenant, Region: string(at.region), ID: job, State: string(NightsJobDone)})
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("read the next chunk of an edit of nights: %w", err)
	}
	ended := dbsqlc.NightEditChunkEndParams{
		TenantID: at.tenant, Region: string(at.region), EditID: job, Ordinal: chunk.Ordinal, State: string(NightsChunkWritten),
	}
	oversold, err := writeChunkNightsTx(ctx, tx, at, edit, chunk)
	var refused *fault.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == fault.KindInvalid:
		// The night was edited since the job was rehearsed. Nothing of the chunk is written.
		ended.State, ended.Fault = string(NightsChunkFailed), refused.Error()
	case err != nil:
		return false, err
	}
	ended.Oversold = int64(oversold)
	if _, err := queries.NightEditChunkEnd(ctx, ended); err != nil {
		return false, fmt.Errorf("end a chunk of an edit of nights: %w", err)
	}
	return true, nil
}

// writeChunkNightsTx writes as the one who asked for the edit, and says how many nights are then sold
// above their limit.
func writeChunkNightsTx(ctx context.Context, tx pgx.Tx, at place, edit dbsqlc.NightEditLockRow, chunk dbsqlc.NightEditChunkNextRow) (int, error) {
	var change NightChange
	if err := json.Unmarshal(edit.Change, &change); err != nil {
		return 0, fmt.Errorf("read an edit of nights: %w", err)
	}
	var author tenants.Author
	if err := json.Unmarshal(edit.Author, &author); err != nil {
		return 0, fmt.Errorf("read who edits nights: %w", err)
	}
	dates := NightRange{Weekdays: weekdaysOf(edit.Weekdays)}.within(chunk.FirstNight, chunk.LastNight)
	t := target{at: at, property: edit.PropertyID, plan: edit.RatePlanID}
	if chunk.RoomTypeID != nil {
		t.rooms = []uuid.UUID{*chunk.RoomTypeID}
		change.HouseLimit, change.NoHouseLimit = nil, false
	} else {
		change = NightChange{HouseLimit: change.HouseLimit, NoHouseLimit: change.NoHouseLimit}
	}
	set, err := writeTargetTx(ctx, tx, tenants.TenantID{UUID: at.tenant}, author, t, dates, change)
	return len(set.Oversold), err
}

// CancelNightsJob ends a job before its next chunk; saying it twice changes nothing. What is written
// stays written.
func (s *Service) CancelNightsJob(ctx context.Context, actor tenants.Actor, id NightsJobID) (NightsJob, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsSet, "job", id.Region, id.UUID); err != nil {
		return NightsJob{}, err
	}
	at := placeOf(actor.Tenant, id.Region)
	return db.Replayable(ctx, s.db, "inventory.CancelNightsJob", func(ctx context.Context, tx pgx.Tx) (NightsJob, error) {
		queries := dbsqlc.New(tx)
		// The lock waits for the chunk that is being written.
		edit, err := queries.NightEditLock(ctx, dbsqlc.NightEditLockParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID})
		if db.IsNoRows(err) {
			return NightsJob{}, fault.NotFound("job")
		}
		if err != nil {
			return NightsJob{}, fmt.Errorf("lock an edit of nights: %w", err)
		}
		if _, err := queries.NightEditEnd(ctx, dbsqlc.NightEditEndParams{TenantID: at.tenant, Region: string(at.region), ID: id.UUID, State: string(NightsJobCancelled)}); err != nil {
			return NightsJob{}, fmt.Errorf("cancel an edit of nights: %w", err)
		}
		job, err := nightsJobOf(ctx, queries, at, id.UUID)
		if err != nil {
			return NightsJob{}, err
		}
		type state struct{ State string }
		return job, tenants.AuditTx(ctx, tx, actor, tenants.Change{
			Action: policies.ActionNightsSet, Resource: id, Before: state{edit.State}, After: state{string(job.State)},
		})
	})
}

// NightsJob reads a job and how far it is.
func (s *Service) NightsJob(ctx context.Context, actor tenants.Actor, id NightsJobID) (NightsJob, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsRead, "job", id.Region, id.UUID); err != nil {
		return NightsJob{}, err
	}
	job, err := nightsJobOf(ctx, dbsqlc.New(s.db.Pool()), placeOf(actor.Tenant, id.Region), id.UUID)
	return job, db.Classify(err)
}

func nightsJobOf(ctx context.Context, queries *dbsqlc.Queries, at place, id uuid.UUID) (NightsJob, error) {
	row, err := queries.NightEditGet(ctx, dbsqlc.NightEditGetParams{TenantID: at.tenant, Region: string(at.region), ID: id})
	if db.IsNoRows(err) {
		return NightsJob{}, fault.NotFound("job")
	}
	if err != nil {
		return NightsJob{}, fmt.Errorf("read an edit of nights: %w", err)
	}
	job := NightsJob{
		ID: NightsJobID{Region: at.region, UUID: row.ID}, Property: tenants.PropertyID{Region: at.region, UUID: row.PropertyID},
		First: row.FirstNight, Last: row.LastNight, State: NightsJobState(row.State), Nights: row.Nights, Written: row.WrittenNights,
		Chunks: row.Chunks, Waiting: row.Waiting, Failed: row.Failed, Oversold: row.Oversold, CreatedAt: row.CreatedAt.UTC(), EndedAt: row.EndedAt,
	}
	if row.RatePlanID != nil {
		job.RatePlan = RatePlanID{Region: at.region, UUID: *row.RatePlanID}
	}
	if row.RoomTypeID != nil {
		job.RoomType = RoomTypeID{Region: at.region, UUID: *row.RoomTypeID}
	}
	return job, nil
}

// NightsChunks lists the chunks of a job in their order, and says whether more follow.
func (s *Service) NightsChunks(ctx context.Context, actor tenants.Actor, id NightsJobID, after int64, limit int) ([]NightsChunk, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsRead, "job", id.Region, id.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	rows, err := dbsqlc.New(s.db.Pool()).NightEditChunksPage(ctx, dbsqlc.NightEditChunksPageParams{
		TenantID: actor.Tenant.UUID, Region: string(id.Region), EditID: id.UUID, AfterOrdinal: after, MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
	})
	if err != nil {
		return nil, false, db.Classify(fmt.Errorf("read the chunks of an edit of nights: %w", err))
	}
	more := len(rows) > limit
	if more {
		rows = rows[:limit]
	}
	chunks := make([]NightsChunk, len(rows))
	for i, row := range rows {
		chunks[i] = NightsChunk{
			Ordinal: row.Ordinal, First: row.FirstNight, Last: row.LastNight, Nights: row.Nights, State: NightsChunkState(row.State),
			Oversold: row.Oversold, Fault: row.Fault, EndedAt: row.EndedAt,
		}
		if row.RoomTypeID != nil {
			chunks[i].RoomType = RoomTypeID{Region: id.Region, UUID: *row.RoomTypeID}
		}
	}
	return chunks, more, nil
}

// NightsJobs lists the jobs of a property from the newest, and says whether older ones follow.
func (s *Service) NightsJobs(ctx context.Context, actor tenants.Actor, property tenants.PropertyID, after *NightsJobCursor, limit int) ([]NightsJob, bool, error) {
	if err := s.authorizeAt(ctx, actor, policies.ActionNightsRead, "property", property.Region, property.UUID); err != nil {
		return nil, false, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, false, fault.Invalid("first", "expected 1 to %d, got %d", MaxPage, limit)
	}
	at, from := placeOf(actor.Tenant, property.Region), NightsJobCursor{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if after != nil {
		from = *after
	}
	var more bool
	jobs, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]NightsJob, error) {
		if err := propertyTx(ctx, tx, actor.Tenant, property); err != nil {
			return nil, err
		}
		queries := dbsqlc.New(tx)
		rows, err := queries.NightEditsPage(ctx, dbsqlc.NightEditsPageParams{
			TenantID: at.tenant, Region: string(at.region), PropertyID: property.UUID, BeforeTime: from.CreatedAt, BeforeID: from.ID,
			MaxRows: int32(limit + 1), //nolint:gosec // at most MaxPage
		})
		if err != nil {
			return nil, fmt.Errorf("list edits of nights: %w", err)
		}
		jobs := make([]NightsJob, len(rows))
		for i, row := range rows {
			if jobs[i], err = nightsJobOf(ctx, queries, at, row.ID); err != nil {
				return nil, err
			}
		}
		return jobs, nil
	})
	if more = len(jobs) > limit; more {
		jobs = jobs[:limit]
	}
	return jobs, more, err
}

// NightsJobCursor is where a page of jobs begins: with those made before this one.
type NightsJobCursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}
