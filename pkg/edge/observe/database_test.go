package observe

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestListedOrdinals: PD lists members with gaps. A tombstone does not count, and PD lists no TiDB servers.
func TestListedOrdinals(t *testing.T) {
	inState := func(s state.StoreState) listed { return listed{Database: state.Database{State: s}} }
	d := database{listed: map[topology.Kind]map[int]listed{
		topology.PD:   {0: {}, 6: {}},
		topology.TiKV: {1: inState(state.StoreUp), 3: inState(state.StoreOffline), 4: inState(state.StoreTombstone)},
	}}
	for k, want := range map[topology.Kind][]int{topology.PD: {0, 6}, topology.TiKV: {1, 3}, topology.TiDB: nil} {
		if got := slices.Sorted(slices.Values(d.ordinals(k))); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", k, got, want)
		}
	}
}

// TestOrdinals: a member is observed where something of it is wanted or exists. What lies between is observed as well,
// because a StatefulSet that grows makes these pods first.
func TestOrdinals(t *testing.T) {
	pods := func(ordinals ...int) (all []*corev1.Pod) {
		for _, n := range ordinals {
			all = append(all, runningPod(topology.TiKV, basic.PodName(topology.TiKV, n)))
		}
		return all
	}
	up := listed{Database: state.Database{State: state.StoreUp}}
	for name, tt := range map[string]struct {
		c      topology.Cluster
		want   topology.Group
		set    state.Set
		pods   []*corev1.Pod
		claims []int
		listed []int
		all    []int
	}{
		"nothing":                       {},
		"what is wanted":                {want: topology.Group{Replicas: 2}, all: []int{0, 1}},
		"what the StatefulSet has":      {set: state.Set{Exists: true, Replicas: 2, Start: 3}, want: topology.Group{Replicas: 1, Start: 3}, all: []int{3, 4}},
		"what has a pod, and between":   {set: state.Set{Exists: true, Replicas: 1}, pods: pods(3), all: []int{0, 1, 2, 3}},
		"what PD lists":                 {set: state.Set{Exists: true, Replicas: 1}, listed: []int{2}, all: []int{0, 1, 2}},
		"below the first of a set":      {set: state.Set{Exists: true, Replicas: 1, Start: 4}, listed: []int{1}, all: []int{1, 4}},
		"no slots":                      {set: state.Set{Exists: true, Replicas: 2, Slots: []int{1}}, pods: pods(4), all: []int{0, 2, 3, 4}},
		"a pod in a slot":               {set: state.Set{Exists: true, Replicas: 2, Slots: []int{1}}, pods: pods(1), all: []int{0, 1, 2}},
		"a claim alone is left":         {set: state.Set{Exists: true, Replicas: 1}, claims: []int{2}, all: []int{0}},
		"a claim that may be deleted":   {c: topology.Cluster{Reclaims: true}, set: state.Set{Exists: true, Replicas: 1}, claims: []int{1}, all: []int{0, 1}},
		"a claim of a suspended member": {claims: []int{1}, all: []int{0, 1}},
	} {
		seen := Objects{Pods: tt.pods}.sort(basic)
		for _, n := range tt.claims {
			seen.claims[topology.TiKV][n] = []state.Claim{{Name: "data"}}
		}
		d := database{listed: map[topology.Kind]map[int]listed{topology.TiKV: {}}}
		for _, n := range tt.listed {
			d.listed[topology.TiKV][n] = up
		}
		tt.want.Kind = topology.TiKV
		if got := ordinals(tt.c, tt.want, tt.set, seen, d); !slices.Equal(got, tt.all) {
			t.Errorf("%s: got %v, want %v", name, got, tt.all)
		}
	}
}

