package deploy

import (
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// rules is a file of Prometheus rules.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// scrapes is a Prometheus configuration as far as it is checked.
type scrapes struct {
	RuleFiles []string `yaml:"rule_files"`
	Configs   []struct {
		JobName string `yaml:"job_name"`
		Static  []struct {
			Targets []string          `yaml:"targets"`
			Labels  map[string]string `yaml:"labels"`
		} `yaml:"static_configs"`
	} `yaml:"scrape_configs"`
}

func readRules(t *testing.T) []rule {
	t.Helper()
	var file rules
	decoder := yaml.NewDecoder(strings.NewReader(string(read(t, "prometheus/alerts.yaml"))))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("prometheus/alerts.yaml: %v", err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

func readScrapes(t *testing.T) scrapes {
	t.Helper()
	var s scrapes
	decode(t, "prometheus/prometheus.yaml", &s)
	return s
}

func (s scrapes) jobs() []string {
	var names []string
	for _, c := range s.Configs {
		names = append(names, c.JobName)
	}
	return names
}

var (
	// selectors are written metric{label="value"}; a name alone is a metric too.
	promSelector = regexp.MustCompile(`\b([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	promMatcher  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	promGrouping = regexp.MustCompile(`\b(?:by|on|without|ignoring)\s*\(([^)]*)\)`)
	promName     = regexp.MustCompile(`\b(?:holdfast|go|process|up|promhttp)(?:_\w+)?\b`)
	promQuoted   = regexp.MustCompile(`"[^"]*"`)
)

// scraped is the labels that Prometheus adds.
func scraped() []string { return []string{"job", "instance", "region"} }

// checkExpr refuses an expression about a metric, a label or a value that nothing exports: such a
// rule is silent for ever.
func (e exports) checkExpr(t *testing.T, where, expr string, jobs []string) {
	t.Helper()
	names := promName.FindAllString(promGrouping.ReplaceAllString(promQuoted.ReplaceAllString(expr, ""), ""), -1)
	if len(names) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, name := range names {
		if _, known := e.find(name); !known {
			t.Errorf("%s: nothing exports %s", where, name)
		}
	}
	var labels []string
	for _, found := range promSelector.FindAllStringSubmatch(expr, -1) {
		m, known := e.find(found[1])
		if !known {
			t.Errorf("%s: nothing exports %s", where, found[1])
		}
		for _, matcher := range promMatcher.FindAllStringSubmatch(found[2], -1) {
			label, values := matcher[1], matcher[3]
			if !slices.Contains(m.labels, label) && !slices.Contains(scraped(), label) {
				t.Errorf("%s: %s has no label %s", where, found[1], label)
			}
			known := e.values[label]
			if label == "job" {
				known = jobs
			}
			for _, value := range strings.Split(values, "|") {
				if known != nil && !strings.ContainsAny(value, "*$") && !slices.Contains(known, value) {
					t.Errorf("%s: the label %s of %s is never %q", where, label, found[1], value)
				}
			}
		}
	}
	for _, name := range names {
		m, _ := e.find(name)
		labels = append(labels, m.labels...)
	}
	for _, grouping := range promGrouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range strings.Split(grouping[1], ",") {
			label = strings.TrimSpace(label)
			if label != "" && !slices.Contains(labels, label) && !slices.Contains(scraped(), label) {
				t.Errorf("%s: groups by %s, which none of its metrics has", where, label)
			}
		}
	}
}

// find is the metric of a series: a histogram has three.
func (e exports) find(series string) (metric, bool) {
	if m, ok := e.metrics[series]; ok {
		return m, !m.histogram
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, found := strings.CutSuffix(series, suffix); found && e.metrics[base].histogram {
			m := e.metrics[base]
			if suffix == "_bucket" {
				m.labels = append(slices.Clone(m.labels), "le")
			}
			return m, true
		}
	}
	return metric{}, false
}

func TestAlertsAreAboutWhatIsExported(t *testing.T) {
	t.Parallel()
	e, jobs := readExports(t), readScrapes(t).jobs()
	seen := map[string]bool{}
	for _, r := range readRules(t) {
		where := "prometheus/alerts.yaml: " + r.Alert
		if r.Alert == "" || seen[r.Alert] {
			t.Errorf("%s: expected an alert with a name of its own", where)
		}
		seen[r.Alert] = true
		if severity := r.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s: severity %q", where, severity)
		}
		if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
			t.Errorf("%s: for: %v", where, err)
		}
		for _, needed := range []string{"summary", "description", "runbook"} {
			if r.Annotations[needed] == "" {
				t.Errorf("%s: no %s", where, needed)
			}
		}
		if !exists(filepath.Join(root, r.Annotations["runbook"])) {
			t.Errorf("%s: %s is not there", where, r.Annotations["runbook"])
		}
		e.checkExpr(t, where, r.Expr, jobs)
	}
	if len(seen) == 0 {
		t.Error("there are no alerts")
	}
}

