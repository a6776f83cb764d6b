package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast/holdfast/internal/db"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/ids"
	"github.com/holdfast/holdfast/tenants/internal/dbsqlc"
)

// Service sets up tenants and what belongs to them, issues keys and guest sessions, and tells who
// presents them. It is safe for concurrent use.
//
// Every method authorises first. An id that does not exist and an id of another tenant give the
// same fault.KindNotFound. Methods that create something take a request key: the same key with the
// same content answers with the entity of the first call, and with other content with
// request.ErrKeyReused.
type Service struct {
	db         *db.DB
	authorizer Authorizer
	config     Config

	keys     *credentialCache[knownKey]
	sessions *credentialCache[knownSession]
	grants   *credentialCache[knownGrants]
	// customers has the secrets that sign references to customers.
	customers *credentialCache[knownSecret]
	lookups   singleflight.Group

	// usedWriters has a place for each write of last_used_at that is under way.
	usedWriters chan struct{}
	background  sync.WaitGroup
}

// Authorizer decides whether an actor may do something in a tenant. The zero tenant is the
// installation itself. policies.Enforcer is one; this package cannot import it.
type Authorizer interface {
	// Authorize is nil, or a fault: KindNotFound for a tenant that is not the actor's, KindDenied
	// for an action that the actor's roles lack, KindUnauthenticated for the zero actor. The denial
	// of what a member may do at some places only is a *LimitedError.
	Authorize(actor Actor, action Action, tenant TenantID) error
}

// Config adjusts a Service. The zero value works.
type Config struct {
	// Regions are those that tenants, properties and venues may name. Default: any that is well
	// formed, for an installation of one database without placement.
	Regions []ids.Region
	// Providers are the payment providers that a new tenant may name: those that are configured. Default:
	// any that there is.
	Providers []string
	// SessionLifetime is how long a guest session is good, 1 minute to 30 days. Default 24 hours.
	SessionLifetime time.Duration
	// Tokens judges the tokens of identity providers. Default: nobody signs in with one.
	Tokens TokenVerifier
	// KeyCacheAge is how long a key or token that was found good is not looked up again, up to 10
	// seconds. It is also how late another process notices a revocation, a suspended channel or a
	// member's change of role; this process notices its own at once. Default 2 seconds.
	KeyCacheAge time.Duration
	// SessionCacheAge is the same for sessions, which never change before they expire, up to 1
	// hour. Default 10 minutes.
	SessionCacheAge time.Duration
	// KeyCacheSize bounds the keys remembered, at about 300 bytes each. Default 10,000.
	KeyCacheSize int
	// SessionCacheSize bounds the sessions remembered, at about 300 bytes each. Default 50,000.
	SessionCacheSize int
	// Logger hears of failures that harm no request. Default: nobody.
	Logger *slog.Logger
}

// Validate names the setting that is out of its range.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, region := range c.Regions {
		if _, err := ids.ParseRegion(string(region)); err != nil {
			return fmt.Errorf("the setting Regions: %w", err)
		}
	}
	switch {
	case c.SessionLifetime < minSessionLifetime || c.SessionLifetime > maxSessionLifetime:
		return fmt.Errorf("SessionLifetime: expected %s to %s", minSessionLifetime, maxSessionLifetime)
	case c.KeyCacheAge < 0 || c.KeyCacheAge > maxKeyCacheAge:
		return fmt.Errorf("KeyCacheAge: expected at most %s", maxKeyCacheAge)
	case c.SessionCacheAge < 0 || c.SessionCacheAge > maxSessionCacheAge:
		return fmt.Errorf("SessionCacheAge: expected at most %s", maxSessionCacheAge)
	case c.KeyCacheSize < 1 || c.KeyCacheSize > maxCacheSize:
		return fmt.Errorf("KeyCacheSize: expected 1 to %d", maxCacheSize)
	case c.SessionCacheSize < 1 || c.SessionCacheSize > maxCacheSize:
		return fmt.Errorf("SessionCacheSize: expected 1 to %d", maxCacheSize)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.SessionLifetime == 0 {
		c.SessionLifetime = defaultSessionLifetime
	}
	if c.KeyCacheAge == 0 {
		c.KeyCacheAge = defaultKeyCacheAge
	}
	if c.SessionCacheAge == 0 {
		c.SessionCacheAge = defaultSessionCacheAge
	}
	if c.KeyCacheSize == 0 {
		c.KeyCacheSize = defaultKeyCacheSize
	}
	if c.SessionCacheSize == 0 {
		c.SessionCacheSize = defaultSessionCacheSize
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// NewService makes a Service of a valid configuration.
func NewService(d *db.DB, authorizer Authorizer, config Config) *Service {
	config = config.withDefaults()
	return &Service{
		db:          d,
		authorizer:  authorizer,
		config:      config,
		keys:        newCredentialCache[knownKey](config.KeyCacheSize),
		sessions:    newCredentialCache[knownSession](config.SessionCacheSize),
		grants:      newCredentialCache[knownGrants](config.KeyCacheSize),
		customers:   newCredentialCache[knownSecret](config.KeyCacheSize),
		usedWriters: make(chan struct{}, maxUsedWriters),
	}
}

// Close waits for writes that no request waits for. Call it before closing the database.
func (s *Service) Close() { s.background.Wait() }

// read gives the queries for a read outside any transaction.
func (s *Service) read() *dbsqlc.Queries { return dbsqlc.New(s.db.Pool()) }

// region checks a region that the caller chose.
func (s *Service) region(field string, region ids.Region) error {
	if _, err := ids.ParseRegion(string(region)); err != nil {
		return fault.Invalid(field, "%s", err)
	}
	if len(s.config.Regions) > 0 && !slices.Contains(s.config.Regions, region) {
		return fault.Invalid(field, "expected one of the regions %q, got %q", s.config.Regions, region)
	}
	return nil
}

// failed says what was being done when the database refused or failed.
func failed(doing string, err error) error {
	return db.Classify(fmt.Errorf("%s: %w", doing, err))
}

// errInconsistent is a defect: rows that are written together were not found together.
var errInconsistent = errors.New("a row that must exist does not")

// tenantTx is the tenant's row, which tells the region of its request keys.
func tenantTx(ctx context.Context, queries *dbsqlc.Queries, id TenantID) (Tenant, error) {
	row, err := queries.TenantGet(ctx, id.UUID)
	if db.IsNoRows(err) {
		return Tenant{}, fault.NotFound("tenant")
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("read the tenant %s: %w", id, err)
	}
	return tenantOf(row), nil
}