// TestMembersOf: which entry of PD belongs to which member.
func TestMembersOf(t *testing.T) {
	pod := &state.Pod{Started: noon}
	member := state.Database{Presence: state.Present, Name: "basic-pd-0", Healthy: true}
	down := state.Database{Presence: state.Present, State: state.StoreDown}
	up := state.Database{Presence: state.Present, State: state.StoreUp, Healthy: true}
	unproven := up
	unproven.Healthy, unproven.Problem, unproven.Since = false, "PD has not heard of the store since it started", noon
	silent := down
	silent.Since = noon
	d := database{listed: map[topology.Kind]map[int]listed{
		topology.PD:   {0: {Database: member}},
		topology.TiKV: {0: {Database: up, heartbeat: noon}, 1: {Database: down, heartbeat: noon}},
	}}
	unloaded := d
	unloaded.storesNotLoaded = true
	withoutPumps := d
	withoutPumps.pumpsUnread = "404"
	absent := state.Database{Presence: state.Absent}
	for name, c := range map[string]struct {
		d       database
		kind    topology.Kind
		ordinal int
		pod     *state.Pod
		want    state.Database
	}{
		"a member":                         {d, topology.PD, 0, pod, member},
		"no member":                        {d, topology.PD, 1, pod, absent},
		"a member, and PD has no stores":   {unloaded, topology.PD, 0, pod, member},
		"a store of a process before":      {d, topology.TiKV, 0, pod, unproven},
		"a store without a pod":            {d, topology.TiKV, 0, nil, up},
		"a pod that has never run":         {d, topology.TiKV, 0, &state.Pod{}, up},
		"a store that is down":             {d, topology.TiKV, 1, nil, silent},
		"a store that is down, with a pod": {d, topology.TiKV, 1, pod, silent},
		"no store":                         {d, topology.TiKV, 2, pod, absent},
		"a store, and PD has no stores":    {unloaded, topology.TiKV, 0, pod, state.Database{}},
		"a store, and Pumps are not known": {withoutPumps, topology.TiKV, 1, nil, silent},
		"of a server PD knows nothing":     {d, topology.TiDB, 0, pod, state.Database{}},
		"nor that it is absent":            {unloaded, topology.TiDB, 5, nil, state.Database{}},
		"without PD a member is unknown":   {database{state: state.PD{Problem: "no"}, listed: d.listed}, topology.PD, 0, pod, state.Database{}},
		"and one that PD would not know":   {database{state: state.PD{Problem: "no"}}, topology.PD, 0, pod, state.Database{}},
		"a store without PD":               {database{state: state.PD{Problem: "no"}, listed: d.listed}, topology.TiKV, 0, pod, state.Database{}},
		"a store that PD would not know ":  {database{state: state.PD{Problem: "no"}}, topology.TiKV, 0, pod, state.Database{}},
	} {
		if got := c.d.member(c.kind, c.ordinal, c.pod, time.Time{}).Database; got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// TestRegistered: a store without regions serves once its own process has registered it.
// Nothing is known about a process that has not started.
func TestRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		regions int
		started time.Time // the container
		start   time.Time // the process, as it reported to PD
		want    bool
	}{
		"since it started": {0, noon, noon.Add(time.Second), true},
		"at once":          {0, noon, noon, true},
		"before":           {0, noon, noon.Add(-time.Second), false},
		"with regions":     {1, noon, noon.Add(time.Second), false},
		"not started":      {0, time.Time{}, noon, false},
	} {
		for _, behind := range []time.Duration{0, time.Minute} { // the process has the clock of its host, too
			pod := &state.Pod{Made: noon, Started: c.started, Behind: behind}
			s := listed{Database: state.Database{Regions: c.regions}, start: c.start.Add(-behind)}
			if got := s.registeredBy(pod, noon.Add(-time.Hour)); got != c.want {
				t.Errorf("%s, on a host that is behind by %s: %t", name, behind, got)
			}
		}
	}
}

func peer(kind, n, port string) string {
	return "http://basic-" + kind + "-" + n + ".basic-" + kind + "-peer.db.svc:" + port
}

