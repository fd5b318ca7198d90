package act

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// fakeIntent is a TidbCluster in memory that takes merge patches as the API
// server does.
type fakeIntent struct {
	tc      v1alpha1.TidbCluster
	patches int
	fails   error // what writing returns, without writing
}

func (f *fakeIntent) Load(context.Context, string, string) (*v1alpha1.TidbCluster, error) {
	return f.tc.DeepCopy(), nil
}

func (f *fakeIntent) EndPause(context.Context, *v1alpha1.TidbCluster) error {
	if f.fails != nil {
		return f.fails
	}
	f.patches++
	topology.EndPause(&f.tc)
	return nil
}

func (f *fakeIntent) RecordDDLPause(_ context.Context, _ *v1alpha1.TidbCluster, p topology.DDLPause) error {
	if f.fails != nil {
		return f.fails
	}
	f.patches++
	for key, value := range p.Annotations() {
		metav1.SetMetaDataAnnotation(&f.tc.ObjectMeta, key, value)
	}
	return nil
}

func (f *fakeIntent) ForgetDDLPause(context.Context, *v1alpha1.TidbCluster) error {
	if f.fails != nil {
		return f.fails
	}
	f.patches++
	for _, key := range topology.DDLPauseAnnotations() {
		delete(f.tc.Annotations, key)
	}
	return nil
}

func (f *fakeIntent) PatchStatus(_ context.Context, _, _ string, patch []byte) error {
	if f.fails != nil {
		return f.fails
	}
	f.patches++
	before, err := json.Marshal(f.tc)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return err
	}
	f.tc = v1alpha1.TidbCluster{}
	return json.Unmarshal(after, &f.tc)
}

func newFailing(t *testing.T) *fixture {
	w := newFixture(t)
	w.intent.tc = v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "tc-uid"},
		Spec: v1alpha1.TidbClusterSpec{
			PD: &v1alpha1.PDSpec{Replicas: 3}, TiKV: &v1alpha1.TiKVSpec{Replicas: 4}, TiDB: &v1alpha1.TiDBSpec{Replicas: 2},
		},
	}
	w.pd.Update(func(s *pd.FakeState) {
		s.Stores[3].StateName = pd.StateNameDown
		s.Unhealthy = map[string]bool{s.Members[2].Name: true}
	})
	return w
}

func (w *fixture) failures(t *testing.T, k topology.Kind) []topology.Failure {
	t.Helper()
	g, ok := topology.New(&w.intent.tc).Group(k)
	if !ok {
		t.Fatalf("there is no %s", k)
	}
	return g.Failures
}

func TestFailures(t *testing.T) {
	w := newFailing(t)
	var memberID, storeID uint64
	w.pd.Update(func(s *pd.FakeState) { memberID, storeID = s.Members[2].ID, s.Stores[3].ID })
	for _, s := range []step.RecordFailure{
		{Component: topology.PD, Member: "basic-pd-2", ID: memberID, Name: "basic-pd-2", Claims: []string{"u1"}},
		{Component: topology.TiKV, Member: "basic-tikv-3", ID: storeID, Claims: []string{"u2", "u3"}},
		{Component: topology.TiDB, Member: "basic-tidb-1"},
	} {
		for range 2 { // a lost answer does not lead to a second record
			if err := w.Do(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		got := w.failures(t, s.Component)
		if len(got) != 1 || got[0].Member != s.Member || got[0].ID != s.ID || len(got[0].Claims) != len(s.Claims) ||
			!got[0].Created.Equal(now) || got[0].Discarded || got[0].Deleted {
			t.Errorf("%s: recorded %+v", s, got)
		}
	}
	if w.intent.patches != 3 {
		t.Errorf("wrote %d times", w.intent.patches)
	}
	failover := w.intent.tc.Status.TiKV.FailoverUID
	if failover == "" {
		t.Error("the failover has no UID that a user could ask to recover from")
	}

	later := now.Add(time.Hour)
	w.now = func() time.Time { return later }
	discard := step.RecordFailure{Component: topology.TiKV, Member: "basic-tikv-3", ID: storeID, Discarded: true}
	retire := step.RetireFailure{Component: topology.PD, Member: "basic-pd-2"}
	for _, s := range []step.Step{discard, retire} {
		if err := w.Do(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if got := w.failures(t, topology.TiKV)[0]; !got.Discarded || !got.Created.Equal(now) {
		t.Errorf("discarded: %+v", got)
	}
	if w.intent.tc.Status.TiKV.FailoverUID != failover {
		t.Error("the failover has another UID")
	}
	if got := w.failures(t, topology.PD)[0]; !got.Deleted || got.ID != memberID || len(got.Claims) != 1 {
		t.Errorf("retired: %+v", got)
	}

	for k, pod := range map[topology.Kind]string{topology.PD: "basic-pd-2", topology.TiKV: "basic-tikv-3", topology.TiDB: "basic-tidb-1"} {
		for range 2 {
			if err := w.Do(t.Context(), step.ForgetFailure{Component: k, Member: pod}); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.failures(t, k); len(got) > 0 {
			t.Errorf("not notInPD: %+v", got)
		}
	}
	if w.intent.tc.Status.TiKV.FailoverUID != "" {
		t.Error("a request to recover from this failover would also be one for the next")
	}
}

func TestFailuresRefused(t *testing.T) {
	next := step.RecordFailure{Component: topology.TiKV, Member: "basic-tikv-3", ID: 4}
	for name, tc := range map[string]struct {
		change func(*fixture)
		step   step.Step
		want   string
	}{
		"it is back":           {func(w *fixture) { w.pd.Update(func(s *pd.FakeState) { s.Stores[3].StateName = "Up" }) }, next, "is Up again"},
		"the cap is reached":   {func(w *fixture) { w.intent.tc.Spec.TiKV.MaxFailoverCount = new(int32) }, next, "has 0 failovers"},
		"paused":               {func(w *fixture) { w.intent.tc.Spec.Paused = true }, next, "is paused"},
		"another cluster":      {func(w *fixture) { w.intent.tc.UID = "other" }, next, "created again"},
		"another store":        {func(*fixture) {}, step.RecordFailure{Component: topology.TiKV, Member: "basic-tikv-2", ID: 4}, "is not basic-tikv-2"},
		"PD member is healthy": {func(*fixture) {}, step.RecordFailure{Component: topology.PD, Member: "basic-pd-1", ID: 2}, "is healthy again"},
		"nothing to retire":    {func(*fixture) {}, step.RetireFailure{Component: topology.PD, Member: "basic-pd-1"}, "has no failover"},
		"component is gone":    {func(w *fixture) { w.intent.tc.Spec.TiKV = nil }, next, "has no TiKV"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFailing(t)
			tc.change(w)
			s := tc.step
			if r, ok := s.(step.RecordFailure); ok {
				w.pd.Update(func(st *pd.FakeState) {
					if r.ID == 4 {
						r.ID = st.Stores[3].ID
					} else {
						r.ID = st.Members[1].ID
					}
				})
				s = r
			}
			err := w.Do(t.Context(), s)
			var old *Stale
			if !errors.As(err, &old) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if w.intent.patches > 0 {
				t.Error("wrote all the same")
			}
		})
	}
}
