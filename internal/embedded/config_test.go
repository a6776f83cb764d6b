package embedded

import (
	"strings"
	"testing"
	"time"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	good := []Config{
		{},
		{URL: "postgres://u:p@localhost:5432/db?sslmode=disable"},
		{URL: "postgresql:///db?host=/var/run/postgresql"},
		{DataDir: ".holdfast", Kind: KindCockroachDB, CockroachFlags: []string{"--cache=1GiB", "--logtostderr"}},
		{PostgresSettings: map[string]string{"shared_buffers": "1GB", "pg_stat_statements.max": "10"}},
	}
	for _, c := range good {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	bad := []struct {
		config Config
		want   string
	}{
		{Config{Kind: "mysql"}, `Kind: "mysql"`},
		{Config{Kind: KindExternal}, "chosen by URL"},
		{Config{DataDir: "/"}, "DataDir"},
		{Config{DataDir: "a\x00b"}, "DataDir"},
		{Config{PostgresSettings: map[string]string{"port": "5432"}}, "port is set by Holdfast itself"},
		{Config{PostgresSettings: map[string]string{"a b": "1"}}, `"a b" is not a setting's name`},
		{Config{PostgresSettings: map[string]string{"work_mem": "1\nx"}}, "work_mem contains control characters"},
		{Config{CockroachFlags: []string{"--insecure=false"}}, "--insecure is set by Holdfast itself"},
		{Config{CockroachFlags: []string{"cache"}}, "is not of the form"},
		{Config{CockroachFlags: make([]string, settingsMax+1)}, "at most 100"},
		{Config{ReadyTimeout: -time.Second}, "ReadyTimeout: -1s is negative"},
	}
	for _, c := range bad {
		err := c.config.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.config, err, c.want)
		}
	}
}
