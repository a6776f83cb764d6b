package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast/holdfast/jobs"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/tenants"
)

// demoStage is a whole installation in this process: HTTP server, sandbox payment provider and,
// once started, workers.
type demoStage struct {
	app      *app
	provider *sandbox.Server
	web      *server
	api      *apiClient
	workers  *jobs.Workers
	// platform is who sets up tenants.
	platform apiCaller
}

// demoConnections bounds the connections to the server that are kept; the race has 200 buyers.
const demoConnections = 256

// newDemoStage starts everything but the workers over a migrated database.
func newDemoStage(ctx context.Context, s *store) (stage *demoStage, err error) {
	stage = &demoStage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, stage.close(ctx))
		}
	}()
	provider, gateways, err := startSandbox(ctx, sandbox.Config{SecretKey: newSecret(), WebhookSecrets: []string{newSecret()}})
	if err != nil {
		return stage, err
	}
	stage.provider = provider
	if stage.app, err = newApp(ctx, s, gateways, discard(), appSettings{}); err != nil {
		return stage, err
	}
	handler, err := stage.app.handler(httpOptions{})
	if err != nil {
		return stage, err
	}
	listener, err := bind(ctx, "127.0.0.1:0")
	if err != nil {
		return stage, err
	}
	stage.web = serveOn(listener, handler)
	if err := provider.SetWebhookURL(stage.web.url + "/webhooks/payments/" + sandbox.Name); err != nil {
		return stage, err
	}
	key, err := tenants.BootstrapPlatformKey(ctx, s.db, "demo")
	if err != nil {
		return stage, err
	}
	stage.api = newAPIClient(stage.web.url, demoConnections)
	stage.platform = apiCaller{api: stage.api, key: key}
	return stage, nil
}

func (s *demoStage) startWorkers(ctx context.Context) (err error) {
	s.workers, err = s.app.startWorkers(ctx, workFlags{})
	return err
}

func (s *demoStage) stopWorkers(ctx context.Context) error {
	workers := s.workers
	s.workers = nil
	return stopWorkers(ctx, workers)
}

// close stops what was started, the last first. It may be called on half a stage.
func (s *demoStage) close(ctx context.Context) error {
	err := s.stopWorkers(ctx)
	if s.api != nil {
		s.api.close()
	}
	if s.web != nil {
		err = errors.Join(err, s.web.close(ctx))
	}
	if s.provider != nil {
		err = errors.Join(err, closeSandbox(ctx, s.provider))
	}
	if s.app != nil {
		s.app.close()
	}
	return err
}

// demoSeller is a tenant of its own for one scenario.
type demoSeller struct {
	stage *demoStage
	id    string
	// account is the tenant's at the payment provider.
	account string
	admin   apiCaller
	// shop is the tenant's web shop: a publishable key, to be used with a guest's session.
	shop apiCaller
}

// sells sets up a tenant with a web shop and the given sales terms.
func (s *demoStage) sells(ctx context.Context, name string, terms apiInput) (*demoSeller, error) {
	tenant, err := ask[struct {
		Tenant struct {
			ID             string `json:"id"`
			PaymentAccount string `json:"paymentAccount"`
		} `json:"tenant"`
		Secret string `json:"secret"`
	}](ctx, s.platform, `mutation ($input: CreateTenantInput!) { result: createTenant(input: $input) { tenant { id paymentAccount } secret } }`,
		setUp(apiInput{"name": name, "slug": name + "-" + randomName(), "homeRegion": demoRegion}))
	if err != nil {
		return nil, fmt.Errorf("create a tenant: %w", err)
	}
	seller := &demoSeller{stage: s, id: tenant.Tenant.ID, account: tenant.Tenant.PaymentAccount, admin: apiCaller{api: s.api, key: tenant.Secret}}
	shop, err := seller.create(ctx, "createChannel", "CreateChannelInput", apiInput{"name": "Web shop", "kind": "OWN_SITE"})
	if err != nil {
		return nil, err
	}
	key, err := ask[struct {
		Secret string `json:"secret"`
	}](ctx, seller.admin, `mutation ($input: CreateKeyInput!) { result: createKey(input: $input) { secret } }`,
		setUp(apiInput{"kind": "PUBLISHABLE", "name": "Web shop", "channel": shop}))
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	seller.shop = apiCaller{api: s.api, key: key.Secret}
	if terms != nil {
		if _, err := ask[struct{}](ctx, seller.admin, `mutation ($input: SetTermsInput!) { result: setTerms(input: $input) { holdSeconds } }`,
			map[string]any{"input": terms}); err != nil {
			return nil, fmt.Errorf("set the terms: %w", err)
		}
	}
	return seller, nil
}

