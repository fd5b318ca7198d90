package act

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// captures is a TiCDC with the captures a, which is the owner, and b.
type captures struct {
	owner string
	list  int // the code with which it lists captures
	code  int // that with which it answers a drain and a resignation
	// tables is how many are left on the capture that is drained.
	tables int
	calls  []string
}

func (c *captures) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.Method == http.MethodGet {
		out.WriteHeader(c.list)
		other := ""
		if c.owner == "c" {
			other = `,{"id":"c","is_owner":true}`
		}
		_, _ = io.WriteString(out, `[{"id":"a","is_owner":`+bool2json(c.owner == "a")+`},{"id":"b","is_owner":`+bool2json(c.owner == "b")+`}`+other+`]`)
		return
	}
	c.calls = append(c.calls, in.Method+" "+in.URL.Path)
	out.WriteHeader(c.code)
	_, _ = io.WriteString(out, fmt.Sprintf(`{"current_table_count":%d}`, c.tables))
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
	c := &captures{owner: "a", list: 200, code: 202, tables: 7}
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

var drainB = step.DrainCapture{Component: topology.TiCDC, Member: "basic-ticdc-1", PodUID: "uid-of-basic-ticdc-1", Capture: "b"}

func TestDrainCapture(t *testing.T) {
	for name, tt := range map[string]struct {
		step  func(*step.DrainCapture)
		cdc   func(*captures)
		calls []string
		want  state.Drain
	}{
		"tables leave": {
			calls: []string{"PUT /api/v1/captures/drain"}, want: state.Drain{Capture: "b", Of: "a", Tables: 7, Most: 7},
		},
		"the owner resigns": {
			step: func(s *step.DrainCapture) { s.Owner = true }, cdc: func(c *captures) { c.owner = "b" },
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
			step: func(s *step.DrainCapture) { s.Capture = "" }, want: state.Drain{Tables: state.TablesUnknown},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, cdc := newCaptures(t)
			next := drainB
			if tt.cdc != nil {
				tt.cdc(cdc)
			}
			if tt.step != nil {
				tt.step(&next)
			}
			w.do(t, next)
			tt.want.Member, tt.want.PodUID, tt.want.Since, tt.want.Asked = next.Member, next.PodUID, now, now
			if got := w.drains(t); len(got) != 1 || got[0] != tt.want {
				t.Errorf("recorded %+v, want %+v", got, tt.want)
			}
			if !slices.Equal(cdc.calls, tt.calls) {
				t.Errorf("asked %q", cdc.calls)
			}
		})
	}
}

