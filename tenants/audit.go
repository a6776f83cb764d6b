package tenants

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Change is what an admin changed, for the log of changes.
type Change struct {
	// Action is the one that was authorised.
	Action Action
	// Resource is the public id of what was changed. The entry is kept in the region that the id names,
	// or else at the tenant's home.
	Resource fmt.Stringer
	// Region is where the entry is kept when neither is right, because the resource's id is not a public
	// one; "" otherwise.
	Region ids.Region
	// Reason is what the admin gave as one; "" is none.
	Reason string
	// Before and After are what was changed, as it was and as it is, in a JSON form that holds no
	// secret; nil is nothing, as before a creation.
	Before, After any
}

// Author is who makes a change and from where, as it is stored with work that is done later.
type Author struct {
	// Actor is the public id of the key.
	Actor string `json:"actor"`
	// Session is the public id of the guest session; "" is none.
	Session   string `json:"session,omitempty"`
	Address   string `json:"address,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// Author is the actor as the author of changes.
func (a Actor) Author() Author {
	author := Author{Actor: a.Key.String(), Address: a.Origin.Address, RequestID: a.Origin.RequestID}
	if !a.Member.IsZero() {
		author.Actor = a.Member.String()
	}
	if !a.Session.IsZero() {
		author.Session = a.Session.String()
	}
	return author
}

// AuditTx adds an entry to the log of changes of the actor's tenant, in the transaction of the change:
// every command that an admin action allows calls it once. Where before and after are the same, the
// command was said again and changed nothing, and there is no entry.
func AuditTx(ctx context.Context, tx pgx.Tx, actor Actor, change Change) error {
	return AuditAsTx(ctx, tx, actor.Tenant, actor.Author(), change)
}

// AuditAsTx is AuditTx for an author whose actor is not at hand, and for platform operators, who act in
// tenants that are not their own. The zero tenant is the installation.
func AuditAsTx(ctx context.Context, tx pgx.Tx, tenant TenantID, author Author, change Change) error {
	before, err := logged(change.Before)
	if err != nil {
		return err
	}
	after, err := logged(change.After)
	if err != nil {
		return err
	}
	if before != nil && bytes.Equal(before, after) {
		return nil
	}
	resource := change.Resource.String()
	region := cmp.Or(change.Region, RegionOfResource(resource))
	if err := dbsqlc.New(tx).AuditEntryInsert(ctx, dbsqlc.AuditEntryInsertParams{
		TenantID: tenant.UUID, Region: string(region), Nowhere: string(ids.RegionOfNobody), ID: uuid.New(),
		Actor: author.Actor, Session: author.Session, Address: author.Address, RequestID: author.RequestID,
		Action: string(change.Action), Resource: resource, Reason: change.Reason, Before: before, After: after,
	}); err != nil {
		return fmt.Errorf("log the change %s of %s: %w", change.Action, resource, err)
	}
	return nil
}

// logged is the JSON of a value; nil stays nothing.
func logged(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a change for the log: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode a change for the log: %w", err)
	}
	if encoded, err = json.Marshal(asInAPI(plain)); err != nil {
		return nil, fmt.Errorf("encode a change for the log: %w", err)
	}
	return encoded, nil
}

// asInAPI names the fields as the API does, MaxGuests as maxGuests, and leaves out those without a
// value.
func asInAPI(value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			if field != nil {
				fields[lowerFirst(name)] = asInAPI(field)
			}
		}
		return fields
	case []any:
		for i := range v {
			v[i] = asInAPI(v[i])
		}
	}
	return value
}

// lowerFirst writes the first word of a name small, an abbreviation as a whole.
func lowerFirst(name string) string {
	letters := []rune(name)
	for i := 0; i < len(letters) && unicode.IsUpper(letters[i]); i++ {
		if i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}

// RegionOfResource is the region in a public id, "" for one of the directory: where changes of it are
// kept.
func RegionOfResource(publicID string) ids.Region {
	if parts := strings.Split(publicID, "_"); len(parts) == 3 {
		return ids.Region(parts[1])
	}
	return ""
}

// AuditEntry is one entry of the log of changes.
type AuditEntry struct {
	ID AuditEntryID
	// ChangedAt is by the database's clock.
	ChangedAt time.Time
	Author    Author
	Action    Action
	// Resource is the public id of what was changed.
	Resource string
	Reason   string
	// Before and After are JSON; nil is nothing.
	Before, After json.RawMessage
}

// AuditFilter chooses entries of one region.
type AuditFilter struct {
	Region ids.Region
	// Resource and Actor are public ids; "" is any.
	Resource string
	Actor    string
	// Since and Until bound when the change was made, from one moment up to, but not at, the other; nil
	// is no bound.
	Since, Until *time.Time
}

// AuditCursor is where a page of the log begins: after, that is before in time, this entry.
type AuditCursor struct {
	ChangedAt time.Time
	ID        uuid.UUID
}

// AuditEntries lists changes from the newest, and says whether older ones follow. tenant may be zero
// for the actor's own; for a platform operator that means the changes of the installation itself.
func (s *Service) AuditEntries(ctx context.Context, actor Actor, tenant TenantID, filter AuditFilter, after *AuditCursor, limit int) ([]AuditEntry, bool, error) {
	if tenant.IsZero() {
		tenant = actor.Tenant
	}
	if err := s.authorizer.Authorize(actor, ActionAuditRead, tenant); err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	if filter.Since != nil && filter.Until != nil && !filter.Since.Before(*filter.Until) {
		return nil, false, fault.Invalid("until", "expected a moment after since")
	}
	at := AuditCursor{ChangedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Nil}
	if filter.Until != nil {
		at.ChangedAt = *filter.Until
	}
	if after != nil && after.ChangedAt.Before(at.ChangedAt) {
		at = *after
	}
	var since time.Time
	if filter.Since != nil {
		since = *filter.Since
	}
	return s.auditPage(ctx, tenant, filter, since, at, limit)
}

// auditPage reads by the index that fits the filter. The log may be read a little in the past: it is a
// report of what was done.
func (s *Service) auditPage(ctx context.Context, tenant TenantID, filter AuditFilter, since time.Time, at AuditCursor, limit int) ([]AuditEntry, bool, error) {
	rows, err := db.InSnapshot(ctx, s.db, func(ctx context.Context, tx pgx.Tx) ([]dbsqlc.AuditEntriesByTimeRow, error) {
		queries, region, most := dbsqlc.New(tx), string(filter.Region), int32(limit+1) //nolint:gosec // at most MaxPage
		switch {
		case filter.Resource != "":
			rows, err := queries.AuditEntriesByResource(ctx, dbsqlc.AuditEntriesByResourceParams{
				TenantID: tenant.UUID, Region: region, Resource: filter.Resource, Actor: filter.Actor, Since: since,
				BeforeTime: at.ChangedAt, BeforeID: at.ID, MaxRows: most,
			})
			return convert(rows, func(r dbsqlc.AuditEntriesByResourceRow) dbsqlc.AuditEntriesByTimeRow {
				return dbsqlc.AuditEntriesByTimeRow(r)
			}), err
		case filter.Actor != "":
			rows, err := queries.AuditEntriesByActor(ctx, dbsqlc.AuditEntriesByActorParams{
				TenantID: tenant.UUID, Region: region, Actor: filter.Actor, Since: since, BeforeTime: at.ChangedAt, BeforeID: at.ID, MaxRows: most,
			})
			return convert(rows, func(r dbsqlc.AuditEntriesByActorRow) dbsqlc.AuditEntriesByTimeRow {
				return dbsqlc.AuditEntriesByTimeRow(r)
			}), err
		}
		return queries.AuditEntriesByTime(ctx, dbsqlc.AuditEntriesByTimeParams{
			TenantID: tenant.UUID, Region: region, Since: since, BeforeTime: at.ChangedAt, BeforeID: at.ID, MaxRows: most,
		})
	}, db.Stale(auditStaleness))
	if err != nil {
		return nil, false, failed("read the log of changes", err)
	}
	page := pageOf(rows, limit, func(row dbsqlc.AuditEntriesByTimeRow) AuditEntry {
		return AuditEntry{
			ID: AuditEntryID{Region: filter.Region, UUID: row.ID}, ChangedAt: row.ChangedAt.UTC(),
			Author: Author{Actor: row.Actor, Session: row.Session, Address: row.Address, RequestID: row.RequestID},
			Action: Action(row.Action), Resource: row.Resource, Reason: row.Reason, Before: row.Before, After: row.After,
		}
	})
	return page.Items, page.More, nil
}

func convert[A, B any](items []A, to func(A) B) []B {
	converted := make([]B, len(items))
	for i, item := range items {
		converted[i] = to(item)
	}
	return converted
}
