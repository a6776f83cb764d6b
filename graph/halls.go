package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/inventory/charts"
	"github.com/holdfast/holdfast/tenants"
)

// hall is a chart as the API shows it, with its seats by id.
type hall struct {
	chart generated.Chart
	seats map[uuid.UUID]*generated.Seat
	// places are the numbers of the seats in the order of the chart.
	places map[uuid.UUID]int
}

// hallKey names a chart as one sort of caller may read it: a chart that an admin brought into the
// cache does not answer a caller whom the policy would refuse.
type hallKey struct {
	tenant  tenants.TenantID
	keyType tenants.KeyType
	guest   bool
	// member and grants tell members apart, who may read what lies where their roles are bound.
	member tenants.MemberID
	grants *tenants.Grants
	chart  inventory.ChartID
}

// hallCache keeps charts, which never change, up to a sum of seats.
type hallCache struct {
	inventory Inventory
	maxSeats  int
	reads     singleflight.Group

	mu      sync.Mutex
	entries *lru.Cache[hallKey, *hall]
	seats   int
}

func newHallCache(source Inventory, maxSeats int) (*hallCache, error) {
	entries, err := lru.New[hallKey, *hall](maxHalls)
	if err != nil {
		return nil, fmt.Errorf("make the cache of charts: %w", err)
	}
	return &hallCache{inventory: source, maxSeats: maxSeats, entries: entries}, nil
}

// get reads a chart for an actor. Requests that want the same chart at the same moment wait for one
// read of it, which goes on when the request that began it is given up.
func (c *hallCache) get(ctx context.Context, actor tenants.Actor, id inventory.ChartID) (*hall, error) {
	key := hallKey{tenant: actor.Tenant, keyType: actor.KeyType, guest: !actor.Session.IsZero(), member: actor.Member, grants: actor.Grants, chart: id}
	if found, ok := c.entries.Get(key); ok {
		return found, nil
	}
	name := fmt.Sprint(key.tenant, key.keyType, key.guest, key.member, key.grants, key.chart)
	results := c.reads.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hallReadTimeout)
		defer cancel()
		return c.read(ctx, actor, key)
	})
	select {
	case result := <-results:
		found, _ := result.Val.(*hall)
		return found, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *hallCache) read(ctx context.Context, actor tenants.Actor, key hallKey) (*hall, error) {
	chart, err := c.inventory.Chart(ctx, actor, key.chart)
	if err != nil {
		return nil, err
	}
	found, err := newHall(key.chart, chart)
	if err != nil {
		return nil, err
	}
	c.keep(key, found)
	return found, nil
}

// keep adds a chart and drops the ones that were asked for longest ago until the rest fits. A chart
// that alone is too large is not kept.
func (c *hallCache) keep(key hallKey, h *hall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(h.seats) > c.maxSeats || c.entries.Contains(key) {
		return
	}
	for c.entries.Len() > 0 && (c.seats+len(h.seats) > c.maxSeats || c.entries.Len() >= maxHalls) {
		if _, oldest, ok := c.entries.RemoveOldest(); ok {
			c.seats -= len(oldest.seats)
		}
	}
	c.entries.Add(key, h)
	c.seats += len(h.seats)
}

const (
	maxHalls        = 1000
	hallReadTimeout = 30 * time.Second
)

// newHall converts a chart once for every answer that will show it.
func newHall(id inventory.ChartID, chart *charts.Chart) (*hall, error) {
	encoded, err := json.Marshal(chart)
	if err != nil {
		return nil, fmt.Errorf("hash the geometry of %s: %w", id, err)
	}
	sum := sha256.Sum256(encoded)
	h := &hall{seats: make(map[uuid.UUID]*generated.Seat, chart.SeatCount()), places: make(map[uuid.UUID]int, chart.SeatCount())}
	h.chart = generated.Chart{
		ID: id.String(), Name: chart.Name, GeometryVersion: hex.EncodeToString(sum[:16]), SeatCount: int64(chart.SeatCount()),
		Size: generated.Size{Width: chart.Size.Width, Height: chart.Size.Height}, FocalPoint: pointView(chart.FocalPoint),
		Categories: each(chart.Categories, func(c charts.Category) generated.Category {
			return generated.Category{Name: c.Name, Color: orNull(c.Color)}
		}),
		Zones: make([]generated.Zone, len(chart.Zones)),
	}
	for z := range chart.Zones {
		h.chart.Zones[z] = h.zone(id, &chart.Zones[z])
	}
	return h, nil
}

func (h *hall) zone(id inventory.ChartID, zone *charts.Zone) generated.Zone {
	view := generated.Zone{
		Name: zone.Name, Position: pointView(zone.Position), Rows: make([]generated.Row, len(zone.Rows)), Areas: each(zone.Areas, areaView),
	}
	for r := range zone.Rows {
		row := &zone.Rows[r]
		shown := generated.Row{Label: row.Label, Position: pointView(row.Position), Seats: make([]generated.Seat, len(row.Seats))}
		if row.Block > 0 {
			block := int64(row.Block)
			shown.Block = &block
		}
		for s := range row.Seats {
			shown.Seats[s] = seatView(id, charts.Place{Zone: zone, Row: row, Seat: &row.Seats[s]})
			h.seats[row.Seats[s].ID] = &shown.Seats[s]
			h.places[row.Seats[s].ID] = len(h.places)
		}
		view.Rows[r] = shown
	}
	return view
}

func seatView(chart inventory.ChartID, place charts.Place) generated.Seat {
	radius := place.Seat.Radius
	if radius == 0 {
		radius = charts.DefaultSeatRadius
	}
	return generated.Seat{
		ID: inventory.SeatID{Region: chart.Region, UUID: place.Seat.ID}.String(), Label: place.Label(), Zone: place.Zone.Name,
		Row: place.Row.Label, Number: place.Seat.Number, X: place.Seat.X, Y: place.Seat.Y, Radius: radius,
		Accessible: place.Seat.Accessible, Companion: place.Seat.Companion, Category: place.Seat.Category,
	}
}

func areaView(a charts.Area) generated.Area {
	view := generated.Area{
		Shape: generated.AreaShape(strings.ToUpper(string(a.Shape))), Position: pointView(a.Position), Rotation: a.Rotation,
		Points: each(a.Points, pointView), Color: orNull(a.Color), BorderColor: orNull(a.BorderColor), Pool: orNull(a.Pool),
	}
	if a.Size != nil {
		view.Size = &generated.Size{Width: a.Size.Width, Height: a.Size.Height}
	}
	if a.Radius != nil {
		radius := pointView(*a.Radius)
		view.Radius = &radius
	}
	if a.Text != nil {
		size := a.Text.Size
		if size == 0 {
			size = defaultTextSize
		}
		view.Text = &generated.AreaText{Text: a.Text.Text, Color: orNull(a.Text.Color), Size: size, Position: pointView(a.Text.Position)}
	}
	return view
}

// defaultTextSize is what charts.AreaText means by no size, in plan units.
const defaultTextSize = 16

func pointView(p charts.Point) generated.Point { return generated.Point{X: p.X, Y: p.Y} }
