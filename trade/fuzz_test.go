package trade

import (
	"bytes"
	"encoding/xml"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast/holdfast/inventory"
)

// fuzzHotel is a hotel with two room types, which is in no database.
func fuzzHotel() hotel {
	return hotel{code: "H1", standardRate: DefaultStandardRate, currency: "EUR", zone: time.UTC, rooms: []room{
		{id: inventory.RoomTypeID{Region: "eu", UUID: uuid.UUID{1}}, code: "DBL", maxGuests: 2},
		{id: inventory.RoomTypeID{Region: "eu", UUID: uuid.UUID{2}}, code: "SGL", maxGuests: 1},
	}}
}

// FuzzMessages: whatever arrives is answered with a document, is bounded, and sets nothing when it has errors.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`<OTA_HotelInvCountNotifRQ xmlns="http://www.opentravel.org/OTA/2003/05" Version="4"><Inventories HotelCode="H1"><Inventory><StatusApplicationControl Start="2097-11-01" End="2097-11-09" InvTypeCode="DBL"/><InvCounts><InvCount CountType="2" Count="4"/></InvCounts></Inventory></Inventories></OTA_HotelInvCountNotifRQ>`,
		`<OTA_HotelAvailNotifRQ xmlns="http://www.opentravel.org/OTA/2003/05"><AvailStatusMessages HotelCode="H1"><AvailStatusMessage BookingLimit="2"><StatusApplicationControl Start="2097-11-01" End="2097-11-09" InvTypeCode="DBL" Mon="1"/><LengthsOfStay><LengthOfStay MinMaxMessageType="SetMinLOS" Time="2"/></LengthsOfStay><RestrictionStatus Restriction="Arrival" Status="Close"/></AvailStatusMessage></AvailStatusMessages></OTA_HotelAvailNotifRQ>`,
		`<OTA_HotelRatePlanNotifRQ xmlns="http://www.opentravel.org/OTA/2003/05"><RatePlans HotelCode="H1"><RatePlan RatePlanCode="STANDARD" CurrencyCode="EUR"><Rates><Rate InvTypeCode="DBL" Start="2097-11-01" End="2097-11-09"><BaseByGuestAmts><BaseByGuestAmt NumberOfGuests="2" Type="7" AmountAfterTax="12000" DecimalPlaces="2"/></BaseByGuestAmts></Rate></Rates><BookingRules><BookingRule Start="2097-11-01" End="2097-11-09" CodeContext="ROOMTYPE" Code="DBL"><DOW_Restrictions><ArrivalDaysOfWeek Sun="0"/></DOW_Restrictions></BookingRule></BookingRules></RatePlan></RatePlans></OTA_HotelRatePlanNotifRQ>`,
		`<!DOCTYPE a><a/>`, "", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, n := parse(body)
		if len(n.errors) == 0 {
			set := resolve(m, fuzzHotel(), &n)
			if len(set) > MaxNights+1 {
				t.Errorf("%d nights are set", len(set))
			}
			for key, night := range set {
				if key.night != night.Night || !night.Night.IsValid() || night.Change.RateMinor != nil && *night.Change.RateMinor < 0 {
					t.Errorf("%v is set to %+v", key, night)
				}
			}
		}
		if len(n.errors) > maxErrors || len(n.warnings) > maxWarnings {
			t.Errorf("%d errors and %d warnings", len(n.errors), len(n.warnings))
		}
		written, err := answerTo(m, n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseElement(written); err != nil {
			t.Errorf("the answer cannot be read: %v\n%s", err, written)
		}
		if err := xml.NewDecoder(bytes.NewReader(written)).Decode(new(struct{})); err != nil {
			t.Error(err)
		}
	})
}

// FuzzCalendars: whatever arrives is refused, or closes bounded ranges.
func FuzzCalendars(f *testing.F) {
	f.Add([]byte("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20971101\r\nDTEND;VALUE=DATE:20971104\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"))
	f.Add([]byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART;TZID=Europe/Vienna:20971101T150000\nDTEND:20971104T090000Z\nEND:VEVENT\nEND:VCALENDAR\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		events, err := readCalendar(content, time.UTC)
		if err != nil {
			return
		}
		for _, e := range events {
			if e.last.Before(e.first) || e.last.DaysSince(e.first) >= maxEventNights || e.uid == "" {
				t.Errorf("an event is %+v", e)
			}
		}
	})
}