// TestSort: everything that PD reports is translated, and members of other clusters are left out.
func TestSort(t *testing.T) {
	leader := pd.Member{ID: 1, Name: "basic-pd-0", Version: "v8", PeerURLs: []string{peer("pd", "0", "2380")}, ClientURLs: []string{peer("pd", "0", "2379")}}
	second := pd.Member{ID: 2, Name: "basic-pd-1", Version: "v8", PeerURLs: []string{peer("pd", "1", "2380")}, ClientURLs: []string{peer("pd", "1", "2379")}}
	joining := pd.Member{ID: 3, PeerURLs: []string{peer("pd", "2", "2380")}}
	foreign := pd.Member{ID: 4, Name: "elsewhere", PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: []string{"http://10.0.0.1:2379"}}
	a := answers{
		members: &pd.Members{ClusterID: 77, Members: []pd.Member{leader, second, joining, foreign}, Leader: &leader},
		health:  []pd.MemberHealth{{ID: 1, Healthy: true}, {ID: 2}, {ID: 4}},
		stores: []pd.Store{
			{ID: 5, Address: "basic-tikv-0.basic-tikv-peer.db.svc:20160", StateName: "Up", Version: "8", LeaderCount: 3, RegionCount: 9, Capacity: 100, Available: 40,
				Labels: map[string]string{"zone": "a"}, LastHeartbeat: noon, StartTime: noon.Add(-time.Hour)},
			{ID: 6, Address: "10.0.0.2:20160", StateName: "Disconnected"},
			{ID: 9, Address: "10.0.0.5:20160", StateName: "Up"},
			{ID: 7, Address: "10.0.0.3:3930", StateName: "Up", Labels: map[string]string{"engine": "tiflash"}},
			{ID: 10, Address: "10.0.0.5:3930", StateName: "Up", Labels: map[string]string{"engine": "tiflash_compute"}},
			{ID: 8, Address: "10.0.0.4:20160", State: pd.StoreTombstone, StateName: "Tombstone"},
		},
		scheduling: pd.Scheduling{Evicting: []uint64{5}, Halted: true, NoAdding: []uint64{6}, KeepsOffline: true, Paused: true}, denied: []string{"import/1"}, unloaded: true,
		replication: &pd.ReplicationConfig{MaxReplicas: 3, LocationLabels: []string{"zone"}, IsolationLevel: "zone", EnablePlacementRules: true},
		storeDown:   time.Hour, placement: state.Placement{Unread: "why"}, isolation: state.Isolation{Regions: 9}, gaps: []state.Gap{{What: "rules"}},
	}
	want := database{
		state: state.PD{
			ClusterID: 77, Members: 4, Healthy: 1, Leader: "basic-pd-0", Stores: 3, UpStores: 2, Shared: true, MaxReplicas: 3,
			Elsewhere: []state.StoreElsewhere{{ID: 6, Address: "10.0.0.2:20160", State: state.StoreDisconnected}},
			OtherStores: []state.OtherStore{
				{Component: topology.TiKV, ID: 6, Host: "10.0.0.2", State: state.StoreDisconnected},
				{Component: topology.TiKV, ID: 9, Host: "10.0.0.5", State: state.StoreUp},
				{Component: topology.TiFlash, ID: 7, Host: "10.0.0.3", State: state.StoreUp},
				{Component: topology.TiFlash, ID: 10, Host: "10.0.0.5", State: state.StoreUp},
			},
			OtherVoters:    []state.OtherVoter{{ID: 4, Name: "elsewhere", ClientURL: "http://10.0.0.1:2379"}},
			LocationLabels: []string{"zone"}, IsolationLevel: "zone", Placement: state.Placement{Unread: "why"}, MaxStoreDown: time.Hour,
			SchedulersUnknown: true, Bootstrapped: true, Isolation: state.Isolation{Regions: 9},
			Scheduling: state.Scheduling{
				Halted: true, NoBalance: true, NoLeaders: true, NoReplicas: true, KeepsOffline: true, Evicting: []uint64{5}, NoBatch: true, EvictionPaused: true,
				Denied: []string{"import/1"}, NoAdding: []uint64{6},
			},
		},
		listed: map[topology.Kind]map[int]listed{
			topology.PD: {
				0: {Database: state.Database{Presence: state.Present, ID: 1, Name: "basic-pd-0", Healthy: true, Leader: true, Version: "v8"}},
				1: {Database: state.Database{Presence: state.Present, ID: 2, Name: "basic-pd-1", Version: "v8", Problem: "does not answer PD's health check"}},
				2: {Database: state.Database{Presence: state.Present, ID: 3, Unstarted: true, Problem: "added to PD but has not started"}},
			},
			topology.TiKV: {0: {
				Database: state.Database{Presence: state.Present, ID: 5, Healthy: true, State: state.StoreUp,
					Evicting: true, Leaders: 3, Regions: 9, Version: "8", Capacity: 100, Available: 40},
				heartbeat: noon, start: noon.Add(-time.Hour), labels: map[string]string{"zone": "a"},
			}},
		},
		gaps:       []state.Gap{{What: "rules"}},
		unplaced:   map[topology.Kind][]unplaced{topology.TiKV: {{6, "10.0.0.2:20160"}, {9, "10.0.0.5:20160"}}, topology.TiFlash: {{7, "10.0.0.3:3930"}, {10, "10.0.0.5:3930"}}},
		heartbeats: map[uint64]time.Time{5: noon, 6: {}, 7: {}, 8: {}, 9: {}, 10: {}},
		labels:     map[uint64]map[string]string{0: {"location-labels": "zone", "isolation-level": "zone", "halted": "true"}, 5: {"zone": "a"}, 6: nil, 7: {"engine": "tiflash"}, 9: nil, 10: {"engine": "tiflash_compute"}},
	}
	if got := a.sort(basic); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	a.members = &pd.Members{ClusterID: 77, Members: []pd.Member{joining}}
	if got := a.sort(basic); got.state.Leader != "" || got.listed[topology.PD][2].Leader {
		t.Errorf("without a leader: %+v", got)
	}
	joining.ClientURLs = second.ClientURLs
	a.members = &pd.Members{Members: []pd.Member{joining}}
	if got := a.sort(basic).listed[topology.PD][2]; got.Unstarted || got.Problem != "does not answer PD's health check" {
		t.Errorf("without a name, but started: %+v", got)
	}
}

