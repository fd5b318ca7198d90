package observe

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	basic = topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic"}
)

const kvHost = "basic-tikv-0.basic-tikv-peer.db.svc:20160"

func TestOwner(t *testing.T) {
	for url, want := range map[string]int{
		"http://basic-pd-2.basic-pd-peer.db.svc:2380":               2,
		"http://basic-pd-2.basic-pd-peer.db.svc.cluster.local:2380": 2,
		"http://basic-pd-2.basic-pd-peer.other.svc:2380":            -1,
		"http://other-pd-2.other-pd-peer.db.svc:2380":               -1,
		"http://basic-pd-02.basic-pd-peer.db.svc:2380":              -1,
		"http://basic-pd-2.basic-pd-peer.db.svcx:2380":              -1,
		"http://10.0.0.1:2380":                                      -1,
		"://":                                                       -1,
	} {
		for _, domain := range []string{"", "cluster.local"} { // members give PD the domain of their pods
			c := basic
			c.Domain = domain
			n, ok := owner(c, topology.PD, url)
			if ok != (want >= 0) || n != max(want, 0) {
				t.Errorf("%s: got %d, %t, want %d", url, n, ok, want)
			}
		}
	}
}

// TestOwnerOfSeveral: an address that cannot be read hides no other one, and a store is no member of a
// component that has no stores.
func TestOwnerOfSeveral(t *testing.T) {
	if n, ok := owner(basic, topology.PD, "://", "http://basic-pd-2.basic-pd-peer.db.svc:2380"); !ok || n != 2 {
		t.Errorf("got %d, %t", n, ok)
	}
	for address, want := range map[string]bool{kvHost: true, "basic-pd-1.basic-pd-peer.db.svc:20160": false} {
		k, n, ok := storeOwner(basic, &pd.Store{Address: address})
		if ok != want || n != 0 || ok == (k == "") {
			t.Errorf("%s: got %s, %d, %t", address, k, n, ok)
		}
	}
}

// TestStoreHealth: a store that is Up in PD is healthy only if its last heartbeat proves it.
func TestStoreHealth(t *testing.T) {
	started := &state.Pod{Started: noon}
	for name, c := range map[string]struct {
		store pd.Store
		pod   *state.Pod
		up    bool
	}{
		"heard of since":       {pd.Store{StateName: "Up", LastHeartbeat: noon.Add(state.ClocksApart + 1)}, started, true},
		"not heard of since":   {pd.Store{StateName: "Up", LastHeartbeat: noon}, started, false},
		"never heard of":       {pd.Store{StateName: "Up"}, started, false},
		"disconnected":         {pd.Store{StateName: "Disconnected", LastHeartbeat: noon.Add(time.Hour)}, started, false},
		"offline, heard of":    {pd.Store{State: pd.StoreOffline, StateName: "Offline", LastHeartbeat: noon.Add(time.Hour)}, started, false},
		"no pod, heard of yet": {pd.Store{StateName: "Up", LastHeartbeat: noon}, nil, true},
	} {
		c.store.ID, c.store.Address = 1, kvHost
		got := sorted(c.store).member(topology.TiKV, 0, c.pod, noon)
		if got.Presence != state.Present || got.Healthy != c.up {
			t.Errorf("%s: got %+v, want healthy %t", name, got, c.up)
		}
	}
}

// TestTombstone: a tombstone belongs to the data of the removed store, and not to a store with new
// data at the same address.
func TestTombstone(t *testing.T) {
	removed := pd.Store{ID: 4, Address: kvHost, State: pd.StoreTombstone, StateName: "Tombstone", LastHeartbeat: noon}
	old := sorted(removed).member(topology.TiKV, 0, nil, noon.Add(-time.Hour))
	if old.State != state.StoreTombstone {
		t.Errorf("data of the removed store: got %+v, want a tombstone", old)
	}
	fresh := sorted(removed).member(topology.TiKV, 0, &state.Pod{}, noon.Add(time.Minute))
	if fresh.Presence != state.Absent {
		t.Errorf("data made since: got %+v, want absent", fresh)
	}
	joined := sorted(removed, pd.Store{ID: 9, Address: kvHost, StateName: "Up", LastHeartbeat: noon.Add(time.Hour)}).
		member(topology.TiKV, 0, &state.Pod{Started: noon}, noon.Add(time.Minute))
	if joined.ID != 9 || !joined.Healthy {
		t.Errorf("a store that has registered since: got %+v, want store 9, healthy", joined)
	}
}

// TestUnknown: without PD every member is unknown, and none absent.
func TestUnknown(t *testing.T) {
	unanswered := database{state: state.PD{Problem: "PD is unreachable"}}
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		if got := unanswered.member(k, 0, nil, time.Time{}); got.Presence != state.Unknown {
			t.Errorf("%s: got %+v, want unknown", k, got)
		}
	}
}

