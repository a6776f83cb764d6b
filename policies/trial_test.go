package policies_test

import (
	"testing"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/policies"
	"github.com/holdfast/holdfast/tenants"
)

// TestKeysInTestModeOnlyLook: whatever its type, a test key changes nothing and reads nobody's
// purchases.
func TestKeysInTestModeOnlyLook(t *testing.T) {
	t.Parallel()
	enforcer, err := policies.New()
	if err != nil {
		t.Fatal(err)
	}
	looks := map[policies.Action]bool{
		policies.ActionTenantRead: true, policies.ActionPropertyRead: true, policies.ActionVenueRead: true, policies.ActionChannelRead: true,
		policies.ActionChartRead: true, policies.ActionShowRead: true, policies.ActionRoomTypeRead: true, policies.ActionNightsRead: true,
		policies.ActionTermsRead: true, policies.ActionAvailabilityRead: true, policies.ActionCancellationRead: true,
		policies.ActionWaitingRoomRead: true,
	}
	for _, keyType := range []tenants.KeyType{tenants.KeyTypeAdmin, tenants.KeyTypePartner, tenants.KeyTypePublishable} {
		actor := tenants.Actor{
			Tenant: tenants.TenantID{UUID: [16]byte{1}}, Key: tenants.KeyID{UUID: [16]byte{2}}, KeyType: keyType, Mode: tenants.ModeTest,
			Session: tenants.SessionID{Region: "eu", UUID: [16]byte{3}},
		}
		for _, meaning := range policies.Meanings() {
			err := enforcer.Authorize(actor, meaning.Action, actor.Tenant)
			switch {
			case looks[meaning.Action] && err != nil:
				t.Errorf("%s key in test mode: %s: %v", keyType, meaning.Action, err)
			case !looks[meaning.Action] && fault.KindOf(err) != fault.KindDenied:
				t.Errorf("%s key in test mode: %s is not denied: %v", keyType, meaning.Action, err)
			}
		}
	}
}
