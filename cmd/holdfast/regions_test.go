package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRegionsPlanOfflineNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	flags := regionFlags{Map: "eu=europe-west1,us=us-east1,ap=asia-southeast1", Primary: "eu", Survive: "region"}
	desired, err := flags.mapping()
	if err != nil {
		t.Fatalf("mapping: %v", err)
	}
	for version, golden := range map[string]string{"v25.4": "schema.sql", "v26.2": "schema_locked.sql"} {
		var out strings.Builder
		if err := (&regionsPlanCommand{CockroachDB: version}).offline(&out, desired); err != nil {
			t.Fatalf("plan for %s: %v", version, err)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "schema", "regions", "testdata", golden))
		if err != nil {
			t.Fatalf("read the golden plan: %v", err)
		}
		if out.String() != string(want) {
			t.Errorf("the plan for %s differs from %s", version, golden)
		}
	}
	if err := (&regionsPlanCommand{CockroachDB: "new"}).offline(&strings.Builder{}, desired); err == nil || !strings.HasPrefix(err.Error(), "--cockroachdb: ") {
		t.Errorf("got %v, expected the flag to be named", err)
	}
}

func TestRegionsNeedADatabaseOfTheirOwn(t *testing.T) {
	t.Parallel()
	root := &cli{DataDir: t.TempDir()}
	flags := regionFlags{Map: "eu=europe-west1", Primary: "eu", Survive: "zone"}
	for name, err := range map[string]error{
		"plan":  (&regionsPlanCommand{regionFlags: flags}).Run(t.Context(), root),
		"apply": (&regionsApplyCommand{regionFlags: flags}).Run(t.Context(), root),
	} {
		if err == nil || !strings.Contains(err.Error(), "HOLDFAST_DATABASE_URL is not set") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