// TestExpressionsAreChecked shows that the check above finds what it is there for.
func TestExpressionsAreChecked(t *testing.T) {
	t.Parallel()
	e := readExports(t)
	for series, want := range map[string]bool{
		"holdfast_transaction_seconds_bucket": true,
		"holdfast_transaction_seconds":        false, // a histogram has no series of its own name
		"holdfast_transaction_seconds_max":    false,
		"process_cpu_seconds_total":           true,
		"go_goroutines":                       true,
		"up":                                  true,
	} {
		if _, known := e.find(series); known != want {
			t.Errorf("%s is exported: %t, want %t", series, known, want)
		}
	}
	for label, value := range map[string]string{"transaction": "inventory.PlaceHold", "outcome": "unknown", "operation": "placeHold"} {
		if !slices.Contains(e.values[label], value) {
			t.Errorf("the values of %s are %v, without %s", label, e.values[label], value)
		}
	}
}

func TestPrometheusScrapesWhatComposeStarts(t *testing.T) {
	t.Parallel()
	c, s := readCompose(t), readScrapes(t)
	for _, file := range s.RuleFiles {
		if !exists(filepath.Join("prometheus", file)) {
			t.Errorf("prometheus.yaml: %s is not there", file)
		}
		mount := "./prometheus/" + file + ":/etc/prometheus/" + file + ":ro"
		if !slices.Contains(c.Services["prometheus"].Volumes, mount) {
			t.Errorf("compose.yaml: %s is not mounted", file)
		}
	}
	scrapedServices := map[string]bool{}
	for _, config := range s.Configs {
		for _, static := range config.Static {
			if static.Labels["region"] == "" {
				t.Errorf("prometheus.yaml: %v has no region", static.Targets)
			}
			for _, target := range static.Targets {
				c.checkHost(t, "prometheus.yaml", target, "8080")
				host, _, err := net.SplitHostPort(target)
				if err != nil {
					t.Error(err)
				}
				scrapedServices[host] = true
			}
		}
	}
	for name, service := range c.Services {
		long := len(service.Command) > 0 && (service.Command[0] == "serve" || service.Command[0] == "work" || service.Command[0] == "start")
		if long && !scrapedServices[name] {
			t.Errorf("prometheus.yaml: nobody looks at %s", name)
		}
	}
}

// TestRulesPassTheirOwnTests runs promtool, where it is installed.
func TestRulesPassTheirOwnTests(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; TestAlertsAreAboutWhatIsExported checks the rules without it")
	}
	output(t, promtool, "check", "config", "prometheus/prometheus.yaml")
	output(t, promtool, "check", "rules", "prometheus/alerts.yaml")
	output(t, promtool, "test", "rules", "prometheus/alerts.test.yaml")
}

// dashboard is a Grafana dashboard as far as it is checked.
type dashboard struct {
	UID    string  `json:"uid"`
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Targets []struct {
		Expr       string     `json:"expr"`
		Datasource datasource `json:"datasource"`
	} `json:"targets"`
}

type datasource struct {
	UID string `json:"uid"`
}

func (p panel) overlaps(q panel) bool {
	return p.GridPos.X < q.GridPos.X+q.GridPos.W && q.GridPos.X < p.GridPos.X+p.GridPos.W &&
		p.GridPos.Y < q.GridPos.Y+q.GridPos.H && q.GridPos.Y < p.GridPos.Y+p.GridPos.H
}

func TestDashboardShowsWhatIsExported(t *testing.T) {
	t.Parallel()
	e, jobs := readExports(t), readScrapes(t).jobs()
	var sources struct {
		Datasources []struct {
			UID string `yaml:"uid"`
			URL string `yaml:"url"`
		} `yaml:"datasources"`
	}
	decode(t, "grafana/provisioning/datasources/prometheus.yaml", &sources)
	if len(sources.Datasources) != 1 {
		t.Fatalf("expected one data source, got %+v", sources)
	}
	readCompose(t).checkHost(t, "grafana", strings.TrimPrefix(sources.Datasources[0].URL, "http://"), "9090")

	var d dashboard
	if err := json.Unmarshal(read(t, "grafana/dashboards/holdfast.json"), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || len(d.Panels) == 0 {
		t.Fatal("the dashboard is empty")
	}
	for i, p := range d.Panels {
		where := "dashboard: " + p.Title
		for _, q := range d.Panels[:i] {
			if p.ID == q.ID || p.overlaps(q) {
				t.Errorf("%s has the id or the place of %s", where, q.Title)
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: no description, no targets, or wider than the screen", where)
		}
		for _, target := range p.Targets {
			if target.Datasource != p.Datasource || p.Datasource.UID != sources.Datasources[0].UID {
				t.Errorf("%s: the data source %s is not provisioned", where, p.Datasource.UID)
			}
			e.checkExpr(t, where, target.Expr, jobs)
		}
	}
}

func TestGrafanaFindsItsDashboards(t *testing.T) {
	t.Parallel()
	var providers struct {
		Providers []struct {
			Options struct {
				Path string `yaml:"path"`
			} `yaml:"options"`
		} `yaml:"providers"`
	}
	decode(t, "grafana/provisioning/dashboards/holdfast.yaml", &providers)
	grafana := readCompose(t).Services["grafana"]
	for _, p := range providers.Providers {
		if !slices.Contains(grafana.Volumes, "./grafana/dashboards:"+p.Options.Path+":ro") {
			t.Errorf("compose.yaml: the dashboards are not mounted at %s", p.Options.Path)
		}
		if home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]; home != p.Options.Path+"/holdfast.json" {
			t.Errorf("compose.yaml: the first page is %s", home)
		}
	}
}