// demoRegion is where all stock of the demo lives.
const demoRegion = "eu"

// setUp is the variables of a mutation that makes something, with a request key.
func setUp(input apiInput) map[string]any {
	input["requestKey"] = randomName()
	return map[string]any{"input": input}
}

// create runs a mutation that makes something, and is the new thing's id.
func (s *demoSeller) create(ctx context.Context, mutation, inputType string, input apiInput) (string, error) {
	made, err := ask[struct {
		ID string `json:"id"`
	}](ctx, s.admin, `mutation ($input: `+inputType+`!) { result: `+mutation+`(input: $input) { id } }`, setUp(input))
	if err != nil {
		return "", fmt.Errorf("%s: %w", mutation, err)
	}
	return made.ID, nil
}

func demoSite(name string) apiInput {
	return apiInput{"region": demoRegion, "name": name, "timeZone": "Europe/Vienna", "currency": "EUR", "country": "AT", "city": "Vienna"}
}

// demoHall is a show in a hall of one row of numbered seats, with standing room beside it when it
// has a pool.
type demoHall struct {
	seller *demoSeller
	show   string
	// seatIDs are the seats by their number, from 1; numbers are the other way round.
	seatIDs map[int]string
	numbers map[string]int
	pool    string
}

// Prices of the demo, in cents.
const (
	demoSeatMinor  = 4500
	demoPoolMinor  = 2000
	demoNightMinor = 12000
)

// hall puts a show on sale.
func (s *demoSeller) hall(ctx context.Context, seats, standing int) (*demoHall, error) {
	venue, err := s.create(ctx, "createVenue", "CreateSiteInput", demoSite("City hall"))
	if err != nil {
		return nil, err
	}
	chart, err := s.importRow(ctx, venue, seats)
	if err != nil {
		return nil, err
	}
	event, err := s.create(ctx, "createEvent", "CreateEventInput", apiInput{"venue": venue, "name": "Concert"})
	if err != nil {
		return nil, err
	}
	show := apiInput{
		"event": event, "chart": chart, "name": "Concert", "startsAt": time.Now().AddDate(0, 2, 0).UTC().Format(time.RFC3339),
		"priceLevels": []apiInput{
			{"name": "Stalls", "amountMinor": demoSeatMinor, "categories": []string{"Stalls"}},
			{"name": "Standing", "amountMinor": demoPoolMinor},
		},
	}
	if standing > 0 {
		show["pools"] = []apiInput{{"name": "Standing", "priceLevel": "Standing", "capacity": standing}}
	}
	hall := &demoHall{seller: s, seatIDs: map[int]string{}, numbers: map[string]int{}}
	if hall.show, err = s.create(ctx, "createShow", "CreateShowInput", show); err != nil {
		return nil, err
	}
	if err := hall.readSeats(ctx); err != nil {
		return nil, err
	}
	if len(hall.seatIDs) != seats {
		return nil, fmt.Errorf("expected a show of %d seats, saw %d", seats, len(hall.seatIDs))
	}
	return hall, nil
}

