package tenants

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// ChannelType says who sells through a channel.
type ChannelType string

// The types of channel.
const (
	// ChannelTypeOwnSite is the tenant's own shop on the web.
	ChannelTypeOwnSite ChannelType = "OWN_SITE"
	// ChannelTypeBoxOffice is the tenant's staff.
	ChannelTypeBoxOffice ChannelType = "BOX_OFFICE"
	// ChannelTypePartner is another company.
	ChannelTypePartner ChannelType = "PARTNER"
)

// Channel is a way of selling; stock can be set aside for it.
type Channel struct {
	ID     ChannelID
	Tenant TenantID
	// Name is unique among the tenant's channels.
	Name string
	Type ChannelType
	// Suspended channels sell nothing: their keys still authenticate, and holds are refused.
	Suspended bool
	CreatedAt time.Time
}

// NewChannel is what CreateChannel is told.
type NewChannel struct {
	// Name is 1 to 100 characters.
	Name string
	Type ChannelType
}

// CreateChannel makes a channel of the actor's tenant. A name that is taken is a
// fault.KindConflict.
func (s *Service) CreateChannel(ctx context.Context, actor Actor, requestKey string, input NewChannel) (Channel, error) {
	if err := s.authorizer.Authorize(actor, ActionChannelCreate, actor.Tenant); err != nil {
		return Channel{}, err
	}
	var err error
	if input.Name, err = text("name", input.Name, maxChannelNameLength); err != nil {
		return Channel{}, err
	}
	switch input.Type {
	case ChannelTypeOwnSite, ChannelTypeBoxOffice, ChannelTypePartner:
	default:
		return Channel{}, fault.Invalid("kind", "expected %s, %s or %s, got %.20q", ChannelTypeOwnSite, ChannelTypeBoxOffice, ChannelTypePartner, input.Type)
	}
	command, err := newCommand("createChannel", actor, requestKey, input)
	if err != nil {
		return Channel{}, err
	}
	id := ids.NewGlobal[ChannelKind]()
	return db.Replayable(ctx, s.db, "tenants.CreateChannel", func(ctx context.Context, tx pgx.Tx) (Channel, error) {
		return createChannelTx(ctx, tx, command, actor, id, input)
	})
}

func createChannelTx(ctx context.Context, tx pgx.Tx, command command, actor Actor, id ChannelID, input NewChannel) (Channel, error) {
	queries, tenantID := dbsqlc.New(tx), actor.Tenant
	tenant, err := tenantTx(ctx, queries, tenantID)
	if err != nil {
		return Channel{}, err
	}
	earlier, replayed, err := command.claimTx(ctx, tx, tenantID.UUID, tenant.HomeRegion, id.UUID)
	if err != nil {
		return Channel{}, err
	}
	if replayed {
		return channelTx(ctx, queries, tenantID, ChannelID{UUID: earlier})
	}
	row, err := queries.ChannelInsert(ctx, dbsqlc.ChannelInsertParams{
		TenantID: tenantID.UUID, ID: id.UUID, Name: input.Name, Kind: string(input.Type),
	})
	if db.ViolatedConstraint(err) == "channels_name_unique" {
		return Channel{}, fault.Conflict("another channel has the name %q", input.Name)
	}
	if err != nil {
		return Channel{}, fmt.Errorf("insert the channel %s: %w", id, err)
	}
	return channelOf(row), AuditTx(ctx, tx, actor, Change{Action: ActionChannelCreate, Resource: id, After: input})
}

// channelTx is a channel of the tenant, or fault.KindNotFound.
func channelTx(ctx context.Context, queries *dbsqlc.Queries, tenant TenantID, id ChannelID) (Channel, error) {
	rows, err := queries.ChannelGetMany(ctx, dbsqlc.ChannelGetManyParams{TenantID: tenant.UUID, Ids: []uuid.UUID{id.UUID}})
	if err != nil {
		return Channel{}, fmt.Errorf("read the channel %s: %w", id, err)
	}
	if len(rows) == 0 {
		return Channel{}, fault.NotFound("channel")
	}
	return channelOf(rows[0]), nil
}