// TestNoStores: PD with a new leader lists no stores for a moment. That does not count if the
// cluster had stores before.
func TestNoStores(t *testing.T) {
	a := answers{members: &pd.Members{}, replication: &pd.ReplicationConfig{}}
	c := basic
	if d := a.sort(c); d.storesNotLoaded || d.state.Bootstrapped {
		t.Errorf("without a status: %+v", d)
	}
	c.Source = &v1alpha1.TidbCluster{}
	if d := a.sort(c); d.storesNotLoaded || d.state.Bootstrapped {
		t.Errorf("a new cluster: %+v", d)
	}
	c.Source.Status.TiKV.BootStrapped = true
	if d := a.sort(c); !d.storesNotLoaded || d.state.Bootstrapped {
		t.Errorf("it had stores: %+v", d)
	}
	a.stores = []pd.Store{{ID: 1, StateName: "Up"}}
	if d := a.sort(c); d.storesNotLoaded || !d.state.Bootstrapped {
		t.Errorf("it has one: %+v", d)
	}
}

// TestStoresOfOneAddress: the newest store that is no tombstone counts, in whatever order PD lists
// them.
func TestStoresOfOneAddress(t *testing.T) {
	at := func(id uint64, s pd.StoreState) pd.Store {
		return pd.Store{ID: id, Address: kvHost, State: s, StateName: s.String(), LastHeartbeat: noon.Add(time.Duration(id))}
	}
	for name, c := range map[string]struct {
		a, b pd.Store
		want uint64
	}{
		"a tombstone that is newer":  {at(4, pd.StoreUp), at(9, pd.StoreTombstone), 4},
		"a tombstone that is older":  {at(4, pd.StoreTombstone), at(9, pd.StoreUp), 9},
		"two tombstones":             {at(4, pd.StoreTombstone), at(9, pd.StoreTombstone), 9},
		"two that are no tombstones": {at(4, pd.StoreOffline), at(9, pd.StoreUp), 9},
	} {
		for _, stores := range [][]pd.Store{{c.a, c.b}, {c.b, c.a}} {
			d := sorted(stores...)
			if got := d.listed[topology.TiKV][0]; got.ID != c.want || !got.heartbeat.Equal(noon.Add(time.Duration(c.want))) {
				t.Errorf("%s: store %d of %s", name, got.ID, got.heartbeat)
			}
		}
	}
}

// TestPDsClock: a heartbeat is dated by PD's clock, which may be wrong, and the result is the same for
// each of two answers of one second.
func TestPDsClock(t *testing.T) {
	for name, c := range map[string]struct {
		answered time.Time
		want     time.Duration // how long ago the heartbeat was
	}{
		"not dated":        {time.Time{}, time.Minute},
		"right":            {noon, time.Minute},
		"cut to a second":  {noon.Add(-time.Second), time.Minute},
		"a slow answer":    {noon.Add(-2 * time.Second), time.Minute},
		"a moment ahead":   {noon.Add(2 * time.Second), time.Minute},
		"behind":           {noon.Add(-3 * time.Second), 50 * time.Second},
		"minutes behind":   {noon.Add(-4*time.Minute - time.Second), time.Minute - 4*time.Minute},
		"as much, rounded": {noon.Add(-4*time.Minute - 2*time.Second), time.Minute - 4*time.Minute},
		"minutes ahead":    {noon.Add(4 * time.Minute), 5 * time.Minute},
		"ahead, rounded":   {noon.Add(4*time.Minute - time.Second), 5 * time.Minute},
	} {
		a := answers{listedAt: noon}
		got := a.byOurClock(&pd.Store{LastHeartbeat: noon.Add(-time.Minute), Answered: c.answered})
		if ago := noon.Sub(got); ago != c.want {
			t.Errorf("%s: %s ago, want %s", name, ago, c.want)
		}
		if never := a.byOurClock(&pd.Store{Answered: c.answered}); !never.IsZero() {
			t.Errorf("%s: never heard of, but %s", name, never)
		}
	}
}

