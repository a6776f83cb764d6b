package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/events/eventstest"
	"github.com/holdfast/holdfast/graph"
	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/payments"
	"github.com/holdfast/holdfast/payments/sandbox"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/tenants/oidc"
	"github.com/holdfast/holdfast/tenants/oidc/oidctest"
	"github.com/holdfast/holdfast/trade"
	"github.com/holdfast/holdfast/waitlist"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// noJobs takes no job: here every payment is driven by the checkout that began it.
type noJobs struct{}

func (noJobs) EnqueueTx(context.Context, pgx.Tx, ...bookings.Job) error { return nil }

func (noJobs) EnqueueDeliveriesTx(context.Context, pgx.Tx, ...events.Lane) error { return nil }

// server is the API on real services, over HTTP.
type server struct {
	t        testing.TB
	url      string
	operator client
	// issuer is whom members sign in with.
	issuer *oidctest.Issuer
}

// newServer starts the API; change adjusts its configuration.
func newServer(t testing.TB, change func(*graph.Config)) server {
	t.Helper()
	return serverOn(t, dbtest.Open(t), change)
}

func serverOn(t testing.TB, d *db.DB, change func(*graph.Config)) server {
	t.Helper()
	issuer := oidctest.New(t)
	verifier, err := oidc.New(oidc.Config{Issuers: []oidc.Issuer{{URL: issuer.URL, Audience: audience}}})
	if err != nil {
		t.Fatal(err)
	}
	s := serverWith(t, d, tenants.Config{Tokens: verifier}, change)
	s.issuer = issuer
	return s
}