// SetChannelSuspended stops or resumes a channel's sales. What it holds or has sold stays. Saying
// it twice changes nothing. Other processes notice after at most Config.KeyCacheAge.
func (s *Service) SetChannelSuspended(ctx context.Context, actor Actor, id ChannelID, suspended bool) (Channel, error) {
	if err := s.authorizer.Authorize(actor, ActionChannelSuspend, actor.Tenant); err != nil {
		return Channel{}, err
	}
	channel, err := db.Replayable(ctx, s.db, "tenants.SetChannelSuspended", func(ctx context.Context, tx pgx.Tx) (Channel, error) {
		before, err := channelTx(ctx, dbsqlc.New(tx), actor.Tenant, id)
		if err != nil {
			return Channel{}, err
		}
		row, err := dbsqlc.New(tx).ChannelUpdateSuspended(ctx, dbsqlc.ChannelUpdateSuspendedParams{
			TenantID: actor.Tenant.UUID, ID: id.UUID, Suspended: suspended,
		})
		if db.IsNoRows(err) {
			return Channel{}, fault.NotFound("channel")
		}
		if err != nil {
			return Channel{}, fmt.Errorf("suspend or resume the channel %s: %w", id, err)
		}
		return channelOf(row), AuditTx(ctx, tx, actor, Change{
			Action: ActionChannelSuspend, Resource: id,
			Before: map[string]bool{"suspended": before.Suspended}, After: map[string]bool{"suspended": suspended},
		})
	})
	if err != nil {
		return Channel{}, err
	}
	s.keys.dropWhere(func(known knownKey) bool { return known.actor.Channel == id })
	return channel, nil
}

// Channel is one channel of the actor's tenant.
func (s *Service) Channel(ctx context.Context, actor Actor, id ChannelID) (Channel, error) {
	found, err := s.ChannelsByID(ctx, actor, []ChannelID{id})
	if err != nil {
		return Channel{}, err
	}
	channel, ok := found[id]
	if !ok {
		return Channel{}, fault.NotFound("channel")
	}
	return channel, nil
}

// ChannelsByID are those of up to MaxBatch ids that are the actor's tenant's; the others are left
// out.
func (s *Service) ChannelsByID(ctx context.Context, actor Actor, batch []ChannelID) (map[ChannelID]Channel, error) {
	// Who sells somewhere must know through what; a channel is of no place.
	if _, err := ReachOf(s.authorizer.Authorize(actor, ActionChannelRead, actor.Tenant)); err != nil {
		return nil, err
	}
	uuids, err := uuidsOf(batch, func(id ChannelID) uuid.UUID { return id.UUID })
	if err != nil {
		return nil, err
	}
	rows, err := s.read().ChannelGetMany(ctx, dbsqlc.ChannelGetManyParams{TenantID: actor.Tenant.UUID, Ids: uuids})
	if err != nil {
		return nil, failed("read channels", err)
	}
	found := make(map[ChannelID]Channel, len(rows))
	for _, row := range rows {
		channel := channelOf(row)
		found[channel.ID] = channel
	}
	return found, nil
}

// Channels lists the channels of the actor's tenant.
func (s *Service) Channels(ctx context.Context, actor Actor, after ChannelID, limit int) (Page[Channel], error) {
	// Who sells somewhere must know through what; a channel is of no place.
	if _, err := ReachOf(s.authorizer.Authorize(actor, ActionChannelRead, actor.Tenant)); err != nil {
		return Page[Channel]{}, err
	}
	if err := checkPage(limit); err != nil {
		return Page[Channel]{}, err
	}
	rows, err := s.read().ChannelList(ctx, dbsqlc.ChannelListParams{TenantID: actor.Tenant.UUID, After: after.UUID, MaxRows: int64(limit) + 1})
	if err != nil {
		return Page[Channel]{}, failed("list channels", err)
	}
	return pageOf(rows, limit, channelOf), nil
}

func channelOf(row dbsqlc.Channel) Channel {
	return Channel{
		ID: ChannelID{UUID: row.ID}, Tenant: TenantID{UUID: row.TenantID}, Name: row.Name,
		Type: ChannelType(row.Kind), Suspended: row.Suspended, CreatedAt: row.CreatedAt,
	}
}
