package bookings_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/holdfast/holdfast/bookings"
	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// nobodyMay refuses everything.
type nobodyMay struct{ err error }

func (n nobodyMay) Authorize(tenants.Actor, tenants.Action, tenants.TenantID) error { return n.err }

// Every method that acts for somebody asks the authorizer before anything else: here there is not
// even a database.
func TestNothingHappensWithoutPermission(t *testing.T) {
	t.Parallel()
	refusal := fault.Denied("not today")
	service := reflect.ValueOf(bookings.NewService(nil, nobodyMay{refusal}, nil, nil, bookings.Config{}))
	asked := 0
	for i := range service.NumMethod() {
		method := service.Method(i).Type()
		if method.NumIn() < 2 || method.In(1) != reflect.TypeFor[tenants.Actor]() {
			continue
		}
		asked++
		arguments := []reflect.Value{reflect.ValueOf(t.Context())}
		for p := 1; p < method.NumIn(); p++ {
			arguments = append(arguments, reflect.New(method.In(p)).Elem())
		}
		results := service.Method(i).Call(arguments)
		if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, refusal) {
			t.Errorf("%s: got %v, want the authorizer's refusal", service.Type().Method(i).Name, err)
		}
	}
	if asked < 10 {
		t.Errorf("only %d methods were asked", asked)
	}
}