// TestDrainRemembersItsAnswers: the record has since when each answer was that no tables are left, and the highest
// number before. A new owner knows nothing of what another one has answered.
func TestDrainRemembersItsAnswers(t *testing.T) {
	w, cdc := newCaptures(t)
	again := drainB
	again.Again = true
	at := now
	w.now = func() time.Time { return at }
	for i, tt := range []struct {
		tables int
		owner  string
		most   int
		empty  int // since the n-th request; -1 for not
	}{
		{0, "a", 0, 0}, {0, "a", 0, 0}, {5, "a", 5, -1}, {0, "a", 5, 3}, {0, "a", 5, 3}, {0, "c", 0, 5},
	} {
		at = now.Add(time.Duration(i) * 5 * time.Second)
		cdc.tables, cdc.owner = tt.tables, tt.owner
		w.do(t, again)
		var empty time.Time
		if tt.empty >= 0 {
			empty = now.Add(time.Duration(tt.empty) * 5 * time.Second)
		}
		if got := w.drains(t)[0]; got.Most != tt.most || !got.Empty.Equal(empty) || got.Tables != tt.tables {
			t.Errorf("request %d: %+v", i, got)
		}
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
	for name, change := range map[string]func(*step.DrainCapture, *captures){
		"another owner":         func(_ *step.DrainCapture, c *captures) { c.owner = "b" },
		"another has resigned":  func(s *step.DrainCapture, _ *captures) { s.Owner = true },
		"another capture":       func(s *step.DrainCapture, _ *captures) { s.Capture = "c" },
		"no owner":              func(_ *step.DrainCapture, c *captures) { c.list = 503 },
		"another pod now":       func(s *step.DrainCapture, _ *captures) { s.PodUID = "former" },
		"another pod, no owner": func(s *step.DrainCapture, _ *captures) { s.PodUID, s.Capture = "former", "" },
	} {
		w, cdc := newCaptures(t)
		next := drainB
		change(&next, cdc)
		var s *Stale
		if err := w.Do(t.Context(), next); !errors.As(err, &s) || len(cdc.calls) > 0 {
			t.Errorf("%s: %v, asked %q", name, err, cdc.calls)
		}
	}
}

// TestAdoptDrain: the record begins with tidb-operator's drain, and is written before its mark goes.
func TestAdoptDrain(t *testing.T) {
	adopt := step.AdoptDrain{Component: topology.TiCDC, Member: drainB.Member, PodUID: drainB.PodUID, Since: now.Add(-time.Minute)}
	over := adopt
	over.Since = time.Time{}
	adopted := state.Drain{Member: adopt.Member, PodUID: adopt.PodUID, Since: adopt.Since, Asked: now, Tables: state.TablesUnknown}
	own := state.Drain{Member: adopt.Member, PodUID: adopt.PodUID, Capture: "b", Of: "a", Since: now, Asked: now, Tables: 7}
	former := own
	former.PodUID = "former"
	for name, tt := range map[string]struct {
		step   step.AdoptDrain
		mark   bool
		before *state.Drain
		want   *state.Drain
		writes []string
	}{
		"it goes on":                {adopt, true, nil, &adopted, []string{"create configmaps", "patch pods"}},
		"it is over":                {over, true, nil, nil, []string{"patch pods"}},
		"it is ours now":            {adopt, true, &own, &own, []string{"patch pods"}},
		"the record is of a former": {adopt, true, &former, &adopted, []string{"patch configmaps", "patch pods"}},
		"there is no mark any more": {adopt, false, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(topology.TiCDC, 1)
			p.Annotations = map[string]string{"theirs": "stays"}
			if tt.mark {
				p.Annotations[topology.AnnotationDrainBegun] = "any"
			}
			objects := []runtime.Object{p}
			if tt.before != nil {
				value, err := ledger.EncodeDrain(*tt.before)
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, ledgerMap(map[string]string{ledger.DrainKey(tt.before.Member): value}))
			}
			w := newFixture(t, objects...)
			w.do(t, tt.step)
			if got := w.writes(); !slices.Equal(got, tt.writes) {
				t.Errorf("writes %q", got)
			}
			if tt.want != nil {
				if got := w.drains(t); len(got) != 1 || got[0] != *tt.want {
					t.Errorf("recorded %+v, want %+v", got, *tt.want)
				}
			}
			live, err := w.kube.CoreV1().Pods("db").Get(t.Context(), p.Name, metav1.GetOptions{})
			if err != nil || len(live.Annotations) != 1 || live.Annotations["theirs"] != "stays" {
				t.Errorf("%v, %v", live.Annotations, err)
			}
			other := tt.step
			other.PodUID = "another"
			var old *Stale
			if err := w.Do(t.Context(), other); !errors.As(err, &old) {
				t.Errorf("the pod is another one: %v", err)
			}
		})
	}
}

// TestAdoptedDrainKeepsItsStart: our first request does not start the time again.
func TestAdoptedDrainKeepsItsStart(t *testing.T) {
	w, _ := newCaptures(t)
	p, err := w.kube.CoreV1().Pods("db").Get(t.Context(), drainB.Member, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Annotations = map[string]string{topology.AnnotationDrainBegun: "any"}
	if _, err := w.kube.CoreV1().Pods("db").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	began := now.Add(-time.Minute)
	w.do(t, step.AdoptDrain{Component: topology.TiCDC, Member: drainB.Member, PodUID: drainB.PodUID, Since: began})
	again := drainB
	again.Again = true
	w.do(t, again)
	if got := w.drains(t); len(got) != 1 || !got[0].Since.Equal(began) || got[0].Tables != 7 {
		t.Errorf("%+v", got)
	}
}

func TestForgetDrain(t *testing.T) {
	w, _ := newCaptures(t)
	forget := step.ForgetDrain{Component: topology.TiCDC, Member: drainB.Member, PodUID: drainB.PodUID}
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
