package act

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// captures is a TiCDC with the captures a, which is the owner, and b.
type captures struct {
	owner string
	list  int // the code with which it lists captures
	code  int // that with which it answers a drain and a resignation
	calls []string
}

func (c *captures) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.Method == http.MethodGet {
		out.WriteHeader(c.list)
		_, _ = io.WriteString(out, `[{"id":"a","is_owner":`+bool2json(c.owner == "a")+`},{"id":"b","is_owner":`+bool2json(c.owner == "b")+`}]`)
		return
	}
	c.calls = append(c.calls, in.Method+" "+in.URL.Path)
	out.WriteHeader(c.code)
	_, _ = io.WriteString(out, `{"current_table_count":7}`)
}

func bool2json(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// newCaptures returns a cluster with such a TiCDC.
func newCaptures(t *testing.T, objects ...runtime.Object) (*fixture, *captures) {
	t.Helper()
	c := &captures{owner: "a", list: 200, code: 202}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	w := newFixture(t, append(objects, pod(topology.TiCDC, 1))...)
	w.OnTiCDC(func(topology.Cluster, int) *ticdc.Client {
		return &ticdc.Client{HTTP: server.Client(), URL: server.URL}
	})
	return w, c
}

func (w *fixture) drains(t *testing.T) []state.Drain {
	t.Helper()
	book, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Read(book).Drains
}

var drainB = plan.DrainCapture{Component: topology.TiCDC, Member: "basic-ticdc-1", PodUID: "uid-of-basic-ticdc-1", Capture: "b"}

func TestDrainCapture(t *testing.T) {
	for name, tt := range map[string]struct {
		step  func(*plan.DrainCapture)
		cdc   func(*captures)
		calls []string
		want  state.Drain
	}{
		"tables leave": {
			calls: []string{"PUT /api/v1/captures/drain"}, want: state.Drain{Capture: "b", Of: "a", Tables: 7},
		},
		"the owner resigns": {
			step: func(s *plan.DrainCapture) { s.Owner = true }, cdc: func(c *captures) { c.owner = "b" },
			calls: []string{"POST /api/v1/owner/resign"}, want: state.Drain{Capture: "b", Of: "b", Tables: state.TablesUnknown},
		},
		"it is busy": {
			cdc: func(c *captures) { c.code = 503 }, calls: []string{"PUT /api/v1/captures/drain"},
			want: state.Drain{Capture: "b", Of: "a", Tables: state.TablesUnknown},
		},
		"its version does not know that": {
			cdc: func(c *captures) { c.code = 404 }, calls: []string{"PUT /api/v1/captures/drain"},
			want: state.Drain{Capture: "b", Of: "a", Tables: 0, Refused: true},
		},
		"TiCDC does not answer": {
			step: func(s *plan.DrainCapture) { s.Capture = "" }, want: state.Drain{Tables: state.TablesUnknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, cdc := newCaptures(t)
			step := drainB
			if tt.cdc != nil {
				tt.cdc(cdc)
			}
			if tt.step != nil {
				tt.step(&step)
			}
			w.do(t, step)
			tt.want.Member, tt.want.PodUID, tt.want.Since, tt.want.Asked = step.Member, step.PodUID, now, now
			if got := w.drains(t); len(got) != 1 || got[0] != tt.want {
				t.Errorf("recorded %+v, want %+v", got, tt.want)
			}
			if !slices.Equal(cdc.calls, tt.calls) {
				t.Errorf("asked %q", cdc.calls)
			}
		})
	}
}

// TestDrainKeepsItsStart: the time of a drain is that of its start, also if TiCDC fails, but not that
// of another one.
func TestDrainKeepsItsStart(t *testing.T) {
	w, cdc := newCaptures(t)
	cdc.code = 500
	if err := w.Do(t.Context(), drainB); err == nil {
		t.Error("TiCDC has failed")
	}
	w.now = func() time.Time { return now.Add(time.Hour) }
	again := drainB
	again.Again = true
	cdc.code = 202
	w.do(t, again)
	if got := w.drains(t); !got[0].Since.Equal(now) || !got[0].Asked.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", got)
	}
	w.do(t, drainB)
	if got := w.drains(t); !got[0].Since.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", got)
	}
}

// TestDrainOfAnother: what has changed since is not asked for.
func TestDrainOfAnother(t *testing.T) {
	for name, change := range map[string]func(*plan.DrainCapture, *captures){
		"another owner":         func(_ *plan.DrainCapture, c *captures) { c.owner = "b" },
		"another has resigned":  func(s *plan.DrainCapture, _ *captures) { s.Owner = true },
		"another capture":       func(s *plan.DrainCapture, _ *captures) { s.Capture = "c" },
		"no owner":              func(_ *plan.DrainCapture, c *captures) { c.list = 503 },
		"another pod by now":    func(s *plan.DrainCapture, _ *captures) { s.PodUID = "former" },
		"another pod, no owner": func(s *plan.DrainCapture, _ *captures) { s.PodUID, s.Capture = "former", "" },
	} {
		w, cdc := newCaptures(t)
		step := drainB
		change(&step, cdc)
		var s *Stale
		if err := w.Do(t.Context(), step); !errors.As(err, &s) || len(cdc.calls) > 0 {
			t.Errorf("%s: %v, asked %q", name, err, cdc.calls)
		}
	}
}

func TestForgetDrain(t *testing.T) {
	w, _ := newCaptures(t)
	forget := plan.ForgetDrain{Component: topology.TiCDC, Member: drainB.Member, PodUID: drainB.PodUID}
	w.do(t, forget) // there is no ledger
	w.do(t, drainB)
	w.do(t, forget)
	if got := w.drains(t); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	w.kube.ClearActions()
	w.do(t, forget)
	w.unchanged(t)
}
