package graph_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// door calls one of the doors of the trade as somebody.
func (c client) door(method, path, mediaType, body string) (int, http.Header, string) {
	t := c.server.t
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.server.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(content)
}

const setTradeCodes = `mutation($input: SetTradeCodesInput!) { setTradeCodes(input: $input) { hotelCode } }`

// coded gives a house's hotel and room type codes.
func (h *house) coded(hotel string) {
	var set struct {
		SetTradeCodes struct{ HotelCode string }
	}
	h.admin.get(setTradeCodes, vars{"input": vars{
		"requestKey": key(), "property": h.property, "hotelCode": hotel, "roomTypes": []any{vars{"roomType": h.double, "code": "DBL"}},
	}}, &set)
	if set.SetTradeCodes.HotelCode != hotel {
		h.server.t.Errorf("the hotel's code is %q", set.SetTradeCodes.HotelCode)
	}
}

const countMessage = `<OTA_HotelInvCountNotifRQ xmlns="http://www.opentravel.org/OTA/2003/05" Version="4" EchoToken="7" TimeStamp="2030-01-01T00:00:00Z">
	<Inventories HotelCode="ASTORIA"><Inventory><StatusApplicationControl Start="2030-05-01" End="2030-05-03" InvTypeCode="DBL"/>
	<InvCounts><InvCount CountType="2" Count="4"/></InvCounts></Inventory></Inventories></OTA_HotelInvCountNotifRQ>`

func TestMessagesByHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.coded("ASTORIA")
	status, header, body := h.admin.door(http.MethodPost, "/trade/ota", "application/xml; charset=utf-8", countMessage)
	if status != http.StatusOK || !strings.Contains(body, "<OTA_HotelInvCountNotifRS") || !strings.Contains(body, "<Success>") || !strings.HasPrefix(header.Get("Content-Type"), "application/xml") {
		t.Fatalf("the message is answered %d %s", status, body)
	}
	query := url.Values{"property": {h.property}, "from": {"2030-05-01"}, "to": {"2030-05-04"}}.Encode()
	status, _, exported := h.admin.door(http.MethodGet, "/trade/ota/inventory.xml?"+query, "", "")
	if status != http.StatusOK || !strings.Contains(exported, `<StatusApplicationControl Start="2030-05-01" End="2030-05-03" InvTypeCode="DBL">`) || !strings.Contains(exported, `<InvCount CountType="2" Count="4">`) {
		t.Errorf("the export is answered %d %s", status, exported)
	}
	for _, path := range []string{"restrictions", "rates"} {
		if status, _, body := h.admin.door(http.MethodGet, "/trade/ota/"+path+".xml?"+query, "", ""); status != http.StatusOK || !strings.Contains(body, `HotelCode="ASTORIA"`) {
			t.Errorf("%s are answered %d %s", path, status, body)
		}
	}
	var seen struct {
		TradeMessages struct {
			Nodes []struct {
				Kind, EchoToken  string
				Nights, Warnings int
			}
		}
	}
	h.admin.get(`query($property: ID!) { tradeMessages(property: $property) { nodes { kind echoToken nights warnings } } }`, vars{"property": h.property}, &seen)
	if len(seen.TradeMessages.Nodes) != 1 || seen.TradeMessages.Nodes[0].Nights != 3 || seen.TradeMessages.Nodes[0].Kind != "INVENTORY" {
		t.Errorf("the messages are %+v", seen)
	}
}

func TestDoorsOfTheTradeRefuse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	h.coded("ASTORIA")
	for name, test := range map[string]struct {
		as              client
		mediaType, body string
		status          int
		want            string
	}{
		"nobody":      {client{server: h.admin.server, key: "unknown"}, "application/xml", countMessage, http.StatusUnauthorized, "UNAUTHENTICATED"},
		"a shop":      {h.page, "application/xml", countMessage, http.StatusForbidden, `Type="6" Code="497"`},
		"JSON":        {h.admin, "application/json", "{}", http.StatusUnsupportedMediaType, "application/xml or text/xml"},
		"Latin 1":     {h.admin, "text/xml; charset=iso-8859-1", countMessage, http.StatusUnsupportedMediaType, "UTF-8"},
		"too large":   {h.admin, "text/xml", strings.Repeat(" ", 5<<20), http.StatusRequestEntityTooLarge, "at most"},
		"other hotel": {h.admin, "text/xml", strings.ReplaceAll(countMessage, "ASTORIA", "OTHER"), http.StatusOK, `Code="392"`},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := test.as.door(http.MethodPost, "/trade/ota", test.mediaType, test.body); status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("answered %d %s", status, body)
			}
		})
	}
}

