package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/inventory"
)

// How the waiting room is measured.
const (
	benchWaiting     = "waiting-room"
	benchMaxVisitors = 1_000_000
	// benchRoomClients is over how many connections the visitors come.
	benchRoomClients = 64
	// benchRoomRate is how many visitors the room calls in a minute.
	benchRoomRate = 6000
	// benchRoomWindow and benchRoomWaits are in cells: how long places are drawn (who joins later is
	// ordered by arrival), and how long visitors are measured while they wait, because a rate of a few
	// seconds would say little.
	benchRoomWindow = 4
	benchRoomWaits  = 6
	// benchRoomPoll is how often each visitor reads the public document.
	benchRoomPoll = 20 * time.Second
	// benchRoomBuyers is how many of those who were called come in and hold.
	benchRoomBuyers = 200
	// benchRoomWait bounds the wait for the first visitor who is called.
	benchRoomWait = 2 * time.Minute
)

// benchRoom is what a crowd in a waiting room costs, and how it is let in.
type benchRoom struct {
	Visitors int `json:"visitors"`
	// JoinsPerSecond is how fast they joined, through GraphQL, and JoinStatementsPerSecond what the
	// database was asked meanwhile.
	JoinsPerSecond          float64 `json:"joinsPerSecond"`
	JoinStatementsPerSecond float64 `json:"joinStatementsPerSecond"`
	// Seconds is how long they were measured while they waited.
	Seconds float64 `json:"seconds"`
	// PollsPerSecond are reads of the public document, each by a visitor who then compares.
	PollsPerSecond float64 `json:"pollsPerSecond"`
	PollP50Ms      float64 `json:"pollP50Ms"`
	PollP99Ms      float64 `json:"pollP99Ms"`
	DocumentBytes  int     `json:"documentBytes"`
	// StatementsPerSecond is what the database was asked while they waited, each BEGIN and COMMIT too.
	StatementsPerSecond float64 `json:"statementsPerSecond"`
	// RatePerMinute is the room's, CalledPerMinute what its watermark did, and Deviation their difference
	// over the rate.
	RatePerMinute   int64   `json:"ratePerMinute"`
	CalledPerMinute float64 `json:"calledPerMinute"`
	Deviation       float64 `json:"deviation"`
	// Admitted came in afterwards and held a place; StatementsPerAdmission is what a session, a grant and
	// a hold cost together.
	Admitted               int     `json:"admitted"`
	StatementsPerAdmission float64 `json:"statementsPerAdmission"`
	// PeakBytes is the server process's memory.
	PeakBytes int64 `json:"peakBytes"`
}

type benchVisitor struct {
	token string
	order int64
}

type apiTicket struct {
	Code       string `json:"code"`
	Token      string `json:"token"`
	Order      int64  `json:"order"`
	StatusPath string `json:"statusPath"`
}

const (
	apiJoinRoom = `mutation ($input: JoinWaitingRoomInput!) { result: joinWaitingRoom(input: $input) {
	... on WaitingRoomTicket { token order statusPath }
	... on WaitingRoomRefused { code }
} }`
	apiAdmit = `mutation ($input: AdmitVisitorInput!) { result: admitVisitor(input: $input) {
	... on AdmissionGrant { id }
	... on WaitingRoomRefused { code }
} }`
)

