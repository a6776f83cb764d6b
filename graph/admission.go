package graph

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/tenants"
)

// Admission is what the API asks of package admission; an admission.Service is one.
type Admission interface {
	Open(ctx context.Context, actor tenants.Actor, requestKey string, input admission.NewRoom) (admission.Room, error)
	Update(ctx context.Context, actor tenants.Actor, show inventory.ShowID, change admission.Change) (admission.Room, error)
	CloseRoom(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (admission.Room, error)
	Room(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (admission.Room, error)
	Waiting(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (int64, error)
	Address(ctx context.Context, actor tenants.Actor, show inventory.ShowID) (string, error)
	Join(ctx context.Context, actor tenants.Actor, input admission.Join) (admission.Ticket, error)
	Place(ctx context.Context, actor tenants.Actor, token string) (admission.Place, error)
	Admit(ctx context.Context, actor tenants.Actor, token, proof string) (inventory.Grant, error)
	Document(ctx context.Context, address string) (admission.Document, error)
}

// WaitingRoom is the resolver for the waitingRoom field.
func (r *queryResolver) WaitingRoom(ctx context.Context, show string) (*generated.WaitingRoom, error) {
	var d decoder
	id := readID[inventory.ShowKind](&d, "show", show)
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.admission.Room(ctx, actorOf(ctx), id)
	return r.roomView(ctx, room, err)
}

// OpenWaitingRoom is the resolver for the openWaitingRoom field.
func (r *mutationResolver) OpenWaitingRoom(ctx context.Context, input generated.OpenWaitingRoomInput) (*generated.WaitingRoom, error) {
	var d decoder
	show := readID[inventory.ShowKind](&d, "input.show", input.Show)
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.admission.Open(ctx, actorOf(ctx), input.RequestKey, admission.NewRoom{
		Show: show, OpensAt: input.OpensAt, ClosesAt: input.ClosesAt, Window: secondsOf(input.WindowSeconds), RatePerMinute: input.RatePerMinute,
		GrantLifetime: secondsOf(input.GrantSeconds), HoldsPerGrant: input.HoldsPerGrant, Verifier: textOf(input.Verifier),
	})
	return r.roomView(ctx, room, inInput(err))
}

// UpdateWaitingRoom is the resolver for the updateWaitingRoom field.
func (r *mutationResolver) UpdateWaitingRoom(ctx context.Context, input generated.UpdateWaitingRoomInput) (*generated.WaitingRoom, error) {
	var d decoder
	show := readID[inventory.ShowKind](&d, "input.show", input.Show)
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.admission.Update(ctx, actorOf(ctx), show, admission.Change{
		OpensAt: input.OpensAt, ClosesAt: input.ClosesAt, Window: optionalSeconds(input.WindowSeconds), RatePerMinute: input.RatePerMinute,
		GrantLifetime: optionalSeconds(input.GrantSeconds), HoldsPerGrant: input.HoldsPerGrant, Verifier: input.Verifier, Paused: input.Paused,
	})
	return r.roomView(ctx, room, inInput(err))
}

// CloseWaitingRoom is the resolver for the closeWaitingRoom field.
func (r *mutationResolver) CloseWaitingRoom(ctx context.Context, show string) (*generated.WaitingRoom, error) {
	var d decoder
	id := readID[inventory.ShowKind](&d, "show", show)
	if d.err != nil {
		return nil, d.err
	}
	room, err := r.admission.CloseRoom(ctx, actorOf(ctx), id)
	return r.roomView(ctx, room, err)
}

// JoinWaitingRoom is the resolver for the joinWaitingRoom field.
func (r *mutationResolver) JoinWaitingRoom(ctx context.Context, input generated.JoinWaitingRoomInput) (generated.JoinWaitingRoomResult, error) {
	var d decoder
	show := readID[inventory.ShowKind](&d, "input.show", input.Show)
	if d.err != nil {
		return nil, d.err
	}
	ticket, err := r.admission.Join(ctx, actorOf(ctx), admission.Join{
		Show: show, Visitor: textOf(input.Visitor), Proof: textOf(input.Proof), Again: input.Again,
	})
	if err != nil {
		return roomRefused(err)
	}
	view := generated.WaitingRoomTicket{
		Token: ticket.Token, Order: ticket.Order, Opening: ticket.Opening, StatusPath: statusPath(ticket.Address), Place: placeView(ticket.Place),
	}
	if ticket.Visitor != "" {
		view.Visitor = &ticket.Visitor
	}
	return view, nil
}

// WaitingRoomPlace is the resolver for the waitingRoomPlace field.
func (r *queryResolver) WaitingRoomPlace(ctx context.Context, token string) (generated.WaitingRoomPlaceResult, error) {
	place, err := r.admission.Place(ctx, actorOf(ctx), token)
	if err != nil {
		return roomRefused(err)
	}
	return placeView(place), nil
}

// AdmitVisitor is the resolver for the admitVisitor field.
func (r *mutationResolver) AdmitVisitor(ctx context.Context, input generated.AdmitVisitorInput) (generated.AdmitVisitorResult, error) {
	grant, err := r.admission.Admit(ctx, actorOf(ctx), input.Token, textOf(input.Proof))
	if err != nil {
		return roomRefused(err)
	}
	return generated.AdmissionGrant{
		ID: grant.ID.String(), ShowID: grant.Show.String(), IssuedAt: grant.IssuedAt, ExpiresAt: grant.ExpiresAt, HoldsLeft: grant.Holds - grant.Used,
	}, nil
}

// roomRefused makes an expected no the operation's data; other errors stay errors.
func roomRefused(err error) (*generated.WaitingRoomRefused, error) {
	var refusal *inventory.Refusal
	if !errors.As(err, &refusal) {
		return nil, inInput(err)
	}
	view := &generated.WaitingRoomRefused{
		Code: generated.RefusalCode(refusal.Code), Message: refusal.Message, RetryAfterMs: retryAfterView(refusal.RetryAfter),
	}
	var asked *admission.Refusal
	if errors.As(err, &asked) {
		view.Verifier, view.Challenge, view.Visitor = textOrNull(asked.Verifier), textOrNull(asked.Challenge), textOrNull(asked.Visitor)
	}
	return view, nil
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// roomView shows a room; how many wait in it and where it is read are known without asking for more.
func (r *Resolver) roomView(ctx context.Context, room admission.Room, err error) (*generated.WaitingRoom, error) {
	if err != nil {
		return nil, err
	}
	waiting, err := r.admission.Waiting(ctx, actorOf(ctx), room.Show)
	if err != nil {
		return nil, err
	}
	address, err := r.admission.Address(ctx, actorOf(ctx), room.Show)
	if err != nil {
		return nil, err
	}
	return &generated.WaitingRoom{
		ShowID: room.Show.String(), State: generated.WaitingRoomState(room.State), OpensAt: room.OpensAt, AdmitsFrom: room.AdmitsFrom(),
		ClosesAt: room.ClosesAt, RatePerMinute: room.RatePerMinute, GrantSeconds: int64(room.GrantLifetime / time.Second),
		HoldsPerGrant: room.HoldsPerGrant, Verifier: textOrNull(room.Verifier), Opening: room.Opening, Waiting: waiting, StatusPath: statusPath(address),
	}, nil
}

func placeView(p admission.Place) generated.WaitingRoomPlace {
	view := generated.WaitingRoomPlace{State: generated.WaitingRoomState(p.Room.State), Called: p.Called, Position: p.Position, AsOf: p.AsOf}
	if p.Estimate != nil {
		seconds := int64(*p.Estimate / time.Second)
		view.EstimatedSeconds = &seconds
	}
	return view
}

func secondsOf(n int64) time.Duration {
	const most = 1 << 32
	return time.Duration(min(max(n, -1), most)) * time.Second
}

func optionalSeconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := secondsOf(*n)
	return &d
}
