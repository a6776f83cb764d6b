package graph_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	graphql "github.com/vektah/gqlparser/v2/ast"

	"github.com/holdfast/holdfast/internal/dbtest"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants"
)

// A walk goes over every id that any query or mutation takes, as the schema itself tells them, so
// that an operation that is added is tested without anybody remembering to.

// place is where an operation takes an id.
type place struct {
	operation graphql.Operation
	field     *graphql.FieldDefinition
	// path is as extensions.field says it, such as input.lines[0].seats.show.
	path string
	// kind is the id's prefix.
	kind string
}

func (p place) String() string { return p.field.Name + " " + p.path }

// idKinds says what kind of id a field takes, by its name.
func idKinds() map[string]string {
	return map[string]string{
		"show": "show", "seats": "seat", "seat": "seat", "pool": "pool", "roomType": "room", "venue": "venue", "event": "event", "chart": "chart",
		"presaleCode": "presale", "allotment": "allotment", "Query.allotment": "allotment", "grant": "grant",
		"job": "nights", "Query.nightsJob": "nights", "block": "block", "fromBlock": "block", "toBlock": "block", "Query.seatBlock": "block",
		"shows": "show", "properties": "prop", "ratePlan": "plan", "ratePlans": "plan", "parent": "plan",
		"property": "prop", "priceLevel": "level", "priceLevels": "level", "hold": "hold", "booking": "book", "tenant": "tenant", "channel": "chan", "key": "key", "refund": "refund",
		"promotion": "promotion", "roomTypes": "room",
		"change": "change", "newRoomType": "room",
		"member": "member", "binding": "bind", "customerSecret": "csec",
		"waitingListEntry": "wait", "Query.waitingListEntry": "wait",
		"endpoint": "endpoint", "events": "evt", "Query.webhookEndpoint": "endpoint",
		"physicalRoom": "door", "Query.physicalRoom": "door", "outOfOrder": "ooo",
		"Query.show": "show", "Query.chart": "chart", "Query.venue": "venue", "Query.hotel": "prop", "Query.hold": "hold",
		"Query.booking": "book", "Query.tenant": "tenant",
	}
}

func places(t *testing.T) []place {
	t.Helper()
	s := schema()
	var found []place
	for operation, root := range map[graphql.Operation]*graphql.Definition{graphql.Query: s.Query, graphql.Mutation: s.Mutation} {
		for _, field := range root.Fields {
			for _, argument := range field.Arguments {
				walk(s, argument.Name, argument.Name, argument.Type, func(path, name string) {
					kind := idKinds()[name]
					if name == "id" {
						kind = idKinds()["Query."+field.Name]
					}
					if kind == "" && field.Name != "node" {
						t.Errorf("say in idKinds what kind of id %s of %s takes", path, field.Name)
					}
					found = append(found, place{operation: operation, field: field, path: path, kind: kind})
				})
			}
		}
	}
	return found
}

// walk finds the ids below an argument.
func walk(s *graphql.Schema, path, name string, typ *graphql.Type, visit func(path, name string)) {
	if typ.Elem != nil {
		walk(s, path+"[0]", name, typ.Elem, visit)
		return
	}
	if typ.NamedType == "ID" {
		visit(path, name)
	}
	if definition := s.Types[typ.NamedType]; definition.Kind == graphql.InputObject {
		for _, field := range definition.Fields {
			walk(s, path+"."+field.Name, field.Name, field.Type, visit)
		}
	}
}

// filler makes the variables of an operation: valid in all that is required, the tenant's own ids,
// and the given id at the chosen place.
type filler struct {
	schema *graphql.Schema
	own    map[string]string
	chosen string
	id     string
}

func (f filler) variables(p place) vars {
	variables := vars{}
	for _, argument := range p.field.Arguments {
		if value, ok := f.value(argument.Name, argument.Name, argument.Type, argument.DefaultValue != nil); ok {
			variables[argument.Name] = value
		}
	}
	return variables
}