// readSeats learns the ids behind the numbers that people know.
func (h *demoHall) readSeats(ctx context.Context) error {
	show, err := ask[struct {
		SeatMap struct {
			Seats []struct {
				SeatID string `json:"seatId"`
				Seat   struct {
					Number string `json:"number"`
				} `json:"seat"`
			} `json:"seats"`
		} `json:"seatMap"`
		Pools []struct {
			ID string `json:"id"`
		} `json:"pools"`
	}](ctx, h.seller.shop, `query ($id: ID!) { result: show(id: $id) { seatMap { seats { seatId seat { number } } } pools { id } } }`,
		map[string]any{"id": h.show})
	if err != nil {
		return fmt.Errorf("read the seats of the show: %w", err)
	}
	for _, seat := range show.SeatMap.Seats {
		number, err := strconv.Atoi(seat.Seat.Number)
		if err != nil {
			return fmt.Errorf("read the number of a seat: %w", err)
		}
		h.seatIDs[number], h.numbers[seat.SeatID] = seat.SeatID, number
	}
	for _, pool := range show.Pools {
		h.pool = pool.ID
	}
	return nil
}

// importRow stores a chart of one row of seats.
func (s *demoSeller) importRow(ctx context.Context, venue string, seats int) (string, error) {
	const pitch = 25
	row := make([]apiInput, seats)
	for i := range row {
		number := strconv.Itoa(i + 1)
		row[i] = apiInput{"seat_number": number, "seat_guid": "A-" + number, "position": apiInput{"x": i * pitch, "y": 0}, "category": "Stalls"}
	}
	plan, err := json.Marshal(apiInput{
		"name": "City hall", "categories": []apiInput{{"name": "Stalls", "color": "#1565C0"}},
		"zones": []apiInput{{
			"name": "Stalls", "position": apiInput{"x": 0, "y": 0}, "areas": []apiInput{},
			"rows": []apiInput{{"row_number": "A", "row_number_position": "start", "position": apiInput{"x": 0, "y": pitch}, "seats": row}},
		}},
		"size": apiInput{"width": (seats + 1) * pitch, "height": 3 * pitch},
	})
	if err != nil {
		return "", fmt.Errorf("encode the plan: %w", err)
	}
	chart, err := ask[struct {
		ID      string `json:"id"`
		Message string `json:"message"`
	}](ctx, s.admin, `mutation ($input: ImportChartInput!) { result: importChart(input: $input) { ... on Chart { id } ... on ChartRejected { message } } }`,
		setUp(apiInput{"venue": venue, "plan": string(plan)}))
	if err != nil {
		return "", fmt.Errorf("import a chart: %w", err)
	}
	if chart.ID == "" {
		return "", fmt.Errorf("expected the chart to be stored, saw %q", chart.Message)
	}
	return chart.ID, nil
}

// demoShowView is a show as the public sees it.
type demoShowView struct {
	SeatMap struct {
		AsOf  time.Time `json:"asOf"`
		Seats []struct {
			SeatID string `json:"seatId"`
			Status string `json:"status"`
		} `json:"seats"`
	} `json:"seatMap"`
	Pools []struct {
		ID        string `json:"id"`
		Available int    `json:"available"`
	} `json:"pools"`
}

func (h *demoHall) view(ctx context.Context) (demoShowView, error) {
	view, err := ask[demoShowView](ctx, h.seller.shop,
		`query ($id: ID!) { result: show(id: $id) { seatMap { asOf seats { seatId status } } pools { id available } } }`,
		map[string]any{"id": h.show})
	if err != nil {
		return view, fmt.Errorf("read the show: %w", err)
	}
	return view, nil
}

// seats is a line of a request: seats by number.
func (h *demoHall) seats(numbers ...int) apiInput {
	chosen := make([]string, len(numbers))
	for i, number := range numbers {
		chosen[i] = h.seatIDs[number]
	}
	return seatsInput(h.show, chosen...)
}

// expect checks the status of seats by number, as the public sees it.
func (h *demoHall) expect(ctx context.Context, status string, numbers ...int) error {
	view, err := h.view(ctx)
	if err != nil {
		return err
	}
	now := map[int]string{}
	for _, state := range view.SeatMap.Seats {
		now[h.numbers[state.SeatID]] = state.Status
	}
	for _, number := range numbers {
		if now[number] != status {
			return fmt.Errorf("expected seat %d to be %s, saw %s", number, status, now[number])
		}
	}
	return nil
}

