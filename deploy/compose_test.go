package deploy

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"gopkg.in/yaml.v3"
)

// compose is compose.yaml as far as it is checked.
type compose struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
}

type service struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	Command     []string          `yaml:"command"`
	Entrypoint  []string          `yaml:"entrypoint"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	DependsOn   dependencies      `yaml:"depends_on"`
	StopGrace   string            `yaml:"stop_grace_period"`
	ReadOnly    bool              `yaml:"read_only"`
	Rest        map[string]any    `yaml:",inline"`
}

// dependencies are written as a list or with conditions.
type dependencies map[string]string

// UnmarshalYAML reads both forms.
func (d *dependencies) UnmarshalYAML(node *yaml.Node) error {
	*d = dependencies{}
	if node.Kind == yaml.SequenceNode {
		var names []string
		if err := node.Decode(&names); err != nil {
			return err
		}
		for _, name := range names {
			(*d)[name] = "service_started"
		}
		return nil
	}
	var conditions map[string]struct {
		Condition string `yaml:"condition"`
	}
	if err := node.Decode(&conditions); err != nil {
		return err
	}
	for name, c := range conditions {
		(*d)[name] = c.Condition
	}
	return nil
}

// decode reads a file's first YAML document.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, path)))
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	decode(t, "compose.yaml", &c)
	return c
}

// composeVariable is a variable of whoever starts compose: ${NAME:-default}.
var composeVariable = regexp.MustCompile(`\$\{([A-Z_]+)`)

func (c compose) check(t *testing.T, p program, served httpFacts) {
	t.Helper()
	commands := map[string]bool{}
	regions := map[string]bool{}
	for name, s := range c.Services {
		s.checkFiles(t, name, c)
		for on := range s.DependsOn {
			if _, ok := c.Services[on]; !ok {
				t.Errorf("compose.yaml: %s depends on %s, which is no service", name, on)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("compose.yaml: %s publishes %s to everybody; expected 127.0.0.1:…", name, port)
			}
		}
		switch {
		case s.Build.Dockerfile != "":
			commands[s.Command[0]] = true
			s.checkHoldfast(t, "compose.yaml: "+name, c, p, served)
		case len(s.Command) > 0 && s.Command[0] == "start":
			regions[s.checkNode(t, name, c)] = true
		}
	}
	for _, needed := range []string{"serve", "migrate", "audit"} {
		if !commands[needed] {
			t.Errorf("compose.yaml: no service runs holdfast %s", needed)
		}
	}
	if len(regions) != 3 {
		t.Errorf("compose.yaml: expected database nodes in three regions, got %v", regions)
	}
}

// checkFiles refuses mounts and builds of what is not there.
func (s service) checkFiles(t *testing.T, name string, c compose) {
	t.Helper()
	if s.Image == "" {
		t.Errorf("compose.yaml: %s names no image", name)
	}
	for _, mount := range s.Volumes {
		source, _, _ := strings.Cut(mount, ":")
		_, isVolume := c.Volumes[source]
		if !isVolume && (!strings.HasPrefix(source, "./") || !exists(source)) {
			t.Errorf("compose.yaml: %s mounts %s, which is neither a file here nor a volume", name, source)
		}
	}
	if s.Build.Dockerfile != "" && !exists(filepath.Join(s.Build.Context, s.Build.Dockerfile)) {
		t.Errorf("compose.yaml: %s builds %s, which is not there", name, s.Build.Dockerfile)
	}
}

// checkHoldfast checks a service that runs our image.
func (s service) checkHoldfast(t *testing.T, where string, c compose, p program, served httpFacts) {
	t.Helper()
	var variables []string
	for variable, value := range s.Environment {
		variables = append(variables, variable)
		for _, used := range composeVariable.FindAllStringSubmatch(value, -1) {
			variables = append(variables, used[1])
		}
	}
	p.check(t, where, s.Command, variables)
	grace, err := time.ParseDuration(s.StopGrace)
	if err != nil || grace <= 2*served.drainTimeout {
		t.Errorf("%s: stop_grace_period %q is not longer than two drains of %s", where, s.StopGrace, served.drainTimeout)
	}
	if !s.ReadOnly {
		t.Errorf("%s: expected read_only; holdfast writes no files", where)
	}
	if s.Command[0] != "migrate" && s.DependsOn["migrate"] != "service_completed_successfully" {
		t.Errorf("%s: does not wait for the migration", where)
	}
	config, err := pgxpool.ParseConfig(s.Environment["HOLDFAST_DATABASE_URL"])
	if err != nil {
		t.Errorf("%s: HOLDFAST_DATABASE_URL: %v", where, err)
		return
	}
	hosts := []string{fmt.Sprintf("%s:%d", config.ConnConfig.Host, config.ConnConfig.Port)}
	for _, other := range config.ConnConfig.Fallbacks {
		hosts = append(hosts, fmt.Sprintf("%s:%d", other.Host, other.Port))
	}
	if len(hosts) != 3 {
		t.Errorf("%s: HOLDFAST_DATABASE_URL names %v; expected all three nodes", where, hosts)
	}
	for _, host := range hosts {
		c.checkHost(t, where, host, "26257")
	}
}

// checkHost refuses an address that is no service, or has another port.
func (c compose) checkHost(t *testing.T, where, address, port string) {
	t.Helper()
	host, got, err := net.SplitHostPort(address)
	if err != nil || got != port {
		t.Errorf("%s: %s: expected a service and the port %s", where, address, port)
	}
	if _, ok := c.Services[host]; !ok {
		t.Errorf("%s: %s is no service", where, host)
	}
}

// checkNode checks a database node, and is its region.
func (s service) checkNode(t *testing.T, name string, c compose) string {
	t.Helper()
	region := ""
	for _, flag := range s.Command[1:] {
		key, value, _ := strings.Cut(flag, "=")
		switch key {
		case "--join":
			for _, address := range strings.Split(value, ",") {
				c.checkHost(t, "compose.yaml: "+name, address, "26257")
			}
		case "--advertise-addr":
			if value != name+":26257" {
				t.Errorf("compose.yaml: %s says that it is %s", name, value)
			}
		case "--locality":
			region, _, _ = strings.Cut(strings.TrimPrefix(value, "region="), ",")
		}
	}
	if name != "database-"+region {
		t.Errorf("compose.yaml: %s is in the region %q", name, region)
	}
	if !slices.Contains(s.Volumes, name+":/cockroach/cockroach-data") {
		t.Errorf("compose.yaml: %s does not keep its data in a volume of its own", name)
	}
	return region
}