func (f filler) value(path, name string, typ *graphql.Type, hasDefault bool) (any, bool) {
	inside := f.chosen == path || strings.HasPrefix(f.chosen, path+".") || strings.HasPrefix(f.chosen, path+"[")
	if !inside && (!typ.NonNull || hasDefault) {
		return nil, false
	}
	if typ.Elem != nil {
		value, _ := f.value(path+"[0]", name, typ.Elem, false)
		return []any{value}, true
	}
	definition := f.schema.Types[typ.NamedType]
	switch {
	case f.chosen == path:
		return f.id, true
	case typ.NamedType == "ID":
		return f.own[idKinds()[name]], true
	case definition.Kind == graphql.InputObject:
		fields := vars{}
		for _, field := range definition.Fields {
			if value, ok := f.value(path+"."+field.Name, field.Name, field.Type, field.DefaultValue != nil); ok {
				fields[field.Name] = value
			}
		}
		return fields, true
	case definition.Kind == graphql.Enum:
		return enumValue(definition), true
	}
	return scalarValue(name, typ.NamedType), true
}

func enumValue(definition *graphql.Definition) string {
	if definition.Name == "KeyType" {
		// The one kind that neither needs a channel nor is refused with one of a box office.
		return "ADMIN"
	}
	return definition.EnumValues[len(definition.EnumValues)-1].Name
}

func scalarValue(name, typ string) any {
	switch {
	case typ == "Boolean":
		return true
	case typ == "Date" && (name == "to" || name == "checkOut"):
		return "2030-03-15"
	case typ == "Date":
		return "2030-03-14"
	case typ == "DateTime":
		return "2030-03-14T19:30:00Z"
	case typ == "Int" || typ == "Int64":
		return 1
	case name == "requestKey":
		return key()
	case name == "plan":
		return hallPlan()
	case name == "cutoffTime":
		return "18:00"
	case name == "code":
		return "BAR"
	case name == "currency":
		return "EUR"
	case name == "verifier":
		return ""
	case typ == "DateTime" && name == "closesAt":
		return "2030-03-15T19:30:00Z"
	case name == "basisPoints" || name == "minNights":
		return 1
	case name == "codes":
		return "FRIENDS-2030"
	case name == "url":
		return "https://example.com/hooks"
	case name == "token":
		return "tok_approve"
	case name == "priceLevel" || name == "name":
		return "Name"
	}
	return "eu"
}

// operation asks for as little as says what happened.
func operation(s *graphql.Schema, p place) string {
	var declared, passed []string
	for _, argument := range p.field.Arguments {
		declared = append(declared, "$"+argument.Name+": "+argument.Type.String()+defaultOf(argument))
		passed = append(passed, argument.Name+": $"+argument.Name)
	}
	selection := "__typename"
	definition := s.Types[p.field.Type.Name()]
	if definition.Kind == graphql.Union {
		for _, member := range s.GetPossibleTypes(definition) {
			for _, i := range member.Interfaces {
				if i == "Refusal" {
					selection = "__typename ... on Refusal { code message }"
				}
			}
		}
	}
	if strings.HasSuffix(definition.Name, "Connection") {
		selection = "nodes { __typename }"
	}
	return fmt.Sprintf("%s(%s) { %s(%s) { %s } }", p.operation, strings.Join(declared, ", "), p.field.Name, strings.Join(passed, ", "), selection)
}

func defaultOf(argument *graphql.ArgumentDefinition) string {
	if argument.DefaultValue == nil {
		return ""
	}
	return " = " + argument.DefaultValue.String()
}

// ids of what a tenant has, by kind, with a booking and a live hold of a guest.
func (h *house) ids() (own map[string]string, guest client) {
	h.server.t.Helper()
	guest = h.guest()
	bought := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	sale := h.checkout(guest, vars{
		"requestKey": key(), "hold": bought.ID, "paymentMethod": vars{"token": "tok_approve"}, "expectedTotal": vars{"amountMinor": 1500, "currency": "EUR"},
	})
	if sale.Booking == nil {
		h.server.t.Fatalf("nothing was booked: %+v", sale)
	}
	hold := h.hold(guest, vars{"pool": vars{"pool": h.standing, "quantity": 1}})
	refund := h.refund(sale.Booking.ID, 1)
	wait := h.waitFor(guest, vars{"stay": vars{"roomType": h.double, "checkIn": "2030-03-14", "checkOut": "2030-03-15", "rooms": 9}})
	member, _ := h.invite()
	bound := h.bind(member.ID, "AUDITOR", nil)
	door, period := h.roomOutOfOrder()
	return map[string]string{
		"member": member.ID, "bind": bound.Roles[0].ID, "csec": h.customerSecret(h.partners).ID,
		"show": h.show, "seat": h.seats[0], "pool": h.standing, "room": h.double, "venue": h.venue, "event": h.event, "chart": h.chart,
		"prop": h.property, "level": h.stalls, "hold": hold.ID, "book": sale.Booking.ID, "tenant": h.tenant, "chan": h.boxOffice, "key": h.adminKey,
		"presale": h.presaleCode(), "allotment": h.allotment(), "promotion": h.promotion(), "grant": h.grant(guest),
		"plan":   h.ratePlan("FLEX"),
		"wait":   wait,
		"nights": h.nightsJob(), "block": h.houseSeats(h.seats[9]),
		"refund": refund, "door": door, "ooo": period,
		"change": h.stayChange(),
		"evt":    h.changeEvents(h.admin)[0].ID, "endpoint": h.endpoint(h.admin, vars{}).Endpoint.ID,
	}, guest
}

// everybody is one client for each sort of credential that a tenant has.
func (h *house) everybody(guest client) map[string]client {
	all := map[string]client{"admin": h.admin, "partner": h.partner, "page": h.page, "guest": guest}
	for kind, channel := range map[string]string{"ADMIN": h.boxOffice, "PARTNER": h.partners, "PUBLISHABLE": h.shop} {
		all["test "+kind] = h.server.client(h.testKey(kind, channel))
	}
	for role, scopes := range memberScopes(h) {
		for name, scope := range scopes {
			all[role+" of "+name] = h.staff(role, scope)
		}
	}
	return all
}

// memberScopes are the roles of members, each with all that it can be bound to in a house.
func memberScopes(h *house) map[string]map[string]vars {
	all := map[tenants.ScopeKind]vars{
		tenants.ScopeKindTenant: nil, tenants.ScopeKindProperty: {"property": h.property}, tenants.ScopeKindVenue: {"venue": h.venue}, tenants.ScopeKindShow: {"show": h.show},
	}
	scopes := map[string]map[string]vars{}
	for _, role := range tenants.MemberRoles() {
		scopes[string(role.Role)] = map[string]vars{}
		for _, kind := range role.Scopes {
			scopes[string(role.Role)][string(kind)] = all[kind]
		}
	}
	return scopes
}

func (h *house) testKey(kind, channel string) string {
	var answer struct{ CreateKey struct{ Secret string } }
	h.admin.get(`mutation($input: CreateKeyInput!) { createKey(input: $input) { secret } }`,
		vars{"input": vars{"requestKey": key(), "kind": kind, "mode": "TEST", "name": "A test key", "channel": channel}}, &answer)
	return answer.CreateKey.Secret
}

// R71, R73: an id of another tenant and an id that never existed are answered byte for byte alike, wherever an
// operation takes one and whoever asks; and whatever was asked, nothing of the other tenant has changed.
func TestForeignIDsAreAnsweredLikeRandomOnes(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	own, guest := h.ids()
	foreign, _ := other.ids()
	before := digest(t, other.tenant)
	for who, as := range h.everybody(guest) {
		askAboutForeign(t, who, as, own, foreign)
	}
	if after := digest(t, other.tenant); after != before {
		t.Errorf("rows of the other tenant have changed:\n%s\nwere\n%s", after, before)
	}
}

// askAboutForeign asks for foreign ids at every place that takes one.
func askAboutForeign(t *testing.T, who string, as client, own, foreign map[string]string) {
	t.Helper()
	for _, p := range places(t) {
		kinds := []string{p.kind}
		if p.field.Name == "node" {
			kinds = nodeKinds()
		}
		for _, kind := range kinds {
			if foreign[kind] == "" {
				continue
			}
			ask := func(id string) string {
				f := filler{schema: schema(), own: own, chosen: p.path, id: id}
				return as.post(operation(f.schema, p), f.variables(p)).body
			}
			theirs, nobodys := ask(foreign[kind]), ask(randomID(foreign[kind]))
			if theirs != nobodys {
				t.Errorf("%s, %s of %s:\nanother's: %s\nnobody's:  %s", who, kind, p, theirs, nobodys)
			}
			if strings.Contains(theirs, "INTERNAL") || !isRefused(p, theirs) {
				t.Errorf("%s, %s of %s is answered with %s", who, kind, p, theirs)
			}
		}
	}
}

