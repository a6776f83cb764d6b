package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Limits of a client of the API.
const (
	apiCallTimeout      = 30 * time.Second
	apiMaxResponseBytes = 16 << 20
)

// apiClient speaks GraphQL over HTTP to one server, as any program would.
type apiClient struct {
	http     *http.Client
	endpoint string
}

// newAPIClient keeps up to so many connections to the server at url.
func newAPIClient(url string, connections int) *apiClient {
	transport := &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute}
	return &apiClient{http: &http.Client{Timeout: apiCallTimeout, Transport: transport}, endpoint: url + "/graphql"}
}

func (c *apiClient) close() { c.http.CloseIdleConnections() }

// apiCaller is who a call is made as.
type apiCaller struct {
	api *apiClient
	// key is the API key, session the token of a guest session or empty.
	key, session string
}

// apiError is what a GraphQL server says in errors: the call was wrong in form, or could not be
// served.
type apiError struct {
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

func (e *apiError) Error() string {
	where := make([]string, len(e.Path))
	for i, step := range e.Path {
		where[i] = fmt.Sprint(step)
	}
	text := e.Extensions.Code + ": " + e.Message
	if len(where) > 0 {
		text += " (at " + strings.Join(where, ".") + ")"
	}
	return text
}

// ask runs an operation whose one field is called result.
func ask[T any](ctx context.Context, who apiCaller, document string, variables map[string]any) (T, error) {
	var answer struct {
		Data struct {
			Result T `json:"result"`
		} `json:"data"`
		Errors []*apiError `json:"errors"`
	}
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		return answer.Data.Result, fmt.Errorf("encode the call: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, who.api.endpoint, bytes.NewReader(body))
	if err != nil {
		return answer.Data.Result, fmt.Errorf("make the call: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+who.key)
	if who.session != "" {
		request.Header.Set("Holdfast-Session", who.session)
	}
	response, err := who.api.http.Do(request)
	if err != nil {
		return answer.Data.Result, fmt.Errorf("call the API: %w", err)
	}
	defer response.Body.Close()
	encoded, err := io.ReadAll(io.LimitReader(response.Body, apiMaxResponseBytes))
	if err != nil {
		return answer.Data.Result, fmt.Errorf("read the API's answer: %w", err)
	}
	if err := json.Unmarshal(encoded, &answer); err != nil {
		return answer.Data.Result, fmt.Errorf("read the API's answer (status %d): %w", response.StatusCode, err)
	}
	switch {
	case len(answer.Errors) > 0:
		return answer.Data.Result, answer.Errors[0]
	case response.StatusCode != http.StatusOK:
		return answer.Data.Result, fmt.Errorf("the API answered with status %d", response.StatusCode)
	}
	return answer.Data.Result, nil
}

// apiMoney is a sum of money in answers.
type apiMoney struct {
	AmountMinor int64  `json:"amountMinor"`
	Currency    string `json:"currency"`
	Formatted   string `json:"formatted"`
}

func (m apiMoney) input() map[string]any {
	return map[string]any{"amountMinor": m.AmountMinor, "currency": m.Currency}
}

type apiHold struct {
	ID       string       `json:"id"`
	State    string       `json:"state"`
	PlacedAt time.Time    `json:"placedAt"`
	Deadline time.Time    `json:"deadline"`
	Total    apiMoney     `json:"total"`
	Lines    []apiLine    `json:"lines"`
	Payments []apiPayment `json:"payments"`
	Booking  *apiBooking  `json:"booking"`
}

type apiLine struct {
	Unit struct {
		Kind     string `json:"kind"`
		Quantity int64  `json:"quantity"`
		SeatID   string `json:"seatId"`
		Night    string `json:"night"`
	} `json:"unit"`
	Amount apiMoney `json:"amount"`
}

type apiPayment struct {
	ID          string      `json:"id"`
	State       string      `json:"state"`
	Captured    apiMoney    `json:"captured"`
	Refunded    apiMoney    `json:"refunded"`
	Disposition string      `json:"disposition"`
	DeclineCode string      `json:"declineCode"`
	SettledAt   *time.Time  `json:"settledAt"`
	Refunds     []apiRefund `json:"refunds"`
}

type apiRefund struct {
	State  string   `json:"state"`
	Amount apiMoney `json:"amount"`
}

type apiBooking struct {
	ID        string    `json:"id"`
	Reference string    `json:"reference"`
	State     string    `json:"state"`
	Lines     []apiLine `json:"lines"`
}

// apiRefusal is a no that is data. Its code is empty when there was none.
type apiRefusal struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Refused []apiRefusedLine `json:"refused"`
}

func (r apiRefusal) refusalCode() string { return r.Code }

type apiRefusedLine struct {
	Line      int    `json:"line"`
	Code      string `json:"code"`
	SeatID    string `json:"seatId"`
	PoolID    string `json:"poolId"`
	Night     string `json:"night"`
	Available *int64 `json:"available"`
}

// apiPlaced is the answer of placeHold: a hold, or a refusal.
type apiPlaced struct {
	apiHold
	apiRefusal
}

// apiPaid is the answer of checkout: where the sale stands, or a refusal.
type apiPaid struct {
	Hold    apiHold     `json:"hold"`
	Payment *apiPayment `json:"payment"`
	Booking *apiBooking `json:"booking"`
	apiRefusal
}

const (
	apiMoneyFields = `{ amountMinor currency formatted }`
	apiLineFields  = `{ unit { kind quantity seatId night } amount ` + apiMoneyFields + ` }`
	apiHoldFields  = `id state placedAt deadline total ` + apiMoneyFields + ` lines ` + apiLineFields

	apiPaymentFields = `{ id state captured ` + apiMoneyFields + ` refunded ` + apiMoneyFields +
		` disposition declineCode settledAt refunds { state amount ` + apiMoneyFields + ` } }`
	apiBookingFields = `{ id reference state lines ` + apiLineFields + ` }`

	apiPlaceHold = `mutation ($input: PlaceHoldInput!) { result: placeHold(input: $input) {
		... on Hold { ` + apiHoldFields + ` }
		... on HoldRefused { code message refused: lines { line code seatId poolId night available } }
	} }`
	apiCheckout = `mutation ($input: CheckoutInput!) { result: checkout(input: $input) {
		... on Checkout { hold { ` + apiHoldFields + ` } payment ` + apiPaymentFields + ` booking ` + apiBookingFields + ` }
		... on CheckoutRefused { code message }
	} }`
	apiReadHold = `query ($id: ID!) { result: hold(id: $id) {
		` + apiHoldFields + ` payments ` + apiPaymentFields + ` booking ` + apiBookingFields + `
	} }`
	apiStartSession = `mutation { result: startGuestSession { token } }`
)

// refusalBusy is the one refusal that is no verdict: the same call may be made again.
const refusalBusy = "BUSY"

// place asks for a hold.
func (c apiCaller) place(ctx context.Context, requestKey string, lines ...apiInput) (apiPlaced, error) {
	return ask[apiPlaced](ctx, c, apiPlaceHold, map[string]any{"input": map[string]any{"requestKey": requestKey, "lines": lines}})
}

// apiInput is an input object of the API.
type apiInput map[string]any

func seatsInput(show string, seats ...string) apiInput {
	return apiInput{"seats": apiInput{"show": show, "seats": seats}}
}

func poolInput(pool string, quantity int) apiInput {
	return apiInput{"pool": apiInput{"pool": pool, "quantity": quantity}}
}

func stayInput(roomType, checkIn, checkOut string) apiInput {
	return apiInput{"stay": apiInput{"roomType": roomType, "checkIn": checkIn, "checkOut": checkOut}}
}

// errPolled says that a condition did not come true in time.
var errPolled = errors.New("it did not come true in time")

// Limits of waiting for a condition.
const (
	pollInterval = 50 * time.Millisecond
	pollLimit    = time.Minute
)

// poll asks again and again until the answer is yes. what names the condition, for the error.
func poll(ctx context.Context, what string, ready func(ctx context.Context) (yes bool, saw string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := "nothing"
	for {
		yes, saw, err := ready(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && yes:
			return nil
		case err == nil:
			last = saw
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("expected %s within %s, saw %s: %w", what, pollLimit, last, errPolled)
			}
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
