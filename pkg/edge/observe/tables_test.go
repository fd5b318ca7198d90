package observe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// server returns a pod of TiDB.
func server(ready, terminating bool) *corev1.Pod {
	p := &corev1.Pod{}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if terminating {
		p.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return p
}

// tablesOf returns a rule for tables that have no name yet.
func tablesOf(ids ...int64) []state.PlacementRule {
	var r state.PlacementRule
	for _, id := range ids {
		r.Tables = append(r.Tables, state.Table{ID: id})
	}
	return []state.PlacementRule{r}
}

// TestNameTables: the first tables of each rule get their names from one server that serves and stays. None is
// asked for twice, and none without such a server or after the time is over.
func TestNameTables(t *testing.T) {
	for name, c := range map[string]struct {
		pods  map[int]*corev1.Pod
		sets  [][]state.PlacementRule
		ended bool
		want  string
		asked int
		host  string
	}{
		"one server serves": {map[int]*corev1.Pod{0: server(false, false), 1: server(true, false), 2: server(true, true)},
			[][]state.PlacementRule{tablesOf(1, 2, 3, 4), tablesOf(5)}, false, "db.t1 db.t2 db.t3 - db.t5", 4, "basic-tidb-1."},
		"a name is known":  {map[int]*corev1.Pod{0: server(true, false)}, [][]state.PlacementRule{{{Tables: []state.Table{{ID: 1, Name: "a.b"}, {ID: 2}}}}}, false, "a.b db.t2", 1, "basic-tidb-0."},
		"no table":         {map[int]*corev1.Pod{0: server(true, false)}, [][]state.PlacementRule{{{}}}, false, "", 0, ""},
		"none is Ready":    {map[int]*corev1.Pod{0: server(false, false)}, [][]state.PlacementRule{tablesOf(1)}, false, "-", 0, ""},
		"it is going":      {map[int]*corev1.Pod{0: server(true, true)}, [][]state.PlacementRule{tablesOf(1)}, false, "-", 0, ""},
		"no server":        {nil, [][]state.PlacementRule{tablesOf(1)}, false, "-", 0, ""},
		"the time is over": {map[int]*corev1.Pod{0: server(true, false)}, [][]state.PlacementRule{tablesOf(1)}, true, "-", 0, ""},
	} {
		asked := 0
		o := through(func(r *http.Request) (*http.Response, error) {
			asked++
			if !strings.HasPrefix(r.URL.Host, c.host) {
				t.Errorf("%s: asked %s", name, r.URL)
			}
			_, id, _ := strings.Cut(r.URL.Path, "/db-table/")
			body := fmt.Sprintf(`{"db_info":{"db_name":{"O":"db"}},"table_info":{"name":{"O":"t%s"}}}`, id)
			return &http.Response{Request: r, StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		ctx, end := context.WithCancel(t.Context())
		if c.ended {
			end()
		}
		o.nameTables(ctx, basic, objects{pods: map[topology.Kind]map[int]*corev1.Pod{topology.TiDB: c.pods}}, c.sets)
		end()
		var got []string
		for _, set := range c.sets {
			for _, table := range set[0].Tables {
				got = append(got, cmp.Or(table.Name, "-"))
			}
		}
		if text := strings.Join(got, " "); text != c.want || asked != c.asked {
			t.Errorf("%s: %q, asked %d times; want %q, %d", name, text, asked, c.want, c.asked)
		}
	}
}

// TestTablesOfRulesThatAreRead: the tables of rules have names as soon as the rules are read.
func TestTablesOfRulesThatAreRead(t *testing.T) {
	o := through(func(r *http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader(`{"db_info":{"db_name":{"O":"db"}},"table_info":{"name":{"O":"orders"}}}`))
		return &http.Response{Request: r, StatusCode: http.StatusOK, Body: body}, nil
	})
	o.now = func() time.Time { return noon }
	f := spread()
	f.Update(func(s *pd.FakeState) {
		s.Rules = []pd.RuleGroup{{ID: tiflashGroup, Rules: []pd.PlacementRule{{ID: "table-104-r", Role: "learner", Count: 1}}}}
	})
	seen := objects{pods: map[topology.Kind]map[int]*corev1.Pod{topology.TiDB: {0: server(true, false)}}}
	var got []string
	for _, set := range look(t, o, f, scaled(3), seen).state.Placement.Rules {
		for _, r := range set {
			for _, table := range r.Tables {
				got = append(got, table.Name)
			}
		}
	}
	if len(got) == 0 || got[0] != "db.orders" {
		t.Errorf("got names %q, want db.orders", got)
	}
}
