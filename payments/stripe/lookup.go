package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	stripego "github.com/stripe/stripe-go/v84"

	"github.com/holdfast/holdfast/payments"
)

// Limits of finding an object by the key in its metadata. Stripe has no exact index of metadata. Its
// lists are exact, but have to be read from the newest object on; its search is indexed, but about a
// minute behind, in an outage up to an hour, and not offered in every country
// (https://docs.stripe.com/search). So the newest objects are read first, and then it is searched.
const (
	pageSize = 100
	// recentWindow is how far back the list is read; it is longer than the search is usually behind.
	recentWindow = time.Hour
	// maxRecent bounds the PaymentIntents read from the list: three pages.
	maxRecent = 3 * pageSize
	// maxOpenPages bounds the open Checkout Sessions read: they cannot be searched.
	maxOpenPages = 10 * pageSize
)

// LookUp implements payments.Gateway. NOT_FOUND is weak, as the interface says: a PaymentIntent that
// is older than the newest three hundred of its account and not yet searchable is not found.
func (g *Gateway) LookUp(ctx context.Context, account, key string) (payments.Outcome, error) {
	ctx, cancel := g.bound(ctx)
	defer cancel()
	outcome, err := g.lookUp(ctx, account, key)
	if err != nil {
		return payments.Outcome{}, fmt.Errorf("look up charge %.64q: %w", key, err)
	}
	return outcome, nil
}

func (g *Gateway) lookUp(ctx context.Context, account, key string) (payments.Outcome, error) {
	if err := validatePlace(account, key); err != nil {
		return payments.Outcome{}, err
	}
	found, err := g.find(ctx, account, key)
	switch {
	case err != nil:
		return payments.Outcome{}, err
	case found.session != nil:
		return readSession(found.session, account, key)
	case found.intent != nil:
		return g.settled(ctx, account, key, found.intent)
	}
	return payments.Outcome{State: payments.OutcomeStateNotFound, Account: account}, nil
}

// found is what stands under a key: a Checkout Session with its PaymentIntent in it, a PaymentIntent
// alone, or nothing. Both are as they are now.
type found struct {
	intent  *stripego.PaymentIntent
	session *stripego.CheckoutSession
}

func (g *Gateway) find(ctx context.Context, account, key string) (found, error) {
	at := place{account, key}
	if id, ok := g.ids.Get(at); ok {
		return g.read(ctx, account, id)
	}
	id, err := g.search(ctx, account, key)
	if err != nil || id == "" {
		return found{}, err
	}
	object, err := g.read(ctx, account, id)
	if err != nil {
		return found{}, err
	}
	if object.session != nil {
		id = object.session.ID
	}
	g.ids.Add(at, id)
	return object, nil
}

// read reads an object by its id. The PaymentIntent of a page stands under the page.
func (g *Gateway) read(ctx context.Context, account, id string) (found, error) {
	if strings.HasPrefix(id, sessionPrefix) {
		session, err := g.session(ctx, account, id)
		return found{session: session}, err
	}
	intent, err := g.intent(ctx, account, id)
	if err != nil || intent.Metadata[metadataHosted] == "" {
		return found{intent: intent}, err
	}
	params := &stripego.CheckoutSessionListParams{ListParams: g.listed(account), PaymentIntent: &id}
	for session, err := range g.client.V1CheckoutSessions.List(ctx, params) {
		if err != nil {
			return found{}, safe(err)
		}
		current, err := g.session(ctx, account, session.ID)
		return found{session: current}, err
	}
	return found{}, errors.New("a page's PaymentIntent has no page")
}

// search is the id of the object with this key, or "".
func (g *Gateway) search(ctx context.Context, account, key string) (string, error) {
	id, complete, err := g.recentIntent(ctx, account, key)
	if err != nil || id != "" {
		return id, err
	}
	id, searchErr := g.searchIntent(ctx, account, key)
	if id != "" {
		return id, nil
	}
	id, allPages, err := g.openSession(ctx, account, key)
	switch {
	case err != nil || id != "":
		return id, err
	case searchErr != nil && !complete:
		return "", searchErr
	case !allPages:
		return "", fmt.Errorf("more than %d pages are open, and the newest ones are not it", maxOpenPages)
	}
	return "", nil
}

// recentIntent reads the newest PaymentIntents, and says whether those were all of the last hour.
func (g *Gateway) recentIntent(ctx context.Context, account, key string) (id string, complete bool, err error) {
	since := g.config.Now().Add(-recentWindow).Unix()
	params := &stripego.PaymentIntentListParams{ListParams: g.listed(account), CreatedRange: &stripego.RangeQueryParams{GreaterThanOrEqual: since}}
	read := 0
	for intent, err := range g.client.V1PaymentIntents.List(ctx, params) {
		if err != nil {
			return "", false, safe(err)
		}
		if intent.Metadata[metadataKey] == key {
			return intent.ID, true, nil
		}
		if read++; read == maxRecent {
			return "", false, nil
		}
	}
	return "", true, nil
}

// searchIntent asks Stripe's index.
func (g *Gateway) searchIntent(ctx context.Context, account, key string) (string, error) {
	params := &stripego.PaymentIntentSearchParams{SearchParams: stripego.SearchParams{
		StripeAccount: g.header(account), Query: fmt.Sprintf(`metadata[%q]:%q`, metadataKey, key), Limit: stripego.Int64(1),
	}}
	for intent, err := range g.client.V1PaymentIntents.Search(ctx, params) {
		if err != nil {
			return "", safe(err)
		}
		if intent.Metadata[metadataKey] == key {
			return intent.ID, nil
		}
		return "", nil
	}
	return "", nil
}

// openSession reads the open pages. A completed one is found through its PaymentIntent, and an expired
// one without has taken nothing.
func (g *Gateway) openSession(ctx context.Context, account, key string) (id string, complete bool, err error) {
	status := string(stripego.CheckoutSessionStatusOpen)
	params := &stripego.CheckoutSessionListParams{ListParams: g.listed(account), Status: &status}
	read := 0
	for session, err := range g.client.V1CheckoutSessions.List(ctx, params) {
		if err != nil {
			return "", false, safe(err)
		}
		if session.Metadata[metadataKey] == key {
			return session.ID, true, nil
		}
		if read++; read == maxOpenPages {
			return "", false, nil
		}
	}
	return "", true, nil
}
