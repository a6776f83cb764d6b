package tenants

import "time"

// Limits of this package. Each also stands in the schema where a column has one.
const (
	// MaxPage is the most entities that one page of a list holds.
	MaxPage = 100
	// MaxBatch is the most ids that one batched read takes.
	MaxBatch = 500

	// auditStaleness is how old the log of changes may be that is read.
	auditStaleness = 5 * time.Second

	maxNameLength           = 200
	maxChannelNameLength    = 100
	maxKeyNameLength        = 100
	maxCityLength           = 100
	maxTimeZoneLength       = 64
	minSlugLength           = 2
	maxSlugLength           = 40
	maxPaymentAccountLength = 200

	maxSubjectLength = 255
	minEmailLength   = 3
	maxEmailLength   = 254
	// maxMembers bounds the members of a tenant who were not removed, and maxBindings the roles of
	// one: a manager of each hotel of a large chain has fewer.
	maxMembers     = 10_000
	maxBindings    = 1_000
	maxRefundLimit = 1_000_000_000_000

	// maxKeyLifetime bounds an expiry that is given: a later one is more likely a wrong unit.
	maxKeyLifetime = 10 * 366 * 24 * time.Hour

	minSessionLifetime     = time.Minute
	maxSessionLifetime     = 30 * 24 * time.Hour
	defaultSessionLifetime = 24 * time.Hour

	// adminSessionLifetime is after how long a person has to present the key again.
	adminSessionLifetime = time.Hour

	// A revoked key or a suspended channel is noticed by other processes after at most this long.
	maxKeyCacheAge     = 10 * time.Second
	defaultKeyCacheAge = 2 * time.Second

	maxSessionCacheAge     = time.Hour
	defaultSessionCacheAge = 10 * time.Minute

	maxCacheSize            = 10_000_000
	defaultKeyCacheSize     = 10_000
	defaultSessionCacheSize = 50_000

	// maxTokenLength is far above any token; longer text is refused before it is hashed.
	maxTokenLength = 256

	// lookupTimeout bounds the read behind one credential, which several requests may await.
	lookupTimeout = 5 * time.Second

	// A key's last use is noted at most once in usedInterval, by at most maxUsedWriters at a time: on
	// CockroachDB the keys are a GLOBAL table, whose writes wait for every region.
	usedInterval     = time.Hour
	maxUsedWriters   = 4
	usedWriteTimeout = 5 * time.Second
)
