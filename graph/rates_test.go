package graph_test

// ratePlan makes a plan with prices of its own on the nights that the house has.
func (h *house) ratePlan(code string) string {
	h.server.t.Helper()
	return h.newRatePlan(vars{"code": code, "name": "Flexible"})
}

func (h *house) newRatePlan(input vars) string {
	h.server.t.Helper()
	input["requestKey"], input["property"] = key(), h.property
	if input["name"] == nil {
		input["name"] = input["code"]
	}
	var answer struct{ CreateRatePlan created }
	h.admin.get(`mutation($input: CreateRatePlanInput!) { createRatePlan(input: $input) { id } }`, vars{"input": input}, &answer)
	return answer.CreateRatePlan.ID
}

// planNights sets nights of a plan.
func (h *house) planNights(plan, from, to string, change vars) {
	h.server.t.Helper()
	var answer struct{ SetNights struct{ Nights int } }
	h.admin.get(`mutation($input: SetNightsInput!) { setNights(input: $input) { nights } }`, vars{"input": vars{
		"roomType": h.double, "ratePlan": plan, "nights": vars{"from": from, "to": to}, "change": change,
	}}, &answer)
}

// objections are the codes that whyNot gives, each with its level.
func (h *house) objections(as client, stay vars) []string {
	h.server.t.Helper()
	var answer struct {
		WhyNot struct {
			Objections []struct{ Code, Level, Night string }
		}
	}
	as.get(`query($stay: StayInput!) { whyNot(stay: $stay) { asOf objections { code level night limit available } } }`, vars{"stay": stay}, &answer)
	found := []string{}
	for _, o := range answer.WhyNot.Objections {
		found = append(found, o.Code+" "+o.Level+" "+o.Night)
	}
	return found
}

func (h *house) placeStay(as client, stay vars) held {
	h.server.t.Helper()
	return h.place(as, vars{"requestKey": key(), "lines": []vars{{"stay": stay}}})
}
