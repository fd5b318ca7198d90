// Package alerts has Prometheus load the alerts and the dashboard in plugins, and evaluate
// each alert on the metrics of a daemon, with and without trouble. It is a module of
// its own, since Prometheus brings more with it than the plugin has.
package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"go.yaml.in/yaml/v3"
)

const plugins = "../../plugins/"

// rules are those in plugins/prometheus/alerts.yaml, as Prometheus reads them.
func rules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(plugins + "prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var resource struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       yaml.Node
	}
	if err := yaml.Unmarshal(text, &resource); err != nil || resource.APIVersion != "monitoring.coreos.com/v1" || resource.Kind != "PrometheusRule" {
		t.Fatalf("no PrometheusRule: %s %s %v", resource.APIVersion, resource.Kind, err)
	}
	file, err := yaml.Marshal(&resource.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(file, false)
	if len(errs) > 0 {
		t.Fatalf("Prometheus does not take the rules: %v", errs)
	}
	found := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if _, twice := found[r.Alert]; twice || r.Alert == "" {
				t.Errorf("alert %q is there twice, or has no name", r.Alert)
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.For == 0 {
				t.Errorf("%s: an alert has a severity, a summary, a description, and does not fire at once: %+v", r.Alert, r)
			}
			found[r.Alert] = r
		}
	}
	return found
}

// calm is a daemon that has nothing to complain of: a cluster that has converged, one that
// it works on, one that another process drives, and the short waits of all.
const calm = `
load 1m
  kubectl_tidb_build_info{instance="a"} 1x120
  kubectl_tidb_ready{instance="a"} 1x120
  kubectl_tidb_healthy{instance="a"} 1x120
  kubectl_tidb_cluster_state{instance="a",cluster_namespace="x",cluster_name="rest",state="converged"} 1x120
  kubectl_tidb_cluster_state{instance="a",cluster_namespace="x",cluster_name="work",state="wait"} 1x120
  kubectl_tidb_cluster_state{instance="b",cluster_namespace="x",cluster_name="work",state="held"} 1x120
  kubectl_tidb_lease_held{instance="a",cluster_namespace="x",cluster_name="work"} 1x120
  kubectl_tidb_cluster_state{instance="a",cluster_namespace="x",cluster_name="foreign",state="held"} 1x120
  kubectl_tidb_gate_since_timestamp_seconds{instance="a",cluster_namespace="x",cluster_name="work",component="tikv",reason="MemberServing",blocked="false"} 0+60x120
  kubectl_tidb_pd_failed_calls_total{cluster_namespace="x",cluster_name="work"} 3x120
  kubectl_tidb_steps_total{component="tikv",action="Restart",result="ok"} 0+10x120
  kubectl_tidb_steps_total{component="tikv",action="Restart",result="error"} 1x120
  workqueue_queue_duration_seconds_bucket{name="tidbclusters",le="1"} 0+10x120
  workqueue_queue_duration_seconds_bucket{name="tidbclusters",le="60"} 0+10x120
  workqueue_queue_duration_seconds_bucket{name="tidbclusters",le="+Inf"} 0+10x120
`

// of is one cluster, bad, in the labels of a metric.
const of = `{instance="a",cluster_namespace="x",cluster_name="bad"`