func serverWith(t testing.TB, d *db.DB, identities tenants.Config, change func(*graph.Config)) server {
	t.Helper()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	provider := startProvider(t)
	gateway, err := sandbox.NewGateway(provider.GatewayConfig())
	if err != nil {
		t.Fatal(err)
	}
	tenantService := tenants.NewService(d, enforcer, identities)
	t.Cleanup(tenantService.Close)
	bookingService := bookings.NewService(d, enforcer, map[string]payments.Gateway{sandbox.Name: gateway}, noJobs{}, bookings.Config{})
	t.Cleanup(bookingService.Close)
	// Here nobody reads the feed while others write it.
	eventService, err := events.NewService(d, enforcer, eventstest.Sender(t), noJobs{}, events.Config{FeedHorizon: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	stock := inventory.NewService(d, enforcer, inventory.Announcing(bookings.NewAnnouncer(noJobs{})))
	rooms, err := admission.NewService(d, enforcer, admission.Config{Tick: 20 * time.Millisecond, Flush: 10 * time.Millisecond, Settle: 60 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rooms.Close)
	lists, err := waitlist.NewService(d, enforcer, stock, bookings.NewAnnouncer(noJobs{}), waitlist.Config{LookEvery: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	config := graph.Config{
		Tenants: tenantService, Inventory: stock, Bookings: bookingService, Advisor: bookings.NewAdvisor(d, enforcer, stock), Events: eventService, Admission: rooms,
		Trade:        trade.NewService(d, enforcer, stock),
		WaitingLists: lists,
	}
	if change != nil {
		change(&config)
	}
	handler, err := graph.NewHandler(config)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle("/reports/", handler.Reports())
	mux.Handle("/trade/", handler.Trade())
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	s := server{t: t, url: web.URL}
	secret, err := tenants.BootstrapPlatformKey(t.Context(), dbtest.Open(t), "graph tests")
	if err != nil {
		t.Fatal(err)
	}
	s.operator = s.client(secret)
	return s
}

func startProvider(t testing.TB) *sandbox.Server {
	t.Helper()
	provider, err := sandbox.NewServer(sandbox.Config{SecretKey: "sandbox-secret", WebhookSecrets: []string{"webhook-secret"}, TimeScale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := provider.Close(ctx); err != nil {
			t.Errorf("close the sandbox provider: %v", err)
		}
	})
	return provider
}

// client calls the API as somebody.
type client struct {
	server  *server
	key     string
	session string
	// tenant is what the Holdfast-Tenant header names.
	tenant string
}

func (s server) client(key string) client { return client{server: &s, key: key} }

// as is the same key with a guest's session.
func (c client) as(session string) client {
	c.session = session
	return c
}

// vars are the variables of an operation.
type vars map[string]any

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   string
	Data   json.RawMessage `json:"data"`
	Errors []replyError    `json:"errors"`
}

type replyError struct {
	Message    string         `json:"message"`
	Path       []any          `json:"path"`
	Extensions map[string]any `json:"extensions"`
}

func (e replyError) code() string  { return text(e.Extensions["code"]) }
func (e replyError) field() string { return text(e.Extensions["field"]) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// post sends an operation.
func (c client) post(query string, variables vars) reply {
	c.server.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		c.server.t.Fatal(err)
	}
	return c.send(http.MethodPost, "", bytes.NewReader(body), map[string]string{"Content-Type": "application/json"})
}

// send sends any request with the client's credentials.
func (c client) send(method, query string, body io.Reader, header map[string]string) reply {
	t := c.server.t
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.server.url+query, body)
	if err != nil {
		t.Fatal(err)
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.session != "" {
		request.Header.Set("Holdfast-Session", c.session)
	}
	if c.tenant != "" {
		request.Header.Set("Holdfast-Tenant", c.tenant)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: response.StatusCode, header: response.Header, body: string(read)}
	if len(read) > 0 && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/csv") {
		if err := json.Unmarshal(read, &r); err != nil {
			t.Fatalf("the answer is not JSON: %v\n%s", err, read)
		}
	}
	return r
}

// get must answer without errors; the data go into target.
func (c client) get(query string, variables vars, target any) {
	c.server.t.Helper()
	r := c.post(query, variables)
	if r.status != http.StatusOK || len(r.Errors) > 0 {
		c.server.t.Fatalf("%s\n%v\nanswered %d: %s", query, variables, r.status, r.body)
	}
	decoder := json.NewDecoder(bytes.NewReader(r.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		c.server.t.Fatalf("%v\n%s", err, r.body)
	}
}

// refused must answer with exactly one error.
func (c client) refused(query string, variables vars) replyError {
	c.server.t.Helper()
	r := c.post(query, variables)
	if len(r.Errors) != 1 {
		c.server.t.Fatalf("%s\n%v\nexpected one error, got %d: %s", query, variables, r.status, r.body)
	}
	return r.Errors[0]
}

// house is a tenant with a hall, a hotel and keys of every kind, all made through the API.
type house struct {
	server                                       server
	admin, partner, page                         client
	tenant, boxOffice, shop, partners, adminKey  string
	venue, chart, event, show, property          string
	stalls, balcony, standing, double, double2nd string
	// seats are the ids of the hall's seats in its order: A1 to A5 are stalls, B1 to B5 balcony.
	seats []string
}

func key() string { return uuid.NewString() }

// created is the answer of a mutation that makes something.
type created struct {
	ID string `json:"id"`
}

func newHouse(t testing.TB, s server) house {
	t.Helper()
	h := house{server: s}
	var tenant struct {
		CreateTenant struct {
			Tenant, BoxOffice, AdminKey created
			Secret                      string
		}
	}
	s.operator.get(`mutation($input: CreateTenantInput!) { createTenant(input: $input) { tenant { id } boxOffice { id } adminKey { id } secret } }`,
		vars{"input": vars{"requestKey": key(), "name": "Grand Theatre", "slug": "t-" + uuid.NewString()[:8], "homeRegion": "eu"}}, &tenant)
	h.admin = s.client(tenant.CreateTenant.Secret)
	h.tenant, h.boxOffice, h.adminKey = tenant.CreateTenant.Tenant.ID, tenant.CreateTenant.BoxOffice.ID, tenant.CreateTenant.AdminKey.ID
	h.shop = h.channel("Shop", "OWN_SITE")
	h.partners = h.channel("Partner", "PARTNER")
	h.partner = s.client(h.key("PARTNER", h.partners))
	h.page = s.client(h.key("PUBLISHABLE", h.shop))
	h.build()
	return h
}

func (h *house) channel(name, kind string) string {
	var answer struct{ CreateChannel created }
	h.admin.get(`mutation($input: CreateChannelInput!) { createChannel(input: $input) { id } }`,
		vars{"input": vars{"requestKey": key(), "name": name, "kind": kind}}, &answer)
	return answer.CreateChannel.ID
}

func (h *house) key(kind, channel string) string {
	var answer struct{ CreateKey struct{ Secret string } }
	h.admin.get(`mutation($input: CreateKeyInput!) { createKey(input: $input) { secret } }`,
		vars{"input": vars{"requestKey": key(), "kind": kind, "name": "A key", "channel": channel}}, &answer)
	return answer.CreateKey.Secret
}

func site(name string) vars {
	return vars{"requestKey": key(), "region": "eu", "name": name, "timeZone": "Europe/Vienna", "currency": "EUR", "country": "AT", "city": "Vienna"}
}

func (h *house) build() {
	t := h.server.t
	t.Helper()
	var venue struct{ CreateVenue created }
	h.admin.get(`mutation($input: CreateSiteInput!) { createVenue(input: $input) { id } }`, vars{"input": site("Hall")}, &venue)
	h.venue = venue.CreateVenue.ID
	h.chart, h.seats = h.importHall()
	var event struct{ CreateEvent created }
	h.admin.get(`mutation($input: CreateEventInput!) { createEvent(input: $input) { id } }`,
		vars{"input": vars{"requestKey": key(), "venue": h.venue, "name": "Hamlet"}}, &event)
	h.event = event.CreateEvent.ID
	show := h.newShow("Hamlet, first night", "2030-03-14T19:30:00Z")
	h.show, h.stalls, h.balcony, h.standing = show.ID, show.level("Stalls"), show.level("Balcony"), show.Pools[0].ID
	var property struct{ CreateProperty created }
	h.admin.get(`mutation($input: CreateSiteInput!) { createProperty(input: $input) { id } }`, vars{"input": site("Hotel")}, &property)
	h.property = property.CreateProperty.ID
	h.double, h.double2nd = h.roomType("Double"), h.roomType("Single")
	h.nights(h.double, "2030-03-10", "2030-03-20", vars{"physical": 3, "rateMinor": 12000})
}

// shown is a show as newShow reads it.
type shown struct {
	ID          string
	PriceLevels []struct{ ID, Name string }
	Pools       []struct{ ID, Name string }
}

func (s shown) level(name string) string {
	for _, level := range s.PriceLevels {
		if level.Name == name {
			return level.ID
		}
	}
	return ""
}

func (h *house) newShow(name, startsAt string) shown {
	var answer struct{ CreateShow shown }
	h.admin.get(`mutation($input: CreateShowInput!) { createShow(input: $input) { id priceLevels { id name } pools { id name } } }`, vars{"input": vars{
		"requestKey": key(), "event": h.event, "chart": h.chart, "name": name, "startsAt": startsAt,
		"priceLevels": []vars{
			{"name": "Stalls", "amountMinor": 5000, "categories": []string{"Front"}},
			{"name": "Balcony", "amountMinor": 3000, "categories": []string{"Back"}},
			{"name": "Standing", "amountMinor": 1500},
		},
		"pools": []vars{{"name": "Floor", "priceLevel": "Standing", "capacity": 20}},
	}}, &answer)
	return answer.CreateShow
}

func (h *house) roomType(name string) string {
	var answer struct{ CreateRoomType created }
	h.admin.get(`mutation($input: CreateRoomTypeInput!) { createRoomType(input: $input) { id } }`,
		vars{"input": vars{"requestKey": key(), "property": h.property, "name": name, "maxGuests": 2}}, &answer)
	return answer.CreateRoomType.ID
}

func (h *house) nights(roomType, from, to string, change vars) {
	var answer struct {
		SetNights struct {
			Nights   int
			Oversold []struct{ Night string }
		}
	}
	h.admin.get(`mutation($input: SetNightsInput!) { setNights(input: $input) { nights oversold { night } } }`,
		vars{"input": vars{"roomType": roomType, "nights": vars{"from": from, "to": to}, "change": change}}, &answer)
}

// guest starts a buyer's session at the tenant's own page.
func (h *house) guest() client {
	var answer struct{ StartGuestSession struct{ Token string } }
	h.page.get(`mutation { startGuestSession { token } }`, nil, &answer)
	return h.page.as(answer.StartGuestSession.Token)
}

// hallPlan has two rows of five seats; row A is the front.
func hallPlan() string {
	row := func(label, category string, y string) string {
		seats := make([]string, 5)
		for i := range seats {
			number := string(rune('1' + i))
			seats[i] = `{"seat_guid": "` + label + number + `", "seat_number": "` + number + `", "category": "` + category +
				`", "position": {"x": ` + number + `0, "y": 0}}`
		}
		return `{"row_number": "` + label + `", "position": {"x": 0, "y": ` + y + `}, "seats": [` + strings.Join(seats, ",\n") + `]}`
	}
	return `{"name": "Hall ` + uuid.NewString() + `", "size": {"width": 400, "height": 300},
	"categories": [{"name": "Front", "color": "#C62828"}, {"name": "Back"}],
	"zones": [{"name": "Hall", "position": {"x": 0, "y": 0},
	"rows": [` + row("A", "Front", "50") + `,` + row("B", "Back", "80") + `],
	"areas": [{"shape": "rectangle", "position": {"x": 0, "y": 0}, "rectangle": {"width": 200, "height": 40}, "text": {"text": "Stage", "position": {"x": 100, "y": 20}}}]}]}`
}

func (h *house) importHall() (chart string, seats []string) {
	var answer struct {
		ImportChart struct {
			ID    string
			Zones []struct {
				Rows []struct{ Seats []created }
			}
		}
	}
	h.admin.get(`mutation($input: ImportChartInput!) { importChart(input: $input) { ... on Chart { id zones { rows { seats { id } } } } } }`,
		vars{"input": vars{"requestKey": key(), "venue": h.venue, "plan": hallPlan()}}, &answer)
	for _, row := range answer.ImportChart.Zones[0].Rows {
		for _, seat := range row.Seats {
			seats = append(seats, seat.ID)
		}
	}
	return answer.ImportChart.ID, seats
}

// logs collects what is logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }
