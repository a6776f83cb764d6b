package graph_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	graphql "github.com/vektah/gqlparser/v2/ast"
)

// signer is a customer secret with its text.
type signer struct{ ID, secret string }

func (h *house) customerSecret(channel string) signer {
	h.server.t.Helper()
	var answer struct {
		CreateCustomerSecret struct {
			CustomerSecret created
			Secret         string
		}
	}
	h.admin.get(`mutation($input: CreateCustomerSecretInput!) { createCustomerSecret(input: $input) { customerSecret { id } secret } }`,
		vars{"input": vars{"requestKey": key(), "channel": channel}}, &answer)
	return signer{ID: answer.CreateCustomerSecret.CustomerSecret.ID, secret: answer.CreateCustomerSecret.Secret}
}

// sign makes a reference as a partner's own program does.
func (s signer) sign(t *testing.T, claims vars) string {
	t.Helper()
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := "hfc." + s.ID + "." + base64.RawURLEncoding.EncodeToString(raw)
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func reference(subject string, from, to time.Duration) vars {
	now := time.Now()
	return vars{"sub": subject, "iat": now.Add(from).Unix(), "exp": now.Add(to).Unix()}
}

// A customer to whom a partner signs a reference owns what they hold, with each reference anew, and
// nobody else does.
func TestCustomersOfAPartner(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	secret := h.customerSecret(h.partners)
	as := func(claims vars) client { return h.partner.as(secret.sign(t, claims)) }
	anna := as(reference("anna", -time.Minute, 10*time.Minute))
	hold := h.hold(anna, vars{"seats": vars{"show": h.show, "seats": []string{h.seats[0]}}})
	read := `query($id: ID!) { hold(id: $id) { id } }`
	as(reference("anna", -time.Second, time.Minute)).get(read, vars{"id": hold.ID}, &struct{ Hold created }{})
	if e := as(reference("bert", -time.Minute, 10*time.Minute)).refused(read, vars{"id": hold.ID}); e.code() != "NOT_FOUND" {
		t.Errorf("another customer: %+v", e)
	}
	good := secret.sign(t, reference("anna", -time.Minute, 10*time.Minute))
	foreign := other.customerSecret(other.partners)
	shop := h.customerSecret(h.shop)
	for name, c := range map[string]struct{ token, want string }{
		"expired":               {secret.sign(t, reference("anna", -time.Hour, -time.Second)), "the reference has expired"},
		"good for too long":     {secret.sign(t, reference("anna", 0, 2*time.Hour)), "at most an hour after that"},
		"signed tomorrow":       {secret.sign(t, reference("anna", 24*time.Hour, 25*time.Hour)), "signed in the past"},
		"nobody":                {secret.sign(t, reference("", 0, time.Minute)), "expected a reference of the form"},
		"tampered":              {strings.Replace(good, ".ey", ".eyI", 1), "not signed with a secret"},
		"without signature":     {good[:strings.LastIndexByte(good, '.')] + ".", "not signed with a secret"},
		"another's secret":      {foreign.sign(t, reference("anna", 0, time.Minute)), "not signed with a secret"},
		"a secret of no tenant": {signer{randomID(secret.ID), secret.secret}.sign(t, reference("anna", 0, time.Minute)), "not signed with a secret"},
		"another channel":       {shop.sign(t, reference("anna", 0, time.Minute)), "belongs to another channel"},
		"three parts":           {"hfc.a.b", "expected a reference of the form"},
	} {
		if r := h.partner.as(c.token).post(whoAmI, nil); r.status != http.StatusUnauthorized || !strings.Contains(r.body, c.want) {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	var ended struct{ EndCustomerSecret struct{ EndedAt *string } }
	h.partner.get(`mutation($input: EndCustomerSecretInput!) { endCustomerSecret(input: $input) { endedAt } }`, vars{"input": vars{"customerSecret": secret.ID}}, &ended)
	if r := anna.post(whoAmI, nil); r.status != http.StatusUnauthorized || ended.EndCustomerSecret.EndedAt == nil {
		t.Errorf("after the end: %s", r.body)
	}
	create := `mutation($input: CreateCustomerSecretInput!) { createCustomerSecret(input: $input) { secret } }`
	if e := h.partner.refused(create, vars{"input": vars{"requestKey": key(), "channel": h.shop}}); e.code() != "NOT_FOUND" {
		t.Errorf("a partner for another channel: %+v", e)
	}
}

func TestKeysAreRotatedWithOverlap(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	var issued struct {
		CreateKey struct {
			Key    created
			Secret string
		}
	}
	h.admin.get(`mutation($input: CreateKeyInput!) { createKey(input: $input) { key { id } secret } }`,
		vars{"input": vars{"requestKey": key(), "kind": "PARTNER", "name": "Agency", "channel": h.partners}}, &issued)
	old := s.client(issued.CreateKey.Secret)
	old.get(whoAmI, nil, new(any))
	rotate := `mutation($input: RotateKeyInput!) { rotateKey(input: $input) { key { id kind name channelId replacesId } secret } }`
	var rotated struct {
		RotateKey struct {
			Key struct {
				ID, Kind, Name        string
				ChannelID, ReplacesID *string
			}
			Secret *string
		}
	}
	input := vars{"requestKey": key(), "key": issued.CreateKey.Key.ID, "overlapSeconds": 3600}
	h.admin.get(rotate, vars{"input": input}, &rotated)
	next := rotated.RotateKey
	if next.Key.Kind != "PARTNER" || next.Key.Name != "Agency" || *next.Key.ChannelID != h.partners || *next.Key.ReplacesID != issued.CreateKey.Key.ID || next.Secret == nil {
		t.Fatalf("rotated: %+v", next)
	}
	old.get(whoAmI, nil, new(any))
	s.client(*next.Secret).get(whoAmI, nil, new(any))
	h.admin.get(rotate, vars{"input": input}, &rotated)
	if rotated.RotateKey.Secret != nil || rotated.RotateKey.Key.ID != next.Key.ID {
		t.Errorf("again: %+v", rotated)
	}
	// Without an overlap the old key ends at once, whatever it was promised.
	h.admin.get(rotate, vars{"input": vars{"requestKey": key(), "key": issued.CreateKey.Key.ID, "overlapSeconds": 0}}, &rotated)
	if r := old.post(whoAmI, nil); r.status != http.StatusUnauthorized || !strings.Contains(r.body, "the key has expired") {
		t.Errorf("the old key: %s", r.body)
	}
	if e := h.admin.refused(rotate, vars{"input": vars{"requestKey": key(), "key": issued.CreateKey.Key.ID}}); e.code() != "CONFLICT" {
		t.Errorf("a key that has ended: %+v", e)
	}
	if e := h.admin.refused(rotate, vars{"input": vars{"requestKey": key(), "key": next.Key.ID, "overlapSeconds": 2_592_001}}); e.code() != "BAD_INPUT" || e.field() != "input.overlapSeconds" {
		t.Errorf("a long overlap: %+v", e)
	}
}

func TestPublishableKeysStayOnTheirPages(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	create := `mutation($input: CreateKeyInput!) { createKey(input: $input) { key { allowedOrigins } secret } }`
	input := func(kind string, origins ...string) vars {
		return vars{"input": vars{"requestKey": key(), "kind": kind, "name": "Page", "channel": h.shop, "allowedOrigins": origins}}
	}
	var issued struct {
		CreateKey struct {
			Key    struct{ AllowedOrigins []string }
			Secret string
		}
	}
	h.admin.get(create, input("PUBLISHABLE", "https://tickets.example.com"), &issued)
	page := s.client(issued.CreateKey.Secret)
	from := func(origin string) reply {
		return page.send(http.MethodPost, "", strings.NewReader(`{"query": "{ viewer { keyId } }"}`), map[string]string{"Content-Type": "application/json", "Origin": origin})
	}
	if r := from("https://tickets.example.com"); r.status != http.StatusOK {
		t.Errorf("its own page: %s", r.body)
	}
	for _, origin := range []string{"https://evil.example.com", "http://tickets.example.com", "https://tickets.example.com.evil.com", "null"} {
		if r := from(origin); r.status != http.StatusUnauthorized || !strings.Contains(r.body, "Origin: pages of this origin may not present this key") {
			t.Errorf("%s: %d %s", origin, r.status, r.body)
		}
	}
	page.get(whoAmI, nil, new(any))
	for _, bad := range []string{"tickets.example.com", "https://tickets.example.com/", "*", "https://Tickets.example.com", ""} {
		if e := h.admin.refused(create, input("PUBLISHABLE", bad)); e.code() != "BAD_INPUT" || e.field() != "input.allowedOrigins[0]" {
			t.Errorf("%q: %+v", bad, e)
		}
	}
	if e := h.admin.refused(create, input("PARTNER", "https://tickets.example.com")); e.code() != "BAD_INPUT" || e.field() != "input.allowedOrigins" {
		t.Errorf("a partner key: %+v", e)
	}
}

// A key in test mode touches nothing that is live: every mutation of the schema refuses it, with good
// ids of its own tenant, and the tenant's rows stay as they are.
func TestTestKeysChangeNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	own, guest := h.ids()
	keys := map[string]client{}
	for kind, channel := range map[string]string{"ADMIN": h.boxOffice, "PARTNER": h.partners, "PUBLISHABLE": h.shop} {
		keys[kind] = s.client(h.testKey(kind, channel))
	}
	keys["PUBLISHABLE with a live guest"] = keys["PUBLISHABLE"].as(guest.session)
	before := digest(t, h.tenant)
	for _, field := range schema().Mutation.Fields {
		p := place{operation: graphql.Mutation, field: field}
		f := filler{schema: schema(), own: own}
		variables := h.variables(f, p)
		for kind, as := range keys {
			if r := as.post(operation(f.schema, p), variables); len(r.Errors) != 1 || r.Errors[0].code() != "FORBIDDEN" {
				t.Errorf("%s with a test key of kind %s: %s", field.Name, kind, r.body)
			}
		}
	}
	was := strings.Split(before, "\n")
	for i, line := range strings.Split(digest(t, h.tenant), "\n") {
		// That a key was used is noted on the key.
		if line != was[i] && !strings.HasPrefix(line, "api_keys ") {
			t.Errorf("rows have changed: %s, was %s", line, was[i])
		}
	}
}

// variables are good ones for an operation with the house's own ids, also in what is decoded before
// anybody is asked.
func (h *house) variables(f filler, p place) vars {
	variables := f.variables(p)
	switch input, _ := variables["input"].(vars); p.field.Name {
	case "setTaxRate":
		input["property"] = h.property
	case "waitingList":
		variables["show"] = h.show
	case "setWaitingList":
		input["show"] = h.show
	case "resolveReview":
		input["item"] = base64.RawURLEncoding.EncodeToString([]byte("review eu EVENT " + base64.RawURLEncoding.EncodeToString([]byte("item"))))
	case "node":
		variables["id"] = h.show
	default:
		if kind := idKinds()["Query."+p.field.Name]; kind != "" && p.operation == graphql.Query {
			variables["id"] = f.own[kind]
		}
	}
	if p.operation == graphql.Query && p.field.Arguments.ForName("region") != nil {
		variables["region"] = "eu"
	}
	return variables
}

// Every field of the schema's roots asks for a decision before it answers: a member without any role
// is denied all of them, with good ids of the own tenant, but to say who they are.
func TestEveryFieldHasADecision(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h := newHouse(t, s)
	own, _ := h.ids()
	_, nobody := h.invite()
	asked := 0
	for kind, root := range map[graphql.Operation]*graphql.Definition{graphql.Query: schema().Query, graphql.Mutation: schema().Mutation} {
		for _, field := range root.Fields {
			if strings.HasPrefix(field.Name, "__") || field.Name == "viewer" {
				continue
			}
			asked++
			p := place{operation: kind, field: field}
			f := filler{schema: schema(), own: own}
			query := strings.Replace(operation(f.schema, p), "nodes { id }", "nodes { __typename }", 1)
			if r := nobody.post(query, h.variables(f, p)); len(r.Errors) != 1 || r.Errors[0].code() != "FORBIDDEN" {
				t.Errorf("%s for a member without a role: %s", field.Name, r.body)
			}
		}
	}
	if asked < 60 {
		t.Errorf("only %d fields were asked", asked)
	}
}
