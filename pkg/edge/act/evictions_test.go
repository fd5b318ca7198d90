package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

var (
	evict = step.EvictLeaders{Member: "basic-tikv-1", StoreID: 2}
	allow = step.AllowLeaders{Member: "basic-tikv-1", StoreID: 2}
)

const (
	fromThisRun    = `{"member":"basic-tikv-1","since":"2026-07-01T11:00:00Z","owner":"this run","cluster":"7000000000000000001"}`
	fromAnotherRun = `{"member":"basic-tikv-1","since":"2026-07-01T11:00:00Z","owner":"another run"}`
	begunNow       = `{"member":"basic-tikv-1","since":"2026-07-01T12:00:00Z","owner":"this run","cluster":"7000000000000000001"}`
)

func evicting(ids ...uint64) func(*pd.FakeState) {
	return func(s *pd.FakeState) {
		s.Evicting = map[uint64]bool{}
		for _, id := range ids {
			s.Evicting[id] = true
		}
	}
}

func TestEvictAndAllowLeaders(t *testing.T) {
	w := newFixture(t)
	w.do(t, evict)
	if got := liveLedger(t, w)["evict-leader.2"]; got != begunNow {
		t.Errorf("recorded as %s", got)
	}
	cm, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cm.OwnerReferences) > 0 || cm.Labels["app.kubernetes.io/instance"] != "basic" {
		t.Errorf("the ledger would go with its TidbCluster, and the scheduler stay: %v, labels %v", cm.OwnerReferences, cm.Labels)
	}
	w.do(t, evict)
	w.do(t, allow)
	if cm, err = w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := metav1.GetControllerOf(cm); c == nil || c.UID != "tc-uid" {
		t.Errorf("the ledger would outlive its TidbCluster: %v", c)
	}
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
	w.do(t, allow)
	want := []string{"create configmaps", "patch configmaps", "AddEvictLeader(2)", "RemoveEvictLeader(2)"}
	if got := w.writes(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// dies makes a PD call fail, before or after it took effect, and lets the run
// end there.
func dies(w *fixture, call string) {
	w.pd.Hook = func(_ context.Context, got string) error {
		if got == call {
			return errors.New("killed")
		}
		return nil
	}
}

func TestKilledBeforePDWasAsked(t *testing.T) {
	w := newFixture(t)
	dies(w, "AddEvictLeader(2)")
	if err := w.Do(t.Context(), evict); err == nil {
		t.Fatal("PD did not answer")
	}
	if got := liveLedger(t, w)["evict-leader.2"]; got != begunNow {
		t.Errorf("the record has to come first, found %q", got)
	}
	w.pd.Hook = nil
	w.do(t, allow)
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
}

func TestKilledBeforeTheRecordWasRemoved(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.pd.Update(evicting(2))
	dies(w, "RemoveEvictLeader(2)")
	if err := w.Do(t.Context(), allow); err == nil {
		t.Fatal("PD did not answer")
	}
	if data := liveLedger(t, w); data["evict-leader.2"] != fromThisRun {
		t.Errorf("the record has to go last, found %v", data)
	}
	w.pd.Hook = nil
	w.do(t, allow)
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
}

// PD answers without an error, but has not done what it was asked to.
func TestEvictionsAreVerified(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.pd.Hook = func(_ context.Context, call string) error {
		if call == "EvictLeaderStores()" {
			w.pd.Update(evicting()) // PD has lost the scheduler, as after a leader change
		}
		return nil
	}
	if err := w.Do(t.Context(), evict); err == nil || !strings.Contains(err.Error(), "does not list it") {
		t.Errorf("got %v", err)
	}
	w.pd.Hook = func(_ context.Context, call string) error {
		if call == "EvictLeaderStores()" {
			w.pd.Update(evicting(2)) // the scheduler is still there
		}
		return nil
	}
	if err := w.Do(t.Context(), allow); err == nil || !strings.Contains(err.Error(), "still lists it") {
		t.Errorf("got %v", err)
	}
	if data := liveLedger(t, w); data["evict-leader.2"] != fromThisRun {
		t.Errorf("the record of a scheduler that exists is lost: %v", data)
	}
}

func TestWhenAnEvictionBegan(t *testing.T) {
	for _, tt := range []struct {
		name, found string
		evicting    bool
		want        string
	}{
		{"nothing is known", "", false, begunNow},
		{"PD has lost the scheduler in this run", fromThisRun, false, fromThisRun},
		{"it goes on since another run", fromAnotherRun, true, fromThisRun},
		{"another run has left only the record", fromAnotherRun, false, begunNow},
		{"the record cannot be read", "since noon", false, begunNow},
		{"the record cannot be read, and another scheduler exists", "since noon", true, strings.Replace(begunNow, `"this run"`, `"this run","foreign":true`, 1)},
		{"the record is of another member", strings.Replace(fromThisRun, "tikv-1", "tikv-9", 1), true, begunNow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			if tt.found != "" {
				_ = w.kube.Tracker().Add(ledgerMap(map[string]string{"evict-leader.2": tt.found, "evict-leader.7": "{}"}))
			}
			if tt.evicting {
				w.pd.Update(evicting(2))
			}
			w.do(t, evict)
			data := liveLedger(t, w)
			if got := data["evict-leader.2"]; got != tt.want {
				t.Errorf("recorded as %s", got)
			}
			if _, other := data["evict-leader.7"]; other != (tt.found != "") {
				t.Error("another store's record is gone")
			}
		})
	}
}