func sorted(stores ...pd.Store) database {
	return answers{members: &pd.Members{}, stores: stores, replication: &pd.ReplicationConfig{}}.sort(basic)
}

// TestMemberWithoutName: a member that was added but has not started is known only by its peer URL,
// and PD adds no other member before it starts.
func TestMemberWithoutName(t *testing.T) {
	d := answers{
		members:     &pd.Members{Members: []pd.Member{{ID: 7, PeerURLs: []string{"http://basic-pd-3.basic-pd-peer.db.svc:2380"}}}},
		replication: &pd.ReplicationConfig{},
	}.sort(basic)
	got := d.member(topology.PD, 3, nil, time.Time{})
	if got.Presence != state.Present || got.Healthy || got.Problem == "" || !slices.Equal(d.ordinals(topology.PD), []int{3}) {
		t.Errorf("got %+v of %v", got, d.ordinals(topology.PD))
	}
}

// TestFirstMemberThatIsLate: a member that PD was bootstrapped with has its name from the
// beginning; only a client URL shows that it has started.
func TestFirstMemberThatIsLate(t *testing.T) {
	first := pd.Member{ID: 7, Name: "basic-pd-0", PeerURLs: []string{"http://basic-pd-0.basic-pd-peer.db.svc:2380"}}
	has := func(m pd.Member) state.Database {
		return answers{members: &pd.Members{Members: []pd.Member{m}}, replication: &pd.ReplicationConfig{}}.sort(basic).
			member(topology.PD, 0, nil, time.Time{}).Database
	}
	if got := has(first); !got.Unstarted || got.Name != "basic-pd-0" || !strings.Contains(got.Problem, "has not started yet") {
		t.Errorf("late: %+v", got)
	}
	first.ClientURLs = []string{"http://basic-pd-0.basic-pd-peer.db.svc:2379"}
	if got := has(first); got.Unstarted || strings.Contains(got.Problem, "started") {
		t.Errorf("started and stopped: got %+v", got)
	}
}

func TestPodState(t *testing.T) {
	grace := int64(30)
	gone := metav1.NewTime(noon.Add(30 * time.Second))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &gone, DeletionGracePeriodSeconds: &grace},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "tikv", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}, Image: "pingcap/tikv:v9",
		}}},
	}
	p.Spec.Containers = []corev1.Container{{Name: "slowlog", Image: "busybox:1.26"}, {Name: "tikv", Image: "r:5000/tikv:v9@sha256:00"}}
	got := podState(topology.TiKV, p)
	if got.Version != "v9" {
		t.Errorf("version %q", got.Version)
	}
	if !got.Terminating || !got.Since.Equal(noon) || got.Ran || got.Problem != "image pingcap/tikv:v9 cannot be pulled" {
		t.Errorf("got %+v", got)
	}
	p.Status.ContainerStatuses[0].RestartCount = 1
	if got := podState(topology.TiKV, p); !got.Ran {
		t.Errorf("a container that was restarted has run: got %+v", got)
	}
}

// TestWritesBinlog: whether the process of a server writes a binlog is what its container was told.
func TestWritesBinlog(t *testing.T) {
	for name, tt := range map[string]struct {
		container, variable, value string
		want                       bool
	}{
		"it does":            {"tidb", "BINLOG_ENABLED", "true", true},
		"it does not":        {"tidb", "BINLOG_ENABLED", "false", false},
		"another variable":   {"tidb", "HEADLESS", "true", false},
		"of another process": {"slowlog", "BINLOG_ENABLED", "true", false},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: tt.container, Env: []corev1.EnvVar{{Name: "TZ", Value: "UTC"}, {Name: tt.variable, Value: tt.value}}},
		}}}
		if got := podState(topology.TiDB, p).Binlog; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCrashes: a pod's last crash is known while its container runs, while it waits for a restart,