// TestAsk: if one request to PD fails, PD is unknown, except for requests that a PD without stores,
// or with a new leader, cannot answer.
func TestAsk(t *testing.T) {
	for _, call := range []string{"Stores()", "Members()", "Health()", "ReplicationConfig()", "Scheduling()"} {
		f := pd.NewFake(1, 1)
		f.Update(func(s *pd.FakeState) { s.Stores[0].StateName = "Disconnected" }) // which asks for more
		stores := &listing{Client: f, done: make(chan struct{})}
		f.Hook = func(_ context.Context, asked string) error {
			if asked != call {
				return nil
			}
			if call != "Stores()" {
				<-stores.done // else the other requests would be cancelled before PD has listed its stores
			}
			return errors.New("lost")
		}
		if _, err := ask(t.Context(), stores, func() time.Time { return noon }, false); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("%s fails: %v", call, err)
		}
	}
	f := pd.NewFake(1, 1)
	if a, err := ask(t.Context(), f, func() time.Time { return noon }, false); err != nil || !a.listedAt.Equal(noon) {
		t.Errorf("listed at %s, %v", a.listedAt, err)
	}
	f = pd.NewFake(1, 0)
	f.Update(func(s *pd.FakeState) { s.NotBootstrapped = true })
	if a, err := ask(t.Context(), f, func() time.Time { return noon }, false); err != nil || a.unloaded || a.members == nil || a.replication.MaxReplicas != 3 || len(a.health) != 1 {
		t.Errorf("not bootstrapped: %+v, %v", a, err)
	}
}

// listing says when PD has listed its stores.
type listing struct {
	pd.Client
	done chan struct{}
}

func (l *listing) Stores(ctx context.Context, states ...pd.StoreState) ([]pd.Store, error) {
	defer close(l.done)
	return l.Client.Stores(ctx, states...)
}

// TestSilentStore: max-store-down-time is read when a store has missed heartbeats.
func TestSilentStore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pd.Store)
		want   time.Duration
	}{
		"all are heard of":                {func(*pd.Store) {}, 0},
		"one is not":                      {func(s *pd.Store) { s.StateName = "Disconnected" }, 30 * time.Minute},
		"one is Down":                     {func(s *pd.Store) { s.StateName = "Down" }, 30 * time.Minute},
		"one leaves":                      {func(s *pd.Store) { s.State, s.StateName = pd.StoreOffline, "Offline" }, 0},
		"one is a tombstone":              {func(s *pd.Store) { s.State, s.StateName = pd.StoreTombstone, "Tombstone" }, 0},
		"PD does not answer that request": {func(s *pd.Store) { s.StateName = "Silent" }, 0},
	} {
		f := pd.NewFake(1, 2)
		f.Update(func(s *pd.FakeState) { c.change(&s.Stores[1]) })
		f.Hook = func(_ context.Context, call string) error {
			if call == "MaxStoreDownTime()" && name == "PD does not answer that request" {
				return errors.New("lost")
			}
			return nil
		}
		if a, err := ask(t.Context(), f, func() time.Time { return noon }, false); err != nil || a.storeDown != c.want {
			t.Errorf("%s: %s, %v", name, a.storeDown, err)
		}
	}
}

// pdPods returns pods of PD in the given phases.
func pdPods(phases ...corev1.PodPhase) objects {
	pods := map[int]*corev1.Pod{}
	for n, phase := range phases {
		pods[n] = &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	}
	return objects{pods: map[topology.Kind]map[int]*corev1.Pod{topology.PD: pods}}
}