// passed waits until the database's clock is past an instant.
func (h *demoHall) passed(ctx context.Context, instant time.Time) error {
	return poll(ctx, "the deadline to pass", func(ctx context.Context) (bool, string, error) {
		view, err := h.view(ctx)
		return view.SeatMap.AsOf.After(instant), view.SeatMap.AsOf.String(), err
	})
}

// demoHotel is a hotel with one room.
type demoHotel struct {
	seller   *demoSeller
	property string
	roomType string
	// first is the first night that is on sale.
	first time.Time
}

// hotel puts its room on sale on each of so many nights from a month ahead.
func (s *demoSeller) hotel(ctx context.Context, nights int) (*demoHotel, error) {
	h := &demoHotel{seller: s, first: time.Now().UTC().AddDate(0, 1, 0)}
	var err error
	if h.property, err = s.create(ctx, "createProperty", "CreateSiteInput", demoSite("Grand hotel")); err != nil {
		return nil, err
	}
	if h.roomType, err = s.create(ctx, "createRoomType", "CreateRoomTypeInput", apiInput{"property": h.property, "name": "Double", "maxGuests": 2}); err != nil {
		return nil, err
	}
	set, err := ask[struct {
		Nights int `json:"nights"`
	}](ctx, s.admin, `mutation ($input: SetNightsInput!) { result: setNights(input: $input) { nights } }`, map[string]any{"input": apiInput{
		"roomType": h.roomType, "nights": apiInput{"from": h.day(0), "to": h.day(nights - 1)}, "change": apiInput{"physical": 1, "rateMinor": demoNightMinor},
	}})
	if err != nil {
		return nil, fmt.Errorf("set the nights: %w", err)
	}
	if set.Nights != nights {
		return nil, fmt.Errorf("expected %d nights to be set, saw %d", nights, set.Nights)
	}
	return h, nil
}

// day is a date so many days after the first night.
func (h *demoHotel) day(n int) string { return h.first.AddDate(0, 0, n).Format(time.DateOnly) }

// stay is a line of a request: one room from one day to another.
func (h *demoHotel) stay(checkIn, checkOut int) apiInput {
	return stayInput(h.roomType, h.day(checkIn), h.day(checkOut))
}

// expect checks how many rooms the calendar offers on the nights from the first on.
func (h *demoHotel) expect(ctx context.Context, available ...int) error {
	hotel, err := ask[struct {
		Calendar struct {
			Nights []struct {
				Night     string `json:"night"`
				Available int    `json:"available"`
			} `json:"nights"`
		} `json:"calendar"`
	}](ctx, h.seller.shop, `query ($id: ID!, $from: Date!, $to: Date!) { result: hotel(id: $id) { calendar(from: $from, to: $to) { nights { night available } } } }`,
		map[string]any{"id": h.property, "from": h.day(0), "to": h.day(len(available) - 1)})
	if err != nil {
		return fmt.Errorf("read the calendar: %w", err)
	}
	saw := map[string]int{}
	for _, night := range hotel.Calendar.Nights {
		saw[night.Night] = night.Available
	}
	for i, want := range available {
		got, listed := saw[h.day(i)]
		if !listed || got != want {
			return fmt.Errorf("expected %d rooms on %s, saw %d (listed: %t)", want, h.day(i), got, listed)
		}
	}
	return nil
}

// demoBuyer is a guest with a session.
type demoBuyer struct {
	apiCaller
	name string
}

// guest starts a session in the web shop.
func (s *demoSeller) guest(ctx context.Context, name string) (demoBuyer, error) {
	session, err := ask[struct {
		Token string `json:"token"`
	}](ctx, s.shop, apiStartSession, nil)
	if err != nil {
		return demoBuyer{}, fmt.Errorf("start a session: %w", err)
	}
	return demoBuyer{apiCaller: apiCaller{api: s.stage.api, key: s.shop.key, session: session.Token}, name: name}, nil
}

// guests are A and B, the cast of most scenarios.
func (s *demoSeller) guests(ctx context.Context) (a, b demoBuyer, err error) {
	if a, err = s.guest(ctx, "A"); err != nil {
		return a, b, err
	}
	b, err = s.guest(ctx, "B")
	return a, b, err
}

