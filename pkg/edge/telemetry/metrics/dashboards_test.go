package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"
)

// panel has the checked fields of a panel of the dashboard.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr string }
}

// expressions returns the expressions of the dashboard and of the alerts, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	var board struct{ Panels []panel }
	read(t, "grafana/dashboard.json", &board, json.Unmarshal)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			found["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	read(t, "prometheus/alerts.yaml", &rules, func(b []byte, to any) error { return yaml.Unmarshal(b, to) })
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			found["alert "+r.Alert] = r.Expr
		}
	}
	if len(found) < 30 {
		t.Fatalf("only %d expressions", len(found))
	}
	return found
}

func read(t *testing.T, name string, to any, decode func([]byte, any) error) {
	t.Helper()
	b, err := os.ReadFile("../../../../plugins/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(b, to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestExpressions: the metrics and labels in the dashboard and the alerts exist. test/alerts checks
// with Prometheus that they are PromQL, and that alerts fire when they should.
func TestExpressions(t *testing.T) {
	names, labels := vocabulary(t)
	word := regexp.MustCompile(`\b[a-z]+_[a-z_]+\b`)
	functions := []string{"histogram_quantile", "sort_desc", "group_left"}
	strip := regexp.MustCompile(`"[^"]*"|\$\w+`)
	used := map[string]bool{}
	for where, expr := range expressions(t) {
		for _, w := range word.FindAllString(strip.ReplaceAllString(expr, ""), -1) {
			switch base := strings.TrimSuffix(w, "_bucket"); {
			case names[w] || names[base]:
				used[base] = true
			case !labels[w] && !slices.Contains(functions, w):
				t.Errorf("%s: %s is no metric and no label", where, w)
			}
		}
	}
	for name := range names {
		if strings.HasPrefix(name, prefix) && !used[name] {
			t.Errorf("no panel and no alert uses %s", name)
		}
	}
}

// vocabulary returns all names of metrics and of labels.
func vocabulary(t *testing.T) (names, labels map[string]bool) {
	t.Helper()
	families, err := all(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names, labels = map[string]bool{}, map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[l.GetName()] = true
		}
		if f.GetType() != dto.MetricType_HISTOGRAM && strings.HasSuffix(f.GetName(), "_bucket") {
			t.Errorf("%s is no histogram", f.GetName())
		}
	}
	return names, labels
}

// TestDashboard: what Grafana needs of a dashboard that is imported.
func TestDashboard(t *testing.T) {
	var board struct {
		Title, UID    string
		SchemaVersion int
		Templating    struct{ List []struct{ Name, Type string } }
		Panels        []panel
	}
	read(t, "grafana/dashboard.json", &board, json.Unmarshal)
	if board.Title == "" || board.UID == "" || board.SchemaVersion < 36 || len(board.Panels) == 0 {
		t.Fatalf("no dashboard: %+v", board)
	}
	declared := map[string]bool{"__rate_interval": true}
	for _, v := range board.Templating.List {
		declared[v.Name] = true
	}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q: id %d is not unique", p.Title, p.ID)
		}
		ids[p.ID] = true
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("panel %q does not fit: %+v", p.Title, g)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("panel %q is on top of %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q of type %s has %d expressions", p.Title, p.Type, len(p.Targets))
		}
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !declared[v[1]] {
					t.Errorf("panel %q: the variable $%s is not defined", p.Title, v[1])
				}
			}
		}
	}
	if !declared["datasource"] {
		t.Error("there is no variable for the data source")
	}
}