// and right after it ended.
func TestCrashes(t *testing.T) {
	began, ended := metav1.NewTime(noon), metav1.NewTime(noon.Add(20*time.Second))
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: began, FinishedAt: ended}}
	run := state.Run{Started: noon, Ended: noon.Add(20 * time.Second)}
	for name, c := range map[string]struct {
		now, last corev1.ContainerState
		want      state.Run
	}{
		"runs":          {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, over, run},
		"waits":         {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, over, run},
		"has ended":     {over, corev1.ContainerState{}, run},
		"never crashed": {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{}, state.Run{}},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: began}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "sidecar", RestartCount: 9}, {Name: "tikv", RestartCount: 4, State: c.now, LastTerminationState: c.last},
		}}}
		got := podState(topology.TiKV, p)
		if got.Restarts != 4 || !got.Made.Equal(noon) || !got.Last.Started.Equal(c.want.Started) || !got.Last.Ended.Equal(c.want.Ended) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestClaimOrdinal(t *testing.T) {
	type answer struct {
		volume  string
		ordinal int
	}
	none := answer{ordinal: -1}
	for name, want := range map[string]answer{
		"tikv-basic-tikv-0": {"tikv", 0}, "tikv-log-basic-tikv-12": {"tikv-log", 12}, "tikv-other-tikv-0": none, "basic-tikv": none,
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{topology.LabelComponent: "tikv"},
		}}
		volume, n, ok := claimOrdinal(basic, topology.TiKV, claim)
		got := answer{volume, n}
		if !ok {
			got = none
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// TestLedger: the records of the ledger. Records that this version cannot read are gaps, and no
// error.
func TestLedger(t *testing.T) {
	l := Objects{Ledger: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "basic-ledger", Namespace: "db"},
		Data: map[string]string{
			"remove-store.4":    `{"member":"basic-tikv-3","since":"2026-07-01T12:00:00Z"}`,
			"evict-leader.four": `{}`,
		},
	}}
	got := ledger.Read(l.sort(basic).ledger)
	if len(got.Removals) != 1 || got.Removals[0].Member != "basic-tikv-3" || len(got.Gaps) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestNoLedger: a cluster without records has no ledger, and not an empty one.
func TestNoLedger(t *testing.T) {
	for _, ledgers := range [][]runtime.Object{nil, {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: basic.LedgerMap()}}}} {
		got, err := live{kube: fake.NewClientset(ledgers...)}.Objects(t.Context(), basic)
		if err != nil || (got.Ledger != nil) != (len(ledgers) > 0) {
			t.Errorf("of %d ledgers: %+v, %v", len(ledgers), got.Ledger, err)
		}
	}
}

// While PD loads its schedulers, everything else about it is known.
func TestSchedulersNotLoaded(t *testing.T) {
	f := pd.NewFake(1, 1)
	f.Update(func(s *pd.FakeState) { s.Evicting = map[uint64]bool{1: true} })
	for _, unloaded := range []bool{true, false} {
		f.Update(func(s *pd.FakeState) { s.SchedulersNotLoaded = unloaded })
		a, err := ask(t.Context(), f, func() time.Time { return noon }, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.sort(basic).state; got.SchedulersUnknown != unloaded || got.Stores != 1 || len(a.scheduling.Evicting) == 0 != unloaded {
			t.Errorf("got %+v, %v", got, a.scheduling.Evicting)
		}
	}
}

// A Pump was asked to close if its pod says so of the process that runs now.
func TestPumpWasAskedToClose(t *testing.T) {
	for value, want := range map[string]bool{"2": true, "1": false, "": false} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubectl-tidb/closing": value}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pump", RestartCount: 2}}
		if got := podState(topology.Pump, p).Closing; got != want {
			t.Errorf("%q: %t", value, got)
		}
	}
}

// tidb-operator's mark of a drain says when it began, and stays a mark where that cannot be read.
func TestDrainBegun(t *testing.T) {
	for value, want := range map[string]time.Time{
		"2026-03-01T13:00:00+01:00": noon,
		"yesterday":                 state.LongAgo,
		"":                          {},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"tidb.pingcap.com/ticdc-graceful-shutdown-begin-time": value}}}
		if got := podState(topology.TiCDC, p).DrainBegun; !got.Equal(want) {
			t.Errorf("%q: %s", value, got)
		}
	}
}

// tidb-operator's mark of an eviction says when it began.
func TestEvictionBegun(t *testing.T) {
	for value, want := range map[string]time.Time{
		"2026-03-01T13:00:00+01:00": noon,
		"yesterday":                 {},
		"":                          {},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"evictLeaderBeginTime": value}}}
		if got := podState(topology.TiKV, p).EvictionBegun; !got.Equal(want) {
			t.Errorf("%q: %s", value, got)
		}
	}
}

// TestRecordsOfAnotherCluster: records that are older than the PD cluster are not observed. While its id is unknown
// they are.
func TestRecordsOfAnotherCluster(t *testing.T) {
	book := &corev1.ConfigMap{Data: map[string]string{
		"evict-leader.5": `{"member":"basic-tikv-1","cluster":"6"}`, "remove-store.6": `{"member":"basic-tikv-2","cluster":"7"}`,
		"evict-leader.7": `{"member":"basic-tikv-0"}`, ledger.RulesKey: ledger.EncodeRules(noon, 6),
	}}
	for cluster, want := range map[uint64]struct {
		evictions, removals int
		rules               bool
	}{0: {2, 1, true}, 6: {2, 0, true}, 7: {1, 1, false}} {
		got := ledger.Read(ledger.Of(book, cluster))
		if len(got.Evictions) != want.evictions || len(got.Removals) != want.removals || got.RulesEnabled.IsZero() == want.rules || len(got.Gaps) > 0 {
			t.Errorf("of cluster %d: %+v", cluster, got)
		}
	}
}