// tikv-11-36: the number of leaders during an eviction is not recorded as the number before it.
func TestLeadersBefore(t *testing.T) {
	counted := strings.Replace(fromThisRun, `"this run"`, `"this run","leaders":450`, 1)
	ended := strings.Replace(counted, "450", `450,"ended":"2026-07-01T11:30:00Z"`, 1)
	for _, tt := range []struct {
		name, found string
		leaders     int
		evicting    bool
		want        string
	}{
		{"the first count", "", 450, false, strings.Replace(begunNow, `"this run"`, `"this run","leaders":450`, 1)},
		{"PD has lost the scheduler since", counted, 17, false, counted},
		{"it was not known then", fromThisRun, 17, true, strings.Replace(fromThisRun, `"this run"`, `"this run","leaders":17`, 1)},
		{"the store does not answer", "", -1, false, begunNow},
		{"another eviction of the same store", ended, 17, false, strings.Replace(begunNow, `"this run"`, `"this run","leaders":17`, 1)},
		{"and another scheduler exists", ended, 17, true, strings.Replace(begunNow, `"this run"`, `"this run","foreign":true,"leaders":17`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			if tt.found != "" {
				_ = w.kube.Tracker().Add(ledgerMap(map[string]string{"evict-leader.2": tt.found}))
			}
			if tt.evicting {
				w.pd.Update(evicting(2))
			}
			w.do(t, step.EvictLeaders{Member: "basic-tikv-1", StoreID: 2, Leaders: tt.leaders})
			if got := liveLedger(t, w)["evict-leader.2"]; got != tt.want {
				t.Errorf("recorded as %s", got)
			}
		})
	}
}

// The record stays until the leaders are back, and is then deleted without a request to PD.
func TestRecordOfReturningLeaders(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.pd.Update(evicting(2))
	w.do(t, step.AllowLeaders{Member: "basic-tikv-1", StoreID: 2, Returning: true})
	ended := strings.Replace(fromThisRun, `,"cluster"`, `,"ended":"2026-07-01T12:00:00Z","cluster"`, 1)
	if got := liveLedger(t, w)["evict-leader.2"]; got != ended {
		t.Errorf("recorded as %s", got)
	}
	w.pd.Update(evicting(2)) // tikv-11-12: a scheduler that is not ours
	w.do(t, step.ForgetRecord{Component: topology.TiKV, Member: "basic-tikv-1", StoreID: 2, Record: state.RecordEviction})
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
	if got := w.pd.Writes(); !slices.Equal(got, []string{"RemoveEvictLeader(2)"}) {
		t.Errorf("PD was asked for %q", got)
	}
}

// If a record cannot be read, its scheduler or removal is not taken back, and the record stays.
func TestRecordCannotBeRead(t *testing.T) {
	for name, record := range map[string]string{
		"no JSON":          "since noon",
		"a later version":  `{"member":{"name":"basic-tikv-1"},"since":"2026-07-01T11:00:00Z","foreign":true}`,
		"without a member": `{"pod":"basic-tikv-1"}`,
	} {
		pod := &corev1.Pod{ObjectMeta: owned("basic-tikv-1", topology.TiKV)}
		pod.Annotations = map[string]string{topology.AnnotationEvictionBegun: now.Format(time.RFC3339)}
		records := map[string]string{"evict-leader.2": record, "remove-store.4": record}
		w := newFixture(t, pod, ledgerMap(records))
		w.pd.Update(evicting(2))
		w.pd.Update(storeState(pd.StoreOffline))
		w.isStale(t, takeBack)
		w.do(t, step.AdoptEviction{Member: "basic-tikv-1", StoreID: 2, PodUID: "uid-of-basic-tikv-1", Since: now})
		w.do(t, allow)
		w.do(t, step.ForgetRecord{Component: topology.TiKV, Member: "basic-tikv-1", StoreID: 2, Record: state.RecordEviction})
		w.do(t, conclude)
		if got := liveLedger(t, w); !maps.Equal(got, records) {
			t.Errorf("%s: the ledger is %v", name, got)
		}
		if calls := w.pd.Writes(); len(calls) > 0 {
			t.Errorf("%s: PD was asked for %q", name, calls)
		}
	}
}