// asks places a hold and tries again while the answer is BUSY, as a client should.
func (b demoBuyer) asks(ctx context.Context, requestKey string, lines ...apiInput) (answer apiPlaced, err error) {
	err = poll(ctx, b.name+" to get an answer other than BUSY", func(ctx context.Context) (bool, string, error) {
		answer, err = b.place(ctx, requestKey, lines...)
		return answer.Code != refusalBusy, answer.Code, err
	})
	return answer, err
}

// holds places a hold that must succeed.
func (b demoBuyer) holds(ctx context.Context, lines ...apiInput) (apiHold, error) {
	answer, err := b.asks(ctx, randomName(), lines...)
	if err != nil {
		return apiHold{}, err
	}
	if answer.State != "ACTIVE" || answer.Code != "" {
		return apiHold{}, fmt.Errorf("expected %s to get a hold, saw %q %s %s", b.name, answer.State, answer.Code, answer.Message)
	}
	return answer.apiHold, nil
}

// isRefused asks for a hold that must be refused.
func (b demoBuyer) isRefused(ctx context.Context, code string, lines ...apiInput) (apiRefusal, error) {
	answer, err := b.asks(ctx, randomName(), lines...)
	if err != nil {
		return apiRefusal{}, err
	}
	if answer.ID != "" || answer.Code != code {
		return apiRefusal{}, fmt.Errorf("expected %s to be refused with %s, saw hold %q, code %q", b.name, code, answer.ID, answer.Code)
	}
	return answer.apiRefusal, nil
}

// pays checks a hold out.
func (b demoBuyer) pays(ctx context.Context, hold apiHold, token string) (apiPaid, error) {
	paid, err := ask[apiPaid](ctx, b.apiCaller, apiCheckout, setUp(apiInput{
		"hold": hold.ID, "paymentMethod": apiInput{"token": token}, "expectedTotal": hold.Total.input(), "contact": apiInput{"name": "Guest " + b.name},
	}))
	if err != nil {
		return paid, fmt.Errorf("check out: %w", err)
	}
	if paid.Code != "" {
		return paid, fmt.Errorf("expected %s to be allowed to pay, saw %s: %s", b.name, paid.Code, paid.Message)
	}
	return paid, nil
}

// books holds and pays at once.
func (b demoBuyer) books(ctx context.Context, lines ...apiInput) (apiPaid, error) {
	hold, err := b.holds(ctx, lines...)
	if err != nil {
		return apiPaid{}, err
	}
	paid, err := b.pays(ctx, hold, sandbox.TokenApprove)
	if err != nil {
		return paid, err
	}
	if paid.Booking == nil || paid.Hold.State != "CONFIRMED" {
		return paid, fmt.Errorf("expected %s to get a booking, saw hold %s and booking %v", b.name, paid.Hold.State, paid.Booking)
	}
	return paid, nil
}

// reads is a hold with its payments and its booking.
func (b demoBuyer) reads(ctx context.Context, id string) (apiHold, error) {
	hold, err := ask[*apiHold](ctx, b.apiCaller, apiReadHold, map[string]any{"id": id})
	if err != nil {
		return apiHold{}, fmt.Errorf("read the hold: %w", err)
	}
	if hold == nil {
		return apiHold{}, fmt.Errorf("expected %s to see the hold, saw null", b.name)
	}
	return *hold, nil
}

// becomes waits until a hold is in a state with its one payment in another.
func (b demoBuyer) becomes(ctx context.Context, id, state, payment string) (hold apiHold, err error) {
	err = poll(ctx, fmt.Sprintf("%s's hold to be %s with its payment %s", b.name, state, payment), func(ctx context.Context) (bool, string, error) {
		if hold, err = b.reads(ctx, id); err != nil {
			return false, "", err
		}
		if len(hold.Payments) != 1 {
			return false, "", fmt.Errorf("expected one payment of %s's hold, saw %d", b.name, len(hold.Payments))
		}
		return hold.State == state && hold.Payments[0].State == payment, hold.State + " with its payment " + hold.Payments[0].State, nil
	})
	return hold, err
}
