package tenants

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/internal/money"
)

// Site is what a property and a venue have in common: where it stands, what its clocks show and in
// which money it sells. None of it changes once stock is for sale.
type Site struct {
	// Name is 1 to 200 characters.
	Name string
	// TimeZone is an IANA name such as "Europe/Vienna": it decides which day it is at the site.
	TimeZone string
	Currency money.Currency
	// Country is an ISO 3166 code of two upper-case letters.
	Country string
	// City is 1 to 100 characters.
	City string
}

// Location is the site's time zone.
func (s Site) Location() (*time.Location, error) {
	location, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("the time zone of %s: %w", s.Name, err)
	}
	return location, nil
}

// checked is the site without the spaces around its texts, or the first thing wrong with it.
func (s Site) checked() (Site, error) {
	var err error
	if s.Name, err = text("name", s.Name, maxNameLength); err != nil {
		return Site{}, err
	}
	if err := checkTimeZone(s.TimeZone); err != nil {
		return Site{}, err
	}
	if s.Currency, err = money.ParseCurrency(string(s.Currency)); err != nil {
		return Site{}, fault.Invalid("currency", "%s", err)
	}
	if !isCountry(s.Country) {
		return Site{}, fault.Invalid("country", "expected an ISO 3166 country code of two upper-case letters such as \"AT\", got %.8q", s.Country)
	}
	if s.City, err = text("city", s.City, maxCityLength); err != nil {
		return Site{}, err
	}
	return s, nil
}

func checkTimeZone(name string) error {
	// Go reads "" as UTC and "Local" as the server's zone: neither says where the site is.
	if name != "" && name != "Local" && len(name) <= maxTimeZoneLength {
		if _, err := time.LoadLocation(name); err == nil {
			return nil
		}
	}
	return fault.Invalid("timeZone", "expected an IANA time zone such as \"Europe/Vienna\", got %.64q", name)
}

// countries are the officially assigned codes of ISO 3166-1, each followed by a space.
const countries = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ " +
	"BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ " +
	"DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR " +
	"GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY " +
	"HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP " +
	"KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY " +
	"MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ " +
	"NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA " +
	"RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ " +
	"TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ " +
	"VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW "

func isCountry(code string) bool {
	return len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z' &&
		strings.Contains(countries, code+" ")
}

func siteOf(name, timeZone, currency, country, city string) Site {
	return Site{Name: name, TimeZone: timeZone, Currency: money.Currency(currency), Country: country, City: city}
}
