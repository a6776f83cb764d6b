package graph_test

import (
	"fmt"
	"slices"
	"testing"
)

// A tenant with two hotels and an arena is set up, staffed, blocked, oversold, released and audited
// through the API alone: the admin with the admin's key, each member signed in as themselves. R11, R23, R27.
func TestTwoHotelsAndAnArena(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	// The arena and the first hotel; the platform only made the tenant.
	h := newHouse(t, s)
	var seaview struct{ CreateProperty created }
	h.admin.get(`mutation($input: CreateSiteInput!) { createProperty(input: $input) { id } }`, vars{"input": site("Seaview")}, &seaview)
	second := h
	second.property = seaview.CreateProperty.ID
	second.double = second.roomType("Sea view")

	// Staffed.
	revenue := h.staff("REVENUE_MANAGER", nil)
	manager := h.staff("PROPERTY_MANAGER", vars{"property": second.property})
	hall := h.staff("VENUE_MANAGER", vars{"venue": h.venue})
	channels := h.staff("CHANNEL_MANAGER", nil)
	desk := h.staff("BOX_OFFICE", nil)
	auditor := h.staff("AUDITOR", nil)

	// Two rooms and one more than there are, for everybody alike, but three of the house at most.
	set := func(as client, room string, change vars) reply {
		return as.post(`mutation($input: SetNightsInput!) { setNights(input: $input) { nights oversold { night excess } } }`,
			vars{"input": vars{"roomType": room, "nights": vars{"from": "2030-03-10", "to": "2030-03-13"}, "change": change}})
	}
	if r := set(revenue, h.double, vars{"physical": 2, "rateMinor": 12000, "oversellPercent": 50, "houseLimit": 3}); len(r.Errors) > 0 {
		t.Fatal(r.body)
	}
	if r := set(manager, second.double, vars{"physical": 4, "rateMinor": 9000}); len(r.Errors) > 0 {
		t.Fatal(r.body)
	}
	if r := set(manager, h.double, vars{"physical": 9}); len(r.Errors) != 1 || r.Errors[0].code() != "NOT_FOUND" {
		t.Errorf("the manager of the second hotel sets the first one's rooms: %s", r.body)
	}

	// Blocked: seats for the partner, a camera's seat, and half the second hotel.
	partners := h.createBlock(hall, vars{"requestKey": key(), "show": h.show, "channel": h.partners, "seats": vars{"seats": h.seats[:2]}})
	camera := h.createBlock(hall, vars{"requestKey": key(), "show": h.show, "reason": "Camera", "seats": vars{"seats": h.seats[2:3]}})
	tour := h.allot(channels, "createAllotment", "CreateAllotmentInput", vars{
		"channel": h.partners, "name": "Coach tours", "roomType": second.double, "quantity": 2, "definite": true, "nights": vars{"from": "2030-03-10", "to": "2030-03-11"},
	})
	if partners.Block.Free != 2 || camera.Block.Free != 1 || tour.State != "DEFINITE" {
		t.Fatalf("blocked: %+v, %+v, %+v", partners, camera, tour)
	}

	// Sold: each channel its own, and nobody the other's.
	guest := h.guest()
	refuse := func(who string, as client, code string, line vars) {
		t.Helper()
		r := h.place(as, vars{"requestKey": key(), "lines": []vars{line}})
		if len(r.Lines) == 0 || !slices.ContainsFunc(r.Lines, func(l heldLine) bool { return l.Code == code }) || r.Typename != "HoldRefused" {
			t.Errorf("%s expected %s, got %+v", who, code, r)
		}
	}
	seat := func(i int) vars { return vars{"seats": vars{"show": h.show, "seats": h.seats[i : i+1]}} }
	refuse("a guest, for the partner's seat,", guest, "IN_OTHER_BLOCK", seat(0))
	refuse("the partner, for the camera's seat,", h.partner, "IN_OTHER_BLOCK", seat(2))
	h.book(h.partner, seat(0))
	h.book(guest, second.stay(second.double, "2030-03-10", "2030-03-12", 2))
	refuse("a guest, for the partner's rooms,", guest, "SOLD_OUT", second.stay(second.double, "2030-03-11", "2030-03-12", 1))
	h.book(h.partner, second.stay(second.double, "2030-03-10", "2030-03-12", 1))

	// Oversold: the third room of two, through the box office as through the site; the fourth through nobody.
	h.book(guest, h.stay(h.double, "2030-03-10", "2030-03-12", 2))
	h.book(desk, h.stay(h.double, "2030-03-10", "2030-03-12", 1))
	for who, as := range map[string]client{"a guest": guest, "the box office": desk, "the partner": h.partner} {
		refuse(who, as, "SOLD_OUT", h.stay(h.double, "2030-03-10", "2030-03-11", 1))
	}

	// Released: what was set aside and not sold, to everybody.
	for _, block := range []string{partners.Block.ID, camera.Block.ID} {
		hall.get(`mutation($input: ReleaseSeatBlockInput!) { releaseSeatBlock(input: $input) { state } }`, vars{"input": vars{"requestKey": key(), "block": block}}, new(any))
	}
	h.allot(channels, "releaseAllotment", "ReleaseAllotmentInput", vars{"allotment": tour.ID})
	h.book(guest, seat(1), seat(2))
	refuse("a guest, for what the partner has sold,", guest, "HELD_BY_OTHER", seat(0))
	h.book(guest, second.stay(second.double, "2030-03-10", "2030-03-12", 1))
	refuse("the partner, when the house is full,", h.partner, "SOLD_OUT", second.stay(second.double, "2030-03-10", "2030-03-11", 1))

	// Audited: the books add up, the reports say what was sold, and the log says who set what.
	var report struct {
		Audit struct {
			OK     bool
			Checks []struct {
				Name       string
				Violations int
			}
		}
	}
	auditor.get(`{ audit { ok checks { name violations } } }`, nil, &report)
	if !report.Audit.OK {
		t.Errorf("the audit found %+v", report.Audit.Checks)
	}
	for property, want := range map[string]string{h.property: "2 3", second.property: "4 4"} {
		var occupancy struct {
			Hotel struct {
				Occupancy struct {
					Nights []struct {
						Physical, Booked int
					}
				}
			}
		}
		auditor.get(`query($id: ID!) { hotel(id: $id) { occupancy(from: "2030-03-10", to: "2030-03-10") { nights { physical booked } } } }`, vars{"id": property}, &occupancy)
		nights := occupancy.Hotel.Occupancy.Nights
		if len(nights) != 1 || fmt.Sprint(nights[0].Physical, nights[0].Booked) != want {
			t.Errorf("occupancy of %s: %+v, expected %s", property, nights, want)
		}
	}
	actors := map[string]bool{}
	for _, e := range h.entries(auditor, vars{"region": "eu"}) {
		if slices.Contains([]string{"nights.set", "block.set", "allotment.set"}, e.Action) {
			actors[e.Actor] = true
		}
	}
	if len(actors) != 5 {
		t.Errorf("the log has changes by %d people and keys, expected the admin and four members: %v", len(actors), actors)
	}
}