// TestBase: why PD is unknown, and since when it has no leader.
func TestBase(t *testing.T) {
	now := noon
	f := pd.NewFake(1, 1)
	o := &Observer{now: func() time.Time { return now }, history: newHistory(), pd: f}
	look := func(seen objects, problem string, leaderless bool) {
		t.Helper()
		if got := o.base(t.Context(), basic, seen).state; got.Problem != problem || got.Leaderless != leaderless {
			t.Errorf("got %+v", got)
		}
	}
	o.urls = []string{peer("pd", "0", "2379"), peer("pd", "2", "2379"), peer("pd", "3", "2379"), peer("pd", "4", "2379")}
	four := pdPods(corev1.PodRunning, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning)
	look(four, "", false) // another list of addresses would have made another client
	if o.pd != pd.Client(f) {
		t.Fatalf("asked %q", o.urls)
	}
	f.Update(func(s *pd.FakeState) { s.Leader = "" })
	look(four, pd.ErrNoLeader.Error(), false)
	now = now.Add(election + 1)
	look(four, pd.ErrNoLeader.Error(), true)
	look(pdPods(corev1.PodPending), "no PD pod is running", false)
	look(four, pd.ErrNoLeader.Error(), false) // counted again
	now = now.Add(election + 1)
	f.Update(func(s *pd.FakeState) { s.Unreachable = true })
	look(four, pd.ErrUnreachable.Error(), false)
	f.Update(func(s *pd.FakeState) { s.Unreachable, s.Leader = false, "pd-0" })
	f.Hook = func(context.Context, string) error { return errors.New("strange") }
	look(four, "strange", false)
}

// TestNew: PD calls a store Down before its first heartbeat. Only one that the process in its pod has
// registered, with no regions to open, is new.
func TestNew(t *testing.T) {
	pod := &state.Pod{Made: noon.Add(-time.Hour), Started: noon}
	for name, c := range map[string]struct {
		pod     *state.Pod
		state   state.StoreState
		start   time.Duration // of the process that registered, after the container
		regions int
		beat    time.Time
		want    bool
	}{
		"it has just registered":           {pod, state.StoreDown, time.Second, 0, time.Time{}, true},
		"PD has heard from it":             {pod, state.StoreDown, time.Second, 0, noon.Add(-time.Hour), false},
		"a person has taken it offline":    {pod, state.StoreOffline, time.Second, 0, time.Time{}, false},
		"another process registered":       {pod, state.StoreDown, -time.Minute, 0, time.Time{}, false},
		"it has regions to open":           {pod, state.StoreDown, time.Second, 1, time.Time{}, false},
		"its pod is gone":                  {nil, state.StoreDown, time.Second, 0, time.Time{}, false},
		"its container has not started":    {&state.Pod{}, state.StoreDown, time.Second, 0, time.Time{}, false},
		"PD hears from it, as from others": {pod, state.StoreUp, time.Second, 0, time.Time{}, false},
	} {
		s := listed{
			Database: state.Database{Presence: state.Present, State: c.state, Regions: c.regions}, start: noon.Add(c.start), heartbeat: c.beat,
		}
		if got := s.ofProcess(c.pod, noon.Add(-2*time.Hour)); got.New != c.want {
			t.Errorf("%s: %+v", name, got.Database)
		}
	}
}

// TestOldestElsewhere: the version of PD in another part is known also while PD's health check takes long. A member that is
// down does not count, because it may never come back.
func TestOldestElsewhere(t *testing.T) {
	c := topology.Cluster{Name: "more", Namespace: "db", Joined: topology.Joined{Namespace: "db", Name: "shop"}}
	url := func(n string) []string { return []string{"http://shop-pd-" + n + ".shop-pd-peer.db.svc:2380"} }
	members := &pd.Members{Members: []pd.Member{{ID: 1, Name: "shop-pd-0", PeerURLs: url("0"), Version: "v8.1.0"}, {ID: 2, Name: "shop-pd-1", PeerURLs: url("1"), Version: "v8.1.1"}}}
	for want, a := range map[string]answers{
		"v8.1.0": {members: members, unasked: true},
		"v8.1.1": {members: members, health: []pd.MemberHealth{{ID: 2, Healthy: true}}},
	} {
		a.replication = &pd.ReplicationConfig{}
		if got := a.sort(c).state; got.OldestElsewhere != want || !got.Shared {
			t.Errorf("%q, want %q", got.OldestElsewhere, want)
		}
	}
}