func nodeKinds() []string {
	return []string{
		"tenant", "prop", "venue", "chan", "key", "member", "event", "show", "chart", "room", "plan", "nights", "hold", "allotment", "block", "book", "evt", "endpoint",
		"tenant", "prop", "venue", "chan", "key", "member", "event", "show", "chart", "room", "nights", "hold", "allotment", "block", "book", "evt", "endpoint", "door",
		"tenant", "prop", "venue", "chan", "key", "member", "event", "show", "chart", "room", "nights", "hold", "allotment", "block", "book", "wait", "evt", "endpoint",
	}
}

// digest is what the database has of a tenant, table by table.
func digest(t *testing.T, tenant string) string {
	t.Helper()
	id, err := ids.ParseGlobal[tenants.TenantKind](tenant)
	if err != nil {
		t.Fatal(err)
	}
	pool := dbtest.Open(t).Pool()
	rows, err := pool.Query(t.Context(), `SELECT table_name::text FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("tables: %v, %v", tables, err)
	}
	var text strings.Builder
	for _, table := range tables {
		var count int64
		var content string
		// A table's name is no parameter.
		if err := pool.QueryRow(t.Context(), "SELECT count(*), md5(COALESCE(string_agg(x.t, ',' ORDER BY x.t), '')) FROM (SELECT "+pgx.Identifier{table}.Sanitize()+"::text AS t FROM "+pgx.Identifier{table}.Sanitize()+" WHERE tenant_id = $1) AS x", id.UUID).Scan(&count, &content); err != nil {
			t.Fatalf("read %s: %v", table, err)
		}
		fmt.Fprintf(&text, "%s %d %s\n", table, count, content)
	}
	return text.String()
}

// A role that is bound to one property, venue or show says of everything else in its own tenant what it
// says of what does not exist, or that it may not: whichever, the same for both.
func TestPlacesOfOthersAreAnsweredLikeRandomOnes(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	beside := newPlaceBeside(h)
	own, _ := h.ids()
	there, _ := beside.ids()
	// What belongs to no place is not what this is about.
	for _, kind := range []string{"tenant", "chan", "key", "member", "bind", "endpoint", "evt", "refund", "csec"} {
		delete(there, kind)
	}
	before := digest(t, h.tenant)
	for role, scopes := range memberScopes(&h) {
		for name, scope := range scopes {
			if scope == nil {
				continue
			}
			askAboutForeign(t, role+" of "+name, h.staff(role, scope), own, there)
		}
	}
	// That there are more members is all that is new.
	was := strings.Split(before, "\n")
	for i, line := range strings.Split(digest(t, h.tenant), "\n") {
		switch table, _, _ := strings.Cut(line, " "); table {
		case "members", "member_bindings", "member_versions", "requests", "audit_entries":
		default:
			if line != was[i] {
				t.Errorf("rows of %s have changed", table)
			}
		}
	}
}

// newPlaceBeside is another hall and hotel of the same tenant.
func newPlaceBeside(h house) house {
	h.server.t.Helper()
	h.build()
	return h
}

// isRefused tells an answer that gives nothing. Lists of shows and keys with a foreign filter are
// empty or refused.
func isRefused(p place, body string) bool {
	return strings.Contains(body, `"errors"`) || strings.Contains(body, "Refused") || p.field.Name == "shows" && strings.Contains(body, `"nodes":[]`)
}

// The same operations with the tenant's own ids find something: the walk above would prove nothing
// if they failed for another reason.
func TestOwnIDsAreFound(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	own, guest := h.ids()
	for _, p := range places(t) {
		if p.operation == graphql.Mutation {
			// The mutation before may have taken what this one needs.
			h = newHouse(t, s)
			own, guest = h.ids()
		}
		as := h.admin
		switch p.field.Name {
		case "hold", "booking", "extendHold", "releaseHold", "checkout", "placeHold":
			as = guest
		case "waitingListEntry", "leaveWaitingList", "joinWaitingList":
			as = guest
		case "joinWaitingRoom":
			as = h.page
		case "revokeKey":
			own["key"] = h.spareKey()
		}
		kind := p.kind
		if p.field.Name == "node" {
			kind = "show"
		}
		f := filler{schema: schema(), own: own, chosen: p.path, id: own[kind]}
		answer := as.post(operation(f.schema, p), f.variables(p))
		for _, e := range answer.Errors {
			if e.code() != "BAD_INPUT" && e.code() != "CONFLICT" {
				t.Errorf("%s: got %s", p, answer.body)
			}
		}
	}
}

// stayChange is one of a booking of a guest.
func (h *house) stayChange() string {
	h.server.t.Helper()
	booking := h.book(h.guest(), h.stay(h.double, "2030-03-18", "2030-03-19", 1))
	var answer struct{ ChangeStay created }
	h.admin.get(`mutation($input: ChangeStayInput!) { changeStay(input: $input) { ... on StayChange { id } } }`,
		vars{"input": vars{"requestKey": key(), "booking": booking, "newCheckOut": "2030-03-20"}}, &answer)
	if answer.ChangeStay.ID == "" {
		h.server.t.Fatal("the stay was not changed")
	}
	return answer.ChangeStay.ID
}

func (h *house) allotment() string {
	var answer struct{ CreateAllotment created }
	h.admin.get(`mutation($input: CreateAllotmentInput!) { createAllotment(input: $input) { ... on Allotment { id } } }`,
		vars{"input": vars{"requestKey": key(), "channel": h.boxOffice, "name": "Fan club", "pool": h.standing, "quantity": 1, "definite": true}}, &answer)
	return answer.CreateAllotment.ID
}

// nightsJob is an edit that is too large for one transaction; nobody works at it.
func (h *house) nightsJob() string {
	var answer struct{ SetNights struct{ Job created } }
	h.admin.get(`mutation($input: SetNightsInput!) { setNights(input: $input) { job { id } } }`, vars{"input": vars{
		"requestKey": key(), "property": h.property, "nights": vars{"from": "2031-01-01", "to": "2033-12-31"}, "change": vars{"physical": 2},
	}}, &answer)
	return answer.SetNights.Job.ID
}

func (h *house) presaleCode() string {
	var answer struct{ CreatePresaleCodes []created }
	h.admin.get(`mutation($input: CreatePresaleCodesInput!) { createPresaleCodes(input: $input) { id } }`,
		vars{"input": vars{"requestKey": key(), "show": h.show, "codes": []string{"Fan club"}, "uses": 2}}, &answer)
	return answer.CreatePresaleCodes[0].ID
}

// promotion is one of the house's hotel.
func (h *house) promotion() string {
	var answer struct{ CreatePromotion created }
	h.admin.get(`mutation($input: CreatePromotionInput!) { createPromotion(input: $input) { id } }`,
		vars{"input": vars{"requestKey": key(), "property": h.property, "code": "SPRING", "uses": 3, "terms": vars{"name": "Spring", "basisPoints": 1000}}}, &answer)
	return answer.CreatePromotion.ID
}

// grant is one of the guest's for the house's show, whose waiting room is open from then on.
func (h *house) grant(guest client) string {
	h.openRoom(vars{})
	return h.comeIn(guest)
}

func (h *house) spareKey() string {
	var answer struct{ CreateKey struct{ Key created } }
	h.admin.get(`mutation($input: CreateKeyInput!) { createKey(input: $input) { key { id } } }`,
		vars{"input": vars{"requestKey": key(), "kind": "ADMIN", "name": "Spare"}}, &answer)
	return answer.CreateKey.Key.ID
}

// An id of another kind, or of no form at all, is refused before anything is looked up, and the
// answer says where it stands and what was expected there.
func TestWrongIDsAreBadInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	own, _ := h.ids()
	for _, p := range places(t) {
		if p.field.Name == "node" {
			continue
		}
		good := own[p.kind]
		other := h.show
		if p.kind == "show" {
			other = h.event
		}
		for what, id := range map[string]string{
			"another kind": other, "an unknown kind": otherKind(good), "nothing": "", "a number": "17", "a UUID": "00000000-0000-0000-0000-000000000001",
			"one character more": good + "0", "one character less": good[:len(good)-1], "upper case": strings.ToUpper(good),
			"a very long text": good + strings.Repeat("0", 5000),
		} {
			f := filler{schema: schema(), own: own, chosen: p.path, id: id}
			answer := h.admin.post(operation(f.schema, p), f.variables(p))
			if len(answer.Errors) != 1 || answer.status != http.StatusOK {
				t.Errorf("%s for %s: got %s", what, p, answer.body)
				continue
			}
			e := answer.Errors[0]
			if e.code() != "BAD_INPUT" || e.field() != p.path || !strings.Contains(e.Message, "expected an id of the form "+p.kind+"_") || len(e.Message) > 250 {
				t.Errorf("%s for %s: got %s", what, p, answer.body)
			}
		}
		if prefix := ids.PrefixOf(good); prefix != p.kind {
			t.Errorf("%s: the test knows %s as a %s", p, good, p.kind)
		}
	}
}
