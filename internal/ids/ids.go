package ids

import (
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// A Kind names a sort of entity and fixes the prefix of its public ids. Kinds are empty structs;
// they exist so that a HoldID and a BookingID are different Go types.
type Kind interface {
	// Prefix is the lower-case word before the first underscore, such as "hold".
	Prefix() string
}

// encodedLength is how many base32 characters 128 bits take.
const encodedLength = 26

// encoding is Crockford's base32 alphabet in lower case: no i, l, o or u, so that an id survives
// being read aloud.
var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Region is the short code of the place where a row lives, such as "eu". It is fixed by the
// property or venue and is part of every key of a regional table.
type Region string

// maxRegionLength keeps public ids short.
const maxRegionLength = 8

// RegionOfNobody is where rows are kept that belong to no tenant's region. ISO 3166 leaves the code to
// its users, so no place has it.
const RegionOfNobody Region = "xx"

// ParseRegion accepts 2 to 8 lower-case letters.
func ParseRegion(text string) (Region, error) {
	if len(text) < 2 || len(text) > maxRegionLength {
		return "", fmt.Errorf("a region is 2 to %d lower-case letters, such as \"eu\"", maxRegionLength)
	}
	for _, r := range text {
		if r < 'a' || r > 'z' {
			return "", fmt.Errorf("a region is 2 to %d lower-case letters, such as \"eu\"", maxRegionLength)
		}
	}
	return Region(text), nil
}

// ID names an entity that lives in a region.
type ID[K Kind] struct {
	Region Region
	UUID   uuid.UUID
}

// New makes a fresh random id in a region.
func New[K Kind](region Region) ID[K] {
	return ID[K]{Region: region, UUID: uuid.New()}
}

// IsZero reports whether the id names nothing.
func (id ID[K]) IsZero() bool { return id.UUID == uuid.Nil }

// String is the public form, such as hold_eu_06bq….
func (id ID[K]) String() string {
	var kind K
	return kind.Prefix() + "_" + string(id.Region) + "_" + encode(id.UUID)
}

// MarshalText is the public form.
func (id ID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts only the public form of this kind.
func (id *ID[K]) UnmarshalText(text []byte) error {
	parsed, err := Parse[K](string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Parse reads the public form. An id of another kind is an error that says so; nothing is looked up.
func Parse[K Kind](text string) (ID[K], error) {
	var kind K
	parts := strings.Split(text, "_")
	if len(parts) != 3 || parts[0] != kind.Prefix() {
		return ID[K]{}, wrongForm(kind.Prefix()+"_<region>_", text)
	}
	region, err := ParseRegion(parts[1])
	if err != nil {
		return ID[K]{}, wrongForm(kind.Prefix()+"_<region>_", text)
	}
	value, ok := decode(parts[2])
	if !ok {
		return ID[K]{}, wrongForm(kind.Prefix()+"_<region>_", text)
	}
	return ID[K]{Region: region, UUID: value}, nil
}

// GlobalID names a directory entity: one that every region reads, such as a tenant.
type GlobalID[K Kind] struct {
	UUID uuid.UUID
}

// NewGlobal makes a fresh random directory id.
func NewGlobal[K Kind]() GlobalID[K] { return GlobalID[K]{UUID: uuid.New()} }

// IsZero reports whether the id names nothing.
func (id GlobalID[K]) IsZero() bool { return id.UUID == uuid.Nil }

// String is the public form, such as tenant_06bq….
func (id GlobalID[K]) String() string {
	var kind K
	return kind.Prefix() + "_" + encode(id.UUID)
}

// MarshalText is the public form.
func (id GlobalID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts only the public form of this kind.
func (id *GlobalID[K]) UnmarshalText(text []byte) error {
	parsed, err := ParseGlobal[K](string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseGlobal reads the public form of a directory id.
func ParseGlobal[K Kind](text string) (GlobalID[K], error) {
	var kind K
	parts := strings.Split(text, "_")
	if len(parts) != 2 || parts[0] != kind.Prefix() {
		return GlobalID[K]{}, wrongForm(kind.Prefix()+"_", text)
	}
	value, ok := decode(parts[1])
	if !ok {
		return GlobalID[K]{}, wrongForm(kind.Prefix()+"_", text)
	}
	return GlobalID[K]{UUID: value}, nil
}

// PrefixOf is the kind named by a public id's text, or "" when it has none. It serves lookups by
// any id, which choose the kind before they parse.
func PrefixOf(text string) string {
	prefix, _, found := strings.Cut(text, "_")
	if !found {
		return ""
	}
	return prefix
}

func wrongForm(prefix, text string) error {
	const shown = 48
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return fmt.Errorf("expected an id of the form %s<%d characters>, got %q", prefix, encodedLength, text)
}

func encode(value uuid.UUID) string { return encoding.EncodeToString(value[:]) }

func decode(text string) (uuid.UUID, bool) {
	if len(text) != encodedLength {
		return uuid.Nil, false
	}
	raw, err := encoding.DecodeString(text)
	if err != nil {
		return uuid.Nil, false
	}
	value, err := uuid.FromBytes(raw)
	// Trailing bits make several texts decode to one value; only the canonical one is an id.
	if err != nil || encode(value) != text {
		return uuid.Nil, false
	}
	return value, true
}