// Another tenant's hotel is answered like one that is not there, at every door.
func TestDoorsOfTheTradeKeepTenantsApart(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	h, other := newHouse(t, s), newHouse(t, s)
	h.coded("ASTORIA")
	for _, door := range []struct{ method, path, parameter, id, mediaType, body string }{
		{http.MethodGet, "/trade/ota/inventory.xml", "property", h.property, "", ""},
		{http.MethodGet, "/trade/ota/restrictions.xml", "property", h.property, "", ""},
		{http.MethodGet, "/trade/ota/rates.xml", "property", h.property, "", ""},
		{http.MethodGet, "/trade/nights.csv", "roomType", h.double, "", ""},
		{http.MethodPost, "/trade/nights.csv", "roomType", h.double, "text/csv", "night,physical\n2030-05-01,4\n"},
		{http.MethodGet, "/trade/calendar.ics", "roomType", h.double, "", ""},
		{http.MethodPost, "/trade/calendar.ics", "roomType", h.double, "text/calendar", emptyCalendar},
	} {
		answers := map[string]string{}
		for _, id := range []string{door.id, randomID(door.id)} {
			query := url.Values{door.parameter: {id}, "from": {"2030-05-01"}, "to": {"2030-05-04"}}
			status, _, body := other.admin.door(door.method, door.path+"?"+query.Encode(), door.mediaType, door.body)
			if status != http.StatusNotFound {
				t.Errorf("%s %s of another's is answered %d %s", door.method, door.path, status, body)
			}
			answers[body] = id
		}
		if len(answers) != 1 {
			t.Errorf("%s %s answers a foreign id otherwise than a random one: %v", door.method, door.path, answers)
		}
	}
	if _, _, body := other.admin.door(http.MethodPost, "/trade/ota", "text/xml", countMessage); !strings.Contains(body, `Code="392"`) {
		t.Errorf("a message to another's hotel is answered %s", body)
	}
}

const emptyCalendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\nEND:VCALENDAR\r\n"

func TestFilesByHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t, newServer(t, nil))
	query := url.Values{"roomType": {h.double}, "from": {"2030-05-01"}, "to": {"2030-05-04"}}.Encode()
	if status, _, body := h.admin.door(http.MethodPost, "/trade/nights.csv?"+query, "text/csv", "night,physical,rate\n2030-05-01,4,99.50\n2030-05-02,5,80\n"); status != http.StatusOK || body != `{"nights":2,"oversold":[]}`+"\n" {
		t.Fatalf("the file is answered %d %s", status, body)
	}
	if status, header, body := h.admin.door(http.MethodGet, "/trade/nights.csv?"+query, "", ""); status != http.StatusOK ||
		!strings.Contains(body, "\n2030-05-01,4,0,0,,99.50,false,") || header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("the export is answered %d %s", status, body)
	}
	if status, _, body := h.admin.door(http.MethodPost, "/trade/nights.csv?"+query, "text/csv", "night,physical\n2030-05-01,4\n2030-05-02,x\n"); status != http.StatusBadRequest || !strings.Contains(body, "line 3, column physical") {
		t.Errorf("a bad file is answered %d %s", status, body)
	}
	stay := strings.Replace(emptyCalendar, "END:VCALENDAR", "BEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20300501\r\nDTEND;VALUE=DATE:20300503\r\nEND:VEVENT\r\nEND:VCALENDAR", 1)
	if status, _, body := h.admin.door(http.MethodPost, "/trade/calendar.ics?"+query+"&name=agency", "text/calendar; charset=utf-8", stay); status != http.StatusOK || body != `{"events":1,"closed":2,"opened":0,"unplanned":0}`+"\n" {
		t.Errorf("the calendar is answered %d %s", status, body)
	}
	if status, header, body := h.admin.door(http.MethodGet, "/trade/calendar.ics?"+query, "", ""); status != http.StatusOK ||
		!strings.Contains(body, "DTSTART;VALUE=DATE:20300501") || header.Get("Content-Type") != "text/calendar; charset=utf-8" {
		t.Errorf("the calendar's export is answered %d %s", status, body)
	}
	if status, _, body := h.admin.door(http.MethodGet, "/trade/calendar.ics?roomType="+h.double, "", ""); status != http.StatusOK || !strings.Contains(body, "END:VCALENDAR") {
		t.Errorf("the calendar of a year is answered %d %s", status, body)
	}
	if status, _, body := h.admin.door(http.MethodPost, "/trade/calendar.ics?"+query, "text/calendar", "BEGIN:VCALENDAR"); status != http.StatusBadRequest || !strings.Contains(body, "did not arrive whole") {
		t.Errorf("a bad calendar is answered %d %s", status, body)
	}
	if status, _, _ := h.page.door(http.MethodGet, "/trade/nights.csv?"+query, "", ""); status != http.StatusForbidden {
		t.Errorf("a shop's page gets the plan of nights: %d", status)
	}
}