// A scheduler that existed before ours is used, and stays.
func TestForeignSchedulerStays(t *testing.T) {
	w := newFixture(t)
	w.pd.Update(evicting(2))
	w.do(t, evict)
	w.do(t, allow)
	if data := liveLedger(t, w); len(data) != 0 {
		t.Errorf("left in the ledger: %v", data)
	}
	if calls := w.pd.Writes(); len(calls) > 0 {
		t.Errorf("touched a scheduler that is not ours: %q", calls)
	}
}

func TestAllowLeadersWithoutRecord(t *testing.T) {
	w := newFixture(t, ledgerMap(map[string]string{"evict-leader.3": fromThisRun}))
	w.pd.Update(evicting(2))
	w.do(t, allow)
	w.unchanged(t)
}

func TestEvictPreconditions(t *testing.T) {
	t.Run("offline now", func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) { s.Stores[1].State = pd.StoreOffline })
		w.isStale(t, evict)
	})
	t.Run("PD has not loaded its schedulers", func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) { s.SchedulersNotLoaded = true })
		if err := w.Do(t.Context(), evict); !errors.Is(err, pd.ErrSchedulersNotLoaded) {
			t.Errorf("got %v", err)
		}
		w.unchanged(t)
	})
	t.Run("a ledger of another owner", func(t *testing.T) {
		theirs := ledgerMap(nil)
		theirs.OwnerReferences, theirs.Labels = nil, nil
		w := newFixture(t, theirs)
		if err := w.Do(t.Context(), evict); !isFinal(err) {
			t.Errorf("got %v", err)
		}
		w.unchanged(t)
	})
}

// Leaders are evicted only from the store of the pod that the step was decided on: a later pod may
// be restarted already.
func TestEvictsLeadersOfTheSamePod(t *testing.T) {
	s := evict
	s.PodUID = "uid-of-basic-tikv-1"
	w := newFixture(t)
	w.isStale(t, s)
	meta := owned("basic-tikv-1", topology.TiKV)
	meta.UID = "another one"
	w = newFixture(t, &corev1.Pod{ObjectMeta: meta})
	w.isStale(t, s)
	w = newFixture(t, &corev1.Pod{ObjectMeta: owned("basic-tikv-1", topology.TiKV)})
	w.do(t, s)
	if got := w.pd.Writes(); !slices.Equal(got, []string{"AddEvictLeader(2)"}) {
		t.Errorf("PD was asked for %q", got)
	}
}

