package graph

import (
	"strings"
	"time"

	"github.com/holdfast/holdfast/events"
	"github.com/holdfast/holdfast/graph/generated"
)

func changeEventCursor(e events.Event) string {
	return encodeCursor(listEvents, e.OccurredAt.UTC().Format(time.RFC3339Nano), e.ID.UUID.String())
}

func deliveryCursor(d events.Delivery) string {
	return encodeCursor(listDeliveries, d.CreatedAt.UTC().Format(time.RFC3339Nano), d.ID.UUID.String())
}

// typeView writes "booking.no_show" as GraphQL allows: BOOKING_NO_SHOW.
func typeView(t events.Type) generated.ChangeEventType {
	return generated.ChangeEventType(strings.ToUpper(strings.ReplaceAll(string(t), ".", "_")))
}

// readTypes is the way back, by the table of types; the schema lets no other value through.
func readTypes(values []generated.ChangeEventType) []events.Type {
	byValue := map[generated.ChangeEventType]events.Type{}
	for _, meaning := range events.Meanings() {
		byValue[typeView(meaning.Type)] = meaning.Type
	}
	types := make([]events.Type, len(values))
	for i, value := range values {
		types[i] = byValue[value]
	}
	return types
}

func changeEventView(e events.Event) generated.ChangeEvent {
	return generated.ChangeEvent{
		ID: e.ID.String(), Type: typeView(e.Type), SubjectID: e.Subject(), Version: e.Version, Region: string(e.ID.Region),
		ChannelID: idOrNull(e.Channel), OccurredAt: e.OccurredAt,
	}
}

func endpointView(e events.Endpoint) generated.WebhookEndpoint {
	view := generated.WebhookEndpoint{
		ID: e.ID.String(), URL: e.URL, Description: orNull(e.Description), Types: each(e.Types, typeView), ChannelID: idOrNull(e.Channel),
		State: generated.WebhookEndpointState(e.State), DisabledAt: e.DisabledAt, RotatedUntil: e.RotatedUntil, Version: e.Version, CreatedAt: e.CreatedAt,
	}
	if e.Reason != "" {
		reason := generated.WebhookDisabledReason(e.Reason)
		view.DisabledReason = &reason
	}
	return view
}

func endpointSecretView(e events.EndpointSecret) generated.WebhookEndpointSecret {
	return generated.WebhookEndpointSecret{Endpoint: endpointView(e.Endpoint), Secret: orNull(e.Secret)}
}

func deliveryView(d events.Delivery) generated.WebhookDelivery {
	view := generated.WebhookDelivery{
		ID: d.ID.String(), EndpointID: d.Endpoint.String(), Event: changeEventView(d.Event), State: generated.WebhookDeliveryState(d.State),
		Attempts: d.Attempts, OpenedAt: d.OpenedAt, NextAttemptAt: d.NextAttemptAt, LastAttemptAt: d.LastAttemptAt, LastError: orNull(d.LastError),
		SettledAt: d.SettledAt,
	}
	if d.LastStatus != 0 {
		status := int64(d.LastStatus)
		view.LastStatus = &status
	}
	return view
}

func replayedView(r events.Replayed) generated.EventsReplayed {
	return generated.EventsReplayed{Endpoint: endpointView(r.Endpoint), Events: int64(r.Events), ContinueFrom: r.ContinueFrom}
}
