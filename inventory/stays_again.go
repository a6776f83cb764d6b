package inventory

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/inventory/internal/dbsqlc"
)

// staysOf are the stays that a hold has, by the position in the buyer's request. Who comes is not among
// it: how many a room takes was asked when it was held, and does not change.
func staysOf(hold Hold) (items []int64, stays map[int64]StayRequest) {
	stays = map[int64]StayRequest{}
	for _, line := range hold.Lines {
		if line.Kind != LineKindNight {
			continue
		}
		stay, known := stays[line.Item]
		if !known {
			items = append(items, line.Item)
			stay = StayRequest{RoomType: line.RoomType, CheckIn: line.Night, CheckOut: line.Night.AddDays(1)}
			if !line.RatePlan.IsZero() {
				stay.RatePlan = &line.RatePlan
			}
		}
		stay.CheckIn, stay.CheckOut = earlier(stay.CheckIn, line.Night), later(stay.CheckOut, line.Night.AddDays(1))
		if line.Night == stay.CheckIn {
			// Rooms of one night may come from several counters.
			stay.Rooms += line.Quantity
		}
		stays[line.Item] = stay
	}
	return items, stays
}

// judgeStaysTx asks the rule engine about the stays of a hold that is to be extended or paid, as they would
// be judged if they were held now. What staff held against the restrictions they do not stop. The terms,
// and so the longest stay, are those of the moment the hold was placed.
func judgeStaysTx(ctx context.Context, tx pgx.Tx, at place, hold Hold, now time.Time) error {
	items, stays := staysOf(hold)
	if len(items) == 0 || hold.OverridesRestrictions {
		return nil
	}
	c := claim{region: at.region, channels: []uuid.UUID{hold.Channel.UUID}}
	for _, item := range items {
		stay := stays[item]
		c.lines = append(c.lines, LineRequest{Stay: &stay})
		if !slices.Contains(c.rooms, stay.RoomType.UUID) {
			c.rooms = append(c.rooms, stay.RoomType.UUID)
		}
	}
	f := facts{
		now: now, rooms: map[uuid.UUID]roomFacts{}, rules: map[planRoom]nightTable{},
		nights: map[uuid.UUID]map[civil.Date]dbsqlc.NightsForClaimRow{},
	}
	if err := f.readRooms(ctx, tx, at, c); err != nil {
		return err
	}
	if err := c.judgeExists(f); err != nil {
		return err
	}
	var refused []RefusedLine
	for i, line := range c.lines {
		refused = append(refused, refuseStay(int(items[i]), judgeStay(*line.Stay, f.stay(*line.Stay)))...)
		refused = append(refused, f.judgeChannel(int(items[i]), *line.Stay, hold.Channel)...)
	}
	if len(refused) > 0 {
		return refuseLines(refused)
	}
	return nil
}