// An eviction that tidb-operator began is recorded as ours, with its start, before the mark is
// removed.
func TestAdoptEviction(t *testing.T) {
	began := now.Add(-10 * time.Minute)
	s := step.AdoptEviction{Member: "basic-tikv-1", StoreID: 2, PodUID: "uid-of-basic-tikv-1", Since: began, Leaders: 30}
	ended := s
	ended.Ended = true
	adopted := `{"member":"basic-tikv-1","since":"2026-07-01T11:50:00Z","owner":"this run","leaders":30,"cluster":"7000000000000000001"}`
	pod := func(mark string) *corev1.Pod {
		meta := owned("basic-tikv-1", topology.TiKV)
		if mark != "" {
			meta.Annotations = map[string]string{topology.AnnotationEvictionBegun: mark, "theirs": "stays"}
		}
		return &corev1.Pod{ObjectMeta: meta}
	}
	marked := func(t *testing.T, w *fixture) bool {
		p, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-tikv-1", metav1.GetOptions{})
		if err != nil || p.Annotations["theirs"] != "stays" {
			t.Errorf("%v, %v", p.Annotations, err)
		}
		return p.Annotations[topology.AnnotationEvictionBegun] != ""
	}
	mark := began.Format(time.RFC3339)

	w := newFixture(t, pod(mark))
	w.pd.Update(evicting(2))
	w.do(t, s)
	if got := liveLedger(t, w)["evict-leader.2"]; got != adopted || marked(t, w) {
		t.Errorf("recorded as %q", got)
	}
	w.do(t, s) // nothing is left to be done
	w.do(t, allow)
	if got := w.writes(); !slices.Equal(got, []string{"create configmaps", "patch pods", "patch configmaps", "RemoveEvictLeader(2)"}) {
		t.Errorf("got %q", got)
	}

	w = newFixture(t, pod(mark), ledgerMap(map[string]string{"evict-leader.2": fromThisRun}))
	w.pd.Update(evicting(2))
	w.do(t, ended)
	if got := liveLedger(t, w)["evict-leader.2"]; got != fromThisRun || marked(t, w) {
		t.Errorf("recorded as %q", got)
	}

	w = newFixture(t, pod(mark))
	w.do(t, ended)
	if got := w.writes(); !slices.Equal(got, []string{"patch pods"}) || marked(t, w) {
		t.Errorf("got %q", got)
	}

	// Without the mark the scheduler is not tidb-operator's.
	w = newFixture(t, pod(""))
	w.pd.Update(evicting(2))
	w.do(t, s)
	w.unchanged(t)

	w = newFixture(t, pod(mark))
	w.pd.Update(evicting(2))
	w.isStale(t, ended) // that scheduler was not observed
	other := s
	other.PodUID = "another"
	w.isStale(t, other)
}

// TestOwnSchedulerMovesNoLeaders: a scheduler that moves 0 leaders at a time is corrected, but not one that has a store
// of others.
func TestOwnSchedulerMovesNoLeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		ledger   map[string]string
		evicting []uint64
		batch    int
		want     bool
	}{
		"it is made now":               {nil, nil, 0, true},
		"it was there, and is ours":    {map[string]string{"evict-leader.2": fromThisRun}, []uint64{2}, 0, true},
		"it moves leaders":             {map[string]string{"evict-leader.2": fromThisRun}, []uint64{2}, 3, false},
		"PD does not say":              {map[string]string{"evict-leader.2": fromThisRun}, []uint64{2}, -1, false},
		"it has a store of others too": {map[string]string{"evict-leader.2": fromThisRun}, []uint64{1, 2}, 0, false},
		"it is another user's":         {nil, []uint64{2}, 0, false},
	} {
		w := newFixture(t, ledgerMap(tc.ledger))
		w.pd.Update(evicting(tc.evicting...))
		w.pd.Update(func(s *pd.FakeState) { s.Scheduling.Batch = tc.batch })
		w.do(t, evict)
		if got := slices.Contains(w.pd.Writes(), "SetEvictBatch(2)"); got != tc.want {
			t.Errorf("%s: %q", name, w.pd.Writes())
		}
	}
}

// TestPausedStore: PD's leader may believe that a store has a scheduler. No further attempt helps then, and the error
// names the member that should lead. A member in another Kubernetes cluster is none of these, whatever its name.
func TestPausedStore(t *testing.T) {
	for members, want := range map[int]string{3: "kubectl tidb transfer-leader basic basic-pd-1 -n db", 1: "kubectl tidb restart basic basic-pd-0 -n db"} {
		w := newFixture(t)
		w.cluster.AcrossK8s = true
		w.pd.Update(func(s *pd.FakeState) {
			s.Members, s.Leader = nil, "basic-pd-0.basic-pd-peer.db.svc"
			for i := range members {
				s.Members = append(s.Members, pd.Member{ID: uint64(i + 1), Name: fmt.Sprintf("basic-pd-%d.basic-pd-peer.db.svc", i)})
			}
			s.Members = append(s.Members, pd.Member{ID: 9, Name: "basic-pd-1.basic-pd-peer.db.svc.us.example"})
		})
		w.pd.Hook = func(_ context.Context, call string) error {
			if strings.HasPrefix(call, "AddEvictLeader") {
				return &pd.StatusError{Code: 500, Message: "[PD:core:ErrPauseLeaderTransfer]store 2 is paused for leader transfer"}
			}
			return nil
		}
		err := w.Do(t.Context(), evict)
		final, is := errors.AsType[*pausedError](err)
		if !is || !final.Final() || !errors.Is(err, pd.ErrPaused) || !errors.Is(err, pd.ErrRefused) {
			t.Fatalf("%d members: %v", members, err)
		}
		if got := remedy.Text(err, ""); !strings.Contains(got, want) {
			t.Errorf("%d members: %s", members, got)
		}
	}
}