// measureRoom has visitors join the waiting room of a show and wait, over real HTTP against a server
// process whose statements are counted on the wire.
func measureRoom(ctx context.Context, a *app, config benchConfig, say func(string, ...any)) (_ *benchRoom, err error) {
	stock := &benchStock{app: a, shards: config.Shards}
	venue, err := stock.makeTenant(ctx, "waiting-room")
	if err != nil {
		return nil, err
	}
	event, err := a.inventory.CreateEvent(ctx, stock.actor, "event", inventory.NewEvent{Venue: venue, Name: "Benchmark"})
	if err != nil {
		return nil, err
	}
	if stock.show, err = a.inventory.CreateShow(ctx, stock.actor, "show", inventory.NewShow{
		Event: event, Name: "Show", StartsAt: time.Now().AddDate(0, 2, 0), PriceLevels: []inventory.NewPriceLevel{{Name: "Seat", AmountMinor: benchSeatMinor}},
		Pools: []inventory.NewPool{{Name: "Standing", PriceLevel: "Seat", Capacity: benchPlaces, Shards: int64(config.Shards)}},
	}); err != nil {
		return nil, err
	}
	if err := stock.findPool(ctx); err != nil {
		return nil, err
	}
	wire, err := startStatementWire(ctx, a.store.url)
	if err != nil {
		return nil, err
	}
	defer wire.close()
	server, err := startBenchServer(ctx, config.Server, wire.url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	stock.api = newAPIClient(server.url, benchRoomClients)
	defer stock.api.close()
	now, err := inventory.Now(ctx, a.store.db.Pool())
	if err != nil {
		return nil, err
	}
	if _, err := a.admission.Open(ctx, stock.actor, "room", admission.NewRoom{
		Show: stock.show, OpensAt: now, ClosesAt: now.Add(24 * time.Hour), Window: benchRoomWindow * config.measured(),
		RatePerMinute: benchRoomRate, GrantLifetime: time.Hour, HoldsPerGrant: 1,
	}); err != nil {
		return nil, err
	}
	crowd := &benchCrowd{stock: stock, server: server, wire: wire, report: &benchRoom{Visitors: config.Visitors, RatePerMinute: benchRoomRate}}
	if err := crowd.join(ctx); err != nil {
		return nil, err
	}
	say("  %d visitors joined at %.0f a second; the database was asked %.1f statements a second", config.Visitors, crowd.report.JoinsPerSecond, crowd.report.JoinStatementsPerSecond)
	if err := crowd.wait(ctx, benchRoomWaits*config.measured()); err != nil {
		return nil, err
	}
	say("  they read the room %.0f times a second; %.1f statements a second; called %.0f a minute of %d", crowd.report.PollsPerSecond, crowd.report.StatementsPerSecond,
		crowd.report.CalledPerMinute, crowd.report.RatePerMinute)
	if err := crowd.comeIn(ctx); err != nil {
		return nil, err
	}
	crowd.report.PeakBytes = server.memory().peak
	return crowd.report, nil
}

// benchCrowd is visitors of one room.
type benchCrowd struct {
	stock    *benchStock
	server   *benchServer
	wire     *statementWire
	report   *benchRoom
	visitors []benchVisitor
	path     string
}

// join has every visitor join once, each with a secret of their own and no session.
func (c *benchCrowd) join(ctx context.Context) error {
	c.visitors = make([]benchVisitor, c.report.Visitors)
	caller := apiCaller{api: c.stock.api, key: c.stock.key}
	started, statements := time.Now(), c.wire.statements.Load()
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range benchRoomClients {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(c.visitors) {
					return nil
				}
				ticket, err := ask[apiTicket](ctx, caller, apiJoinRoom, map[string]any{
					"input": map[string]any{"show": c.stock.show.String(), "visitor": uuid.NewString()},
				})
				if err != nil {
					return fmt.Errorf("join the waiting room: %w", err)
				}
				if ticket.Token == "" {
					return fmt.Errorf("join the waiting room: refused: %s", ticket.Code)
				}
				c.visitors[i] = benchVisitor{token: ticket.Token, order: ticket.Order}
				if i == 0 {
					c.path = ticket.StatusPath
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(started).Seconds()
	c.report.JoinsPerSecond = rounded(float64(len(c.visitors))/took, 1)
	c.report.JoinStatementsPerSecond = rounded(float64(c.wire.statements.Load()-statements)/took, 10)
	slices.SortFunc(c.visitors, func(a, b benchVisitor) int { return int(a.order - b.order) })
	return nil
}

// roomDocument is what a visitor reads of the room.
type roomDocument struct {
	AsOf      time.Time `json:"asOf"`
	Watermark int64     `json:"watermark"`
}

// read reads the public document as a visitor.
func (c *benchCrowd) read(ctx context.Context) (roomDocument, int, error) {
	var document roomDocument
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.url+c.path, nil)
	if err != nil {
		return document, 0, fmt.Errorf("read the waiting room: %w", err)
	}
	response, err := c.stock.api.http.Do(request)
	if err != nil {
		return document, 0, fmt.Errorf("read the waiting room: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, apiMaxResponseBytes))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	if err == nil {
		err = json.Unmarshal(body, &document)
	}
	if err != nil {
		return document, 0, fmt.Errorf("read the waiting room: %w", err)
	}
	return document, len(body), nil
}

// called is how many visitors a watermark has called.
func (c *benchCrowd) called(watermark int64) int {
	n, _ := slices.BinarySearchFunc(c.visitors, watermark+1, func(v benchVisitor, order int64) int { return int(v.order - order) })
	return n
}

// wait has every visitor read the document in turn, once a poll interval, and compare.
func (c *benchCrowd) wait(ctx context.Context, measured time.Duration) error {
	deadline := time.Now().Add(benchRoomWait)
	first, _, err := c.read(ctx)
	for ; err == nil && c.called(first.Watermark) == 0; first, _, err = c.read(ctx) {
		if time.Now().After(deadline) {
			return errors.New("the waiting room calls nobody")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	if err != nil {
		return err
	}
	started, statements := time.Now(), c.wire.statements.Load()
	pause := benchRoomPoll / time.Duration(len(c.visitors))
	var next atomic.Int64
	took := make([][]time.Duration, benchRoomClients)
	var size atomic.Int64
	group, polling := errgroup.WithContext(ctx)
	for i := range benchRoomClients {
		group.Go(func() error {
			for {
				due := started.Add(time.Duration(next.Add(1)-1) * pause)
				if due.Sub(started) >= measured || time.Since(started) >= measured {
					return nil
				}
				select {
				case <-polling.Done():
					return polling.Err()
				case <-time.After(time.Until(due)):
				}
				begun := time.Now()
				_, n, err := c.read(polling)
				if err != nil {
					return err
				}
				took[i] = append(took[i], time.Since(begun))
				size.Store(int64(n))
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	seconds := time.Since(started).Seconds()
	c.report.StatementsPerSecond = rounded(float64(c.wire.statements.Load()-statements)/seconds, 10)
	last, _, err := c.read(ctx)
	if err != nil {
		return err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	at := func(share float64) float64 {
		return rounded(all[int(share*float64(len(all)-1))].Seconds()*1000, 10)
	}
	c.report.Seconds, c.report.PollsPerSecond = rounded(seconds, 10), rounded(float64(len(all))/seconds, 1)
	c.report.PollP50Ms, c.report.PollP99Ms, c.report.DocumentBytes = at(0.5), at(0.99), int(size.Load())
	c.report.CalledPerMinute = rounded(float64(c.called(last.Watermark)-c.called(first.Watermark))/last.AsOf.Sub(first.AsOf).Minutes(), 10)
	c.report.Deviation = rounded(c.report.CalledPerMinute/float64(c.report.RatePerMinute)-1, 10_000)
	return nil
}

// comeIn has some of those who were called start a session, come in, and hold one place each.
func (c *benchCrowd) comeIn(ctx context.Context) error {
	document, _, err := c.read(ctx)
	if err != nil {
		return err
	}
	n := min(c.called(document.Watermark), benchRoomBuyers)
	statements := c.wire.statements.Load()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, visitor := range c.visitors[:n] {
		group.Go(func() error {
			session, err := ask[struct {
				Token string `json:"token"`
			}](ctx, apiCaller{api: c.stock.api, key: c.stock.key}, apiStartSession, nil)
			if err != nil {
				return err
			}
			guest := apiCaller{api: c.stock.api, key: c.stock.key, session: session.Token}
			grant, err := ask[struct{ ID, Code string }](ctx, guest, apiAdmit, map[string]any{"input": map[string]any{"token": visitor.token}})
			if err != nil {
				return err
			}
			if grant.ID == "" {
				return fmt.Errorf("come in from the waiting room: refused: %s", grant.Code)
			}
			held, err := ask[apiPlaced](ctx, guest, apiBenchHold, map[string]any{"input": map[string]any{
				"requestKey": uuid.NewString(), "lines": []apiInput{poolInput(c.stock.pool.String(), 1)}, "grant": grant.ID,
			}})
			if err == nil && held.Code != "" {
				err = fmt.Errorf("hold with a grant: refused: %s", held.Code)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.report.Admitted = n
	if n > 0 {
		c.report.StatementsPerAdmission = rounded(float64(c.wire.statements.Load()-statements)/float64(n), 10)
	}
	return nil
}

func (b *benchRoom) print(out io.Writer) {
	const mib = 1 << 20
	fmt.Fprintf(out, "\nWaiting room of %d visitors: joined at %.0f a second (%.1f statements a second), read the room %.0f times a second (p99 %.1f ms, %d bytes)"+
		" with %.1f statements a second; called %.0f a minute of %d (%+.1f %%); a session, a grant and a hold are %.1f statements; server at most %d MiB.\n",
		b.Visitors, b.JoinsPerSecond, b.JoinStatementsPerSecond, b.PollsPerSecond, b.PollP99Ms, b.DocumentBytes, b.StatementsPerSecond,
		b.CalledPerMinute, b.RatePerMinute, 100*b.Deviation, b.StatementsPerAdmission, b.PeakBytes/mib)
}