// troubles are what makes each alert fire, after an hour, and nothing else.
var troubles = []struct {
	name   string
	alerts []string
	series []string // instead of those of calm, or besides
	labels string   // that name the cluster or the pod
}{
	{"calm", nil, nil, ""},
	{"blocked", []string{"TidbClusterBlocked"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="blocked"} 1x120`, `kubectl_tidb_lease_held` + of + `} 1x120`,
		`kubectl_tidb_gate_since_timestamp_seconds` + of + `,component="tikv",member="bad-tikv-0",reason="VolumeResized",blocked="true"} 60x120`,
	}, `cluster_name="bad"`},
	{"a long wait", []string{"TidbClusterWaitsLong"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="wait"} 1x120`, `kubectl_tidb_lease_held` + of + `} 1x120`,
		`kubectl_tidb_gate_since_timestamp_seconds` + of + `,component="tikv",member="bad-tikv-0",reason="MemberServing",blocked="false"} 1700x120`,
	}, `member="bad-tikv-0"`},
	{"a wait that is not that long", nil, []string{
		`kubectl_tidb_cluster_state` + of + `,state="wait"} 1x120`, `kubectl_tidb_lease_held` + of + `} 1x120`,
		`kubectl_tidb_gate_since_timestamp_seconds` + of + `,component="tikv",member="bad-tikv-0",reason="MemberServing",blocked="false"} 1900x120`,
	}, ""},
	{"failing, while driven", []string{"TidbClusterFails"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="error"} 1x120`, `kubectl_tidb_lease_held` + of + `} 1x120`,
	}, `cluster_name="bad"`},
	{"the daemon may not drive it", []string{"TidbClusterFails", "TidbClusterUndriven"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="error"} 1x120`,
	}, `cluster_name="bad"`},
	{"it has no driver", []string{"TidbClusterUndriven"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="wait"} 1x120`,
	}, `cluster_name="bad"`},
	{"another daemon drives it", nil, []string{
		`kubectl_tidb_cluster_state` + of + `,state="wait"} 1x120`,
		`kubectl_tidb_lease_held{instance="b",cluster_namespace="x",cluster_name="bad"} 1x120`,
	}, ""},
	{"one of the same name elsewhere is driven", []string{"TidbClusterUndriven"}, []string{
		`kubectl_tidb_cluster_state` + of + `,state="wait"} 1x120`,
		`kubectl_tidb_lease_held{instance="a",cluster_namespace="y",cluster_name="bad"} 1x120`,
	}, `cluster_namespace="x"`},
	{"PD does not answer", []string{"TidbClusterPDFails"}, []string{
		`kubectl_tidb_pd_failed_calls_total` + of + `} 0+1x120`,
	}, `cluster_name="bad"`},
	{"no daemon", []string{"KubectlTidbAbsent"}, []string{`kubectl_tidb_build_info{instance="a"} 1x10`}, ""},
	{"not ready", []string{"KubectlTidbNotReady"}, []string{`kubectl_tidb_ready{instance="b"} 0x120`}, `instance="b"`},
	{"stuck", []string{"KubectlTidbStuck"}, []string{`kubectl_tidb_healthy{instance="b"} 0x120`}, `instance="b"`},
	{"steps fail", []string{"KubectlTidbStepsFail"}, []string{
		`kubectl_tidb_steps_total{component="tikv",action="Apply",result="error"} 0+1x120`,
	}, `action="Apply"`},
	{"too much to do", []string{"KubectlTidbSlow"}, []string{
		`workqueue_queue_duration_seconds_bucket{name="tidbclusters",le="1"} 0+5x120`,
	}, ""},
}

// load is calm with some of its series replaced.
func load(series []string) string {
	text := calm
	for _, s := range series {
		name := s[:strings.Index(s, "}")+1]
		if at := strings.Index(text, "  "+name); at >= 0 {
			end := at + strings.Index(text[at:], "\n")
			text = text[:at] + "  " + s + text[end:]
		} else {
			text += "  " + s + "\n"
		}
	}
	return text
}

// TestAlerts: each alert fires for its trouble, names whom to look at, and is
// silent otherwise.
func TestAlerts(t *testing.T) {
	all := rules(t)
	covered := map[string]bool{}
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			storage := promqltest.LoadedStorage(t, load(trouble.series))
			defer storage.Close()
			engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100000)
			var fire []string
			for name, rule := range all {
				query, err := engine.NewInstantQuery(t.Context(), storage, nil, rule.Expr, time.Unix(0, 0).Add(time.Hour))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				result := query.Exec(t.Context())
				if result.Err != nil {
					t.Fatalf("%s: %v", name, result.Err)
				}
				text := result.String()
				if text == "" {
					continue
				}
				fire = append(fire, name)
				if slices.Contains(trouble.alerts, name) && !strings.Contains(text, trouble.labels) {
					t.Errorf("%s is of %s, want %s", name, text, trouble.labels)
				}
				query.Close()
			}
			slices.Sort(fire)
			if !slices.Equal(fire, trouble.alerts) {
				t.Errorf("%q fire, want %q", fire, trouble.alerts)
			}
		})
		for _, name := range trouble.alerts {
			covered[name] = true
		}
	}
	for name := range all {
		if !covered[name] {
			t.Errorf("nothing makes %s fire", name)
		}
	}
}

// TestDashboard: every expression of the dashboard is PromQL, with some value for
// the variables that Grafana fills in.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(plugins + "grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	interval := regexp.MustCompile(`\[\$__rate_interval\]`)
	seen := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			seen++
			if _, err := parser.ParseExpr(interval.ReplaceAllString(target.Expr, "[5m]")); err != nil {
				t.Errorf("panel %q: %v: %s", p.Title, err, target.Expr)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d expressions", seen)
	}
}
