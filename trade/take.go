package trade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/request"
	"github.com/holdfast/holdfast/inventory"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
	"github.com/holdfast/holdfast/trade/internal/dbsqlc"
)

// Take applies a message, all or nothing. What is wrong with it is in the answer, which is the standard's own;
// the error is that of a sender who may send nothing, or of a system that cannot take it.
func (s *Service) Take(ctx context.Context, actor tenants.Actor, body []byte) (Answer, error) {
	if _, err := tenants.ReachOf(s.authorizer.Authorize(actor, policies.ActionTradeImport, actor.Tenant)); err != nil {
		return Answer{}, err
	}
	m, n := parse(body)
	if len(n.errors) > 0 {
		return refused(m, n)
	}
	h, err := s.hotelOf(ctx, actor, m, &n)
	if err != nil || len(n.errors) > 0 {
		return orRefused(m, n, err)
	}
	set := resolve(m, h, &n)
	if len(n.errors) > 0 {
		return refused(m, n)
	}
	t := taking{message: m, notes: n, hotel: h, cells: set, body: sha256.Sum256(body), id: uuid.New()}
	answer, err := db.Replayable(ctx, s.db, "trade.Take", func(ctx context.Context, tx pgx.Tx) (Answer, error) {
		return t.applyTx(ctx, tx, actor)
	})
	var invalid *fault.Error
	switch {
	case err == nil:
		s.inventory.NoteFed(ctx, inventory.NightsSet{Nights: answer.Nights})
		return answer, nil
	case errors.Is(err, request.ErrKeyReused):
		n.fail(typeBusinessRule, codeUnableToProcess, m.kind.root()+"RQ/@EchoToken", "the EchoToken %s with this TimeStamp came before with other content", quoted(m.echoToken))
		return refused(m, n)
	case errors.As(err, &invalid) && invalid.Kind == fault.KindInvalid:
		n.fail(typeBusinessRule, codeInvalidValue, elementOf(invalid.Field), "%s", invalid.Message)
		return refused(m, n)
	}
	return Answer{}, err
}

func refused(m message, n notes) (Answer, error) {
	written, err := answerTo(m, n)
	return Answer{Document: written, Outcome: OutcomeRefused}, err
}

func orRefused(m message, n notes, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	return refused(m, n)
}

// hotelOf finds the hotel of a message where the actor may change it: a hotel that it may not change does not
// exist for it.
func (s *Service) hotelOf(ctx context.Context, actor tenants.Actor, m message, n *notes) (hotel, error) {
	h, known, err := hotelByCodeTx(ctx, s.db.Pool(), actor.Tenant, m.hotel)
	if err != nil {
		return hotel{}, db.Classify(err)
	}
	if known {
		err := s.authorizeAt(ctx, actor, policies.ActionTradeImport, h.property)
		if fault.KindOf(err) == fault.KindNotFound {
			err, known = nil, false
		}
		if err != nil {
			return hotel{}, err
		}
	}
	if !known {
		n.fail(typeBusinessRule, codeInvalidHotel, m.kind.root()+"RQ/@HotelCode", "there is no hotel with the code %s", quoted(m.hotel))
	}
	return h, nil
}

// elementOf is what a message calls a field of a change of nights.
func elementOf(field string) string {
	switch field {
	case "physical":
		return "InvCount[@CountType=1]"
	case "available":
		return "InvCount[@CountType=2]"
	case "outOfOrder":
		return "InvCount[@CountType=6]"
	case "oversell":
		return "InvCount[@CountType=99]"
	case "minStayArrival":
		return "LengthOfStay[@MinMaxMessageType=SetMinLOS]"
	case "maxStayArrival":
		return "LengthOfStay[@MinMaxMessageType=SetMaxLOS]"
	case "minStayThrough":
		return "LengthOfStay[@MinMaxMessageType=SetForwardMinStay]"
	case "maxStayThrough":
		return "LengthOfStay[@MinMaxMessageType=SetForwardMaxStay]"
	case "rate":
		return "BaseByGuestAmt/@AmountAfterTax"
	}
	return ""
}

// taking is a message on its way into the database.
type taking struct {
	message message
	notes   notes
	hotel   hotel
	cells   cells
	body    [sha256.Size]byte
	id      uuid.UUID
}

func (t taking) applyTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor) (Answer, error) {
	if t.named() {
		earlier, replayed, err := request.Claim(ctx, tx, request.Identity{
			Tenant: actor.Tenant.UUID, Region: t.hotel.property.Region, Scope: "trade/" + string(t.message.kind) + "/" + t.hotel.property.UUID.String(), Key: t.key(),
		}, t.body[:], t.id)
		if err != nil {
			return Answer{}, err
		}
		if replayed {
			return t.repeatedTx(ctx, tx, earlier)
		}
	}
	set, err := t.completeTx(ctx, tx)
	if err != nil {
		return Answer{}, err
	}
	written := inventory.NightsSet{}
	if feeds := set.feeds(); len(feeds) > 0 {
		if written, err = inventory.FeedTx(ctx, tx, actor, t.hotel.property, feeds); err != nil {
			return Answer{}, err
		}
	}
	if feeds := set.planFeeds(); len(feeds) > 0 {
		nights, err := inventory.FeedPlansTx(ctx, tx, actor, t.hotel.property, feeds)
		if err != nil {
			return Answer{}, err
		}
		written.Nights += nights
	}
	n := t.notes
	for _, night := range written.Oversold {
		n.warn("", "%s on %s is sold above its limit by %d, and sells nothing until it is below", quoted(t.hotel.codeOf(night.RoomType)), night.Night, night.Excess)
	}
	document, err := answerTo(t.message, n)
	if err != nil {
		return Answer{}, err
	}
	if err := t.keepTx(ctx, tx, actor, document, written.Nights, len(n.warnings)+n.lost); err != nil {
		return Answer{}, err
	}
	return Answer{Document: document, Outcome: OutcomeApplied, Nights: written.Nights}, nil
}

