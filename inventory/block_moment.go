package inventory

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// latestMoment is far enough for any sale, and near enough for every engine.
var latestMoment = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot declare

// check refuses what no clock shows.
func (m Moment) check() error {
	if m.At != nil && m.Local != "" {
		return fault.Invalid("releaseAtLocal", "expected releaseAt or releaseAtLocal, not both")
	}
	if m.Local == "" {
		return nil
	}
	_, err := m.local()
	return err
}

func (m Moment) local() (civil.DateTime, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, m.Local); err == nil {
			return civil.DateTimeOf(at), nil
		}
	}
	return civil.DateTime{}, fault.Invalid("releaseAtLocal", "expected a date and time of the venue's clocks such as 2027-03-14T18:00, got %.40q", m.Local)
}

// instant is the moment of a show's venue, which must lie ahead; nil is never.
func (m Moment) instant(ctx context.Context, tx pgx.Tx, at place, venue uuid.UUID, now time.Time) (*time.Time, error) {
	var moment time.Time
	field := "releaseAt"
	switch {
	case m.At != nil:
		moment = m.At.UTC()
	case m.Local != "":
		field = "releaseAtLocal"
		row, err := dbsqlc.New(tx).VenueForSetup(ctx, dbsqlc.VenueForSetupParams{TenantID: at.tenant, ID: venue})
		if err != nil {
			return nil, fmt.Errorf("read the venue of a block: %w", err)
		}
		zone, err := time.LoadLocation(row.TimeZone)
		if err != nil {
			return nil, fmt.Errorf("time zone %q of venue %s: %w", row.TimeZone, venue, err)
		}
		local, err := m.local()
		if err != nil {
			return nil, err
		}
		wall := time.Duration(local.Time.Hour)*time.Hour + time.Duration(local.Time.Minute)*time.Minute + time.Duration(local.Time.Second)*time.Second
		moment = localInstant(local.Date, wall, zone).UTC()
	default:
		return nil, nil //nolint:nilnil // never
	}
	if !moment.After(now) || moment.After(latestMoment) {
		return nil, fault.Invalid(field, "expected a moment to come, got %s; to release at once, use releaseSeatBlock", moment.Format(time.RFC3339))
	}
	// What the engines store.
	moment = moment.Truncate(time.Microsecond)
	return &moment, nil
}