// repeatedTx is the answer of the first time. Where that is forgotten already, the message is answered as one that
// was applied.
func (t taking) repeatedTx(ctx context.Context, tx pgx.Tx, earlier uuid.UUID) (Answer, error) {
	kept, err := dbsqlc.New(tx).MessageAnswer(ctx, dbsqlc.MessageAnswerParams{TenantID: t.hotel.tenant.UUID, Region: string(t.hotel.property.Region), ID: earlier})
	switch {
	case db.IsNoRows(err):
		document, err := answerTo(t.message, t.notes)
		return Answer{Document: document, Outcome: OutcomeRepeated}, err
	case err != nil:
		return Answer{}, fmt.Errorf("read the answer to an earlier message: %w", err)
	}
	return Answer{Document: []byte(kept), Outcome: OutcomeRepeated}, nil
}

// named is whether a message has a name of its own, by which a repetition is known.
func (t taking) named() bool { return t.message.echoToken != "" && t.message.timeStamp != "" }

func (t taking) key() string {
	name, err := json.Marshal([]string{t.message.echoToken, t.message.timeStamp})
	if err != nil {
		// Strings always have a JSON form.
		return ""
	}
	sum := sha256.Sum256(name)
	return hex.EncodeToString(sum[:])
}

// completeTx is what a message sets, with what follows from its being the whole of what there is.
func (t taking) completeTx(ctx context.Context, tx pgx.Tx) (cells, error) {
	if !t.message.complete {
		return t.cells, nil
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return nil, err
	}
	today := civil.DateOf(now.In(t.hotel.zone))
	planned, err := inventory.PlannedNightsTx(ctx, tx, t.hotel.tenant, t.hotel.property, t.hotel.coded(), today, civil.Date{Year: 2199, Month: time.December, Day: 31})
	if err != nil {
		return nil, err
	}
	// A restart begins with what the message says alone.
	set := make(cells, len(t.cells))
	for key, night := range t.cells {
		copied := *night
		set[key] = &copied
	}
	if t.message.kind == KindInventory {
		set.fillInventory(planned)
	} else {
		set.fillRestrictions(planned)
	}
	if len(set) > MaxNights {
		return nil, fault.Invalid("", "with what the message leaves out and so closes or opens these are %d nights of room types; expected at most %d", len(set), MaxNights)
	}
	return set, nil
}

// coded are the room types that messages can name.
func (h hotel) coded() []inventory.RoomTypeID {
	var coded []inventory.RoomTypeID
	for _, r := range h.rooms {
		if r.code != "" {
			coded = append(coded, r.id)
		}
	}
	return coded
}

// keepTx stores a message that was applied, and forgets old ones.
func (t taking) keepTx(ctx context.Context, tx pgx.Tx, actor tenants.Actor, document []byte, nights, warnings int) error {
	queries, tenant, region := dbsqlc.New(tx), actor.Tenant.UUID, string(t.hotel.property.Region)
	if err := queries.MessageInsert(ctx, dbsqlc.MessageInsertParams{
		TenantID: tenant, Region: region, ID: t.id, PropertyID: t.hotel.property.UUID, Kind: string(t.message.kind), Author: actor.Author().Actor,
		EchoToken: t.message.echoToken, TimeStamp: t.message.timeStamp, Nights: int64(nights), Warnings: int64(warnings), Answer: string(document),
	}); err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	now, err := inventory.Now(ctx, tx)
	if err != nil {
		return err
	}
	past, err := queries.MessagesPast(ctx, dbsqlc.MessagesPastParams{
		TenantID: tenant, Region: region, PropertyID: t.hotel.property.UUID, CreatedBefore: now.AddDate(0, 0, -KeptDays), MaxRows: messagesForgotten,
	})
	if err != nil {
		return fmt.Errorf("read old messages: %w", err)
	}
	if len(past) > 0 {
		if _, err := queries.MessagesRemove(ctx, dbsqlc.MessagesRemoveParams{TenantID: tenant, Region: region, Ids: past}); err != nil {
			return fmt.Errorf("remove old messages: %w", err)
		}
	}
	return tenants.AuditTx(ctx, tx, actor, tenants.Change{
		Action: policies.ActionTradeImport, Resource: t.hotel.property,
		After: struct {
			Message   Kind
			EchoToken string
			TimeStamp string
			Complete  bool
			Nights    int
			Warnings  int
		}{t.message.kind, t.message.echoToken, t.message.timeStamp, t.message.complete, nights, warnings},
	})
}
