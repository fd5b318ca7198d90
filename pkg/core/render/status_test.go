package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var (
	noon    = time.Date(2025, 6, 1, 12, 0, 0, 5, time.UTC)
	later   = noon.Add(time.Minute)
	atNoon  = metav1.NewTime(noon.Truncate(time.Second))
	atLater = metav1.NewTime(later.Truncate(time.Second))
)

// scene is a healthy cluster with one member of each component, which a test changes.
type scene struct {
	w    desired.State
	have state.Existing
	snap state.Snapshot
	plan plan.Plan
}

func healthyScene(t *testing.T) *scene {
	t.Helper()
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.PD.Replicas, tc.Spec.TiKV.Replicas, tc.Spec.TiDB.Replicas = 1, 1, 1
	})
	s := &scene{have: created(t, want(t, c, nothing(), state.Snapshot{}))}
	s.w = want(t, c, s.have, state.Snapshot{})
	s.snap = state.Snapshot{
		At:     noon,
		PD:     state.PD{ClusterID: 7, Members: 1, Healthy: 1, Leader: "basic-pd-0", Bootstrapped: true},
		Groups: map[topology.Kind]state.Group{},
	}
	for k, database := range map[topology.Kind]state.Database{
		topology.PD:   {Presence: state.Present, ID: 11, Name: "basic-pd-0", Healthy: true, Leader: true},
		topology.TiKV: {Presence: state.Present, ID: 21, Healthy: true, State: state.StoreUp, Leaders: 5},
		topology.TiDB: {Presence: state.Present, Healthy: true},
	} {
		s.have.Sets[k].Status = appsv1.StatefulSetStatus{
			Replicas: 1, ReadyReplicas: 1, CurrentRevision: "a", UpdateRevision: "a",
		}
		s.snap.Groups[k] = state.Group{
			Set: state.Set{Exists: true, Replicas: 1, UpdateRevision: "a"},
			Members: []state.Member{{
				Kind: k, Name: "basic-" + string(k) + "-0",
				Pod: &state.Pod{Ready: true, Revision: "a"}, Database: database,
			}},
		}
	}
	return s
}

func (s *scene) member(k topology.Kind) *state.Member { return &s.snap.Groups[k].Members[0] }

func (s *scene) status(old v1alpha1.TidbClusterStatus) v1alpha1.TidbClusterStatus {
	return Status(state.Observation{Existing: s.have, Snapshot: s.snap}, s.w, s.plan, old)
}

func TestStatusOfHealthyCluster(t *testing.T) {
	s := healthyScene(t)
	got := s.status(v1alpha1.TidbClusterStatus{})
	set := &appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
	pd := v1alpha1.PDMember{
		Name: "basic-pd-0", ID: "11", ClientURL: "http://basic-pd-0.basic-pd-peer.db.svc:2379",
		Health: true, LastTransitionTime: atNoon,
	}
	expected := v1alpha1.TidbClusterStatus{
		ClusterID: "7",
		PD: v1alpha1.PDStatus{
			Synced: true, Phase: v1alpha1.NormalPhase, StatefulSet: set, Image: "pingcap/pd:v8.1.0",
			Members: map[string]v1alpha1.PDMember{"basic-pd-0": pd}, Leader: pd,
		},
		TiKV: v1alpha1.TiKVStatus{
			Synced: true, BootStrapped: true, Phase: v1alpha1.NormalPhase, StatefulSet: set, Image: "pingcap/tikv:v8.1.0",
			Stores: map[string]v1alpha1.TiKVStore{"21": {
				ID: "21", PodName: "basic-tikv-0", IP: "basic-tikv-0.basic-tikv-peer.db.svc",
				LeaderCount: 5, State: "Up", LastTransitionTime: atNoon,
			}},
		},
		TiDB: v1alpha1.TiDBStatus{
			Phase: v1alpha1.NormalPhase, StatefulSet: set, Image: "pingcap/tidb:v8.1.0",
			Members: map[string]v1alpha1.TiDBMember{"basic-tidb-0": {
				Name: "basic-tidb-0", Health: true, LastTransitionTime: atNoon,
			}},
		},
		Conditions: []v1alpha1.TidbClusterCondition{{
			Type: v1alpha1.TidbClusterReady, Status: corev1.ConditionTrue, Reason: "Ready",
			Message: "The cluster is what the spec asks for", LastUpdateTime: atNoon, LastTransitionTime: atNoon,
		}},
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// Another observation of the same cluster must give the same status.
	s.snap.At = later
	if diff := cmp.Diff(got, s.status(got)); diff != "" {
		t.Errorf("the status of an unchanged cluster changed:\n%s", diff)
	}
}

// TestStatusLeaders: PD balances leaders for ever, so a status with each number
// would be written for ever, by an idle daemon too.
func TestStatusLeaders(t *testing.T) {
	s := healthyScene(t)
	old := s.status(v1alpha1.TidbClusterStatus{})
	s.member(topology.TiKV).Database.Leaders = 6
	if diff := cmp.Diff(old, s.status(old)); diff != "" {
		t.Errorf("a leader more is a status to write:\n%s", diff)
	}
	s.member(topology.TiKV).Database.State = state.StoreDisconnected
	if got := s.status(old).TiKV.Stores["21"].LeaderCount; got != 6 {
		t.Errorf("got %d leaders with another change, want 6", got)
	}
}

func TestStatusTimes(t *testing.T) {
	s := healthyScene(t)
	old := s.status(v1alpha1.TidbClusterStatus{})
	old.TiDB.Members["basic-tidb-0"] = v1alpha1.TiDBMember{
		Name: "basic-tidb-0", Health: true, LastTransitionTime: atNoon, NodeName: "node-1",
	}
	count := int32(9)
	store := old.TiKV.Stores["21"]
	store.LeaderCountBeforeUpgrade = &count
	old.TiKV.Stores["21"] = store
	old.TiKV.FailoverUID = "u"
	before := old.DeepCopy()

	s.snap.At = later
	s.member(topology.PD).Database.Healthy = false
	s.member(topology.TiKV).Database.State = state.StoreDisconnected
	s.member(topology.TiKV).Database.Leaders = -1
	s.member(topology.TiDB).Database.Healthy = false
	s.plan = plan.Plan{Outcome: plan.Wait}
	got := s.status(old)
	if m := got.PD.Members["basic-pd-0"]; m.Health || m.LastTransitionTime != atLater {
		t.Errorf("PD: %v", m)
	}
	if m := got.TiKV.Stores["21"]; m.State != "Disconnected" || m.LastTransitionTime != atLater || m.LeaderCount != 5 || *m.LeaderCountBeforeUpgrade != 9 {
		t.Errorf("TiKV: %v", m)
	}
	if m := got.TiDB.Members["basic-tidb-0"]; m.Health || m.LastTransitionTime != atLater || m.NodeName != "node-1" {
		t.Errorf("TiDB: %v", m)
	}
	if got.TiKV.FailoverUID != "u" {
		t.Error("an operator's field is gone")
	}
	if c := got.Conditions[0]; c.Status != corev1.ConditionFalse || c.Reason != "PDUnhealthy" || c.LastTransitionTime != atLater {
		t.Errorf("condition: %v", c)
	}
	if diff := cmp.Diff(before, &old); diff != "" {
		t.Errorf("the old status was changed:\n%s", diff)
	}
}

// What was not observed stays as it was; it is not absent.
func TestStatusWhileSilent(t *testing.T) {
	s := healthyScene(t)
	old := s.status(v1alpha1.TidbClusterStatus{})
	s.snap.At = later
	s.snap.PD = state.PD{Problem: "timeout"}
	for _, k := range basicKinds {
		s.member(k).Database = state.Database{}
	}
	s.plan = plan.Plan{Outcome: plan.Wait}
	got := s.status(old)
	if got.PD.Synced || got.TiKV.Synced {
		t.Error("it is said to be in sync")
	}
	got.PD.Synced, got.TiKV.Synced, got.Conditions = true, true, old.Conditions
	if diff := cmp.Diff(old, got); diff != "" {
		t.Errorf("-old +got:\n%s", diff)
	}
}

// TestStatusWithoutStores: PD lists no stores for a moment. The status still says that there were some, and which.
func TestStatusWithoutStores(t *testing.T) {
	s := healthyScene(t)
	before := s.status(v1alpha1.TidbClusterStatus{})
	s.snap.PD.Bootstrapped = false
	s.member(topology.TiKV).Database = state.Database{}
	after := s.status(before)
	if !after.TiKV.BootStrapped {
		t.Error("the status says that the cluster was not bootstrapped")
	}
	if diff := cmp.Diff(before.TiKV.Stores, after.TiKV.Stores); diff != "" {
		t.Error(diff)
	}
	if s.status(v1alpha1.TidbClusterStatus{}).TiKV.BootStrapped {
		t.Error("a cluster of which PD never had stores is bootstrapped")
	}
}

func TestStatusOfMembers(t *testing.T) {
	s := healthyScene(t)
	s.member(topology.PD).Database = state.Database{Presence: state.Absent}
	s.member(topology.PD).Claims = []state.Claim{{UID: "c1"}}
	s.member(topology.TiKV).Database.State = state.StoreTombstone
	s.snap.PD.Leader = ""
	got := s.status(v1alpha1.TidbClusterStatus{PD: v1alpha1.PDStatus{Leader: v1alpha1.PDMember{Name: "gone"}}})
	unjoined := map[string]v1alpha1.UnjoinedMember{"basic-pd-0": {
		PodName: "basic-pd-0", CreatedAt: atNoon, PVCUIDSet: map[types.UID]v1alpha1.EmptyStruct{"c1": {}},
	}}
	if diff := cmp.Diff(unjoined, got.PD.UnjoinedMembers); diff != "" {
		t.Error(diff)
	}
	if got.PD.Leader.Name != "" || len(got.PD.Members) != 0 {
		t.Errorf("leader %v, members %v", got.PD.Leader, got.PD.Members)
	}
	if len(got.TiKV.Stores) != 0 || len(got.TiKV.TombstoneStores) != 0 {
		t.Errorf("a tombstone is shown: %v", got.TiKV.Stores)
	}
	s.snap.At = later
	if again := s.status(got); again.PD.UnjoinedMembers["basic-pd-0"].CreatedAt != atNoon {
		t.Error("the time of an unjoined member moves")
	}
}

func TestPhases(t *testing.T) {
	const normal, scale, upgrade = v1alpha1.NormalPhase, v1alpha1.ScalePhase, v1alpha1.UpgradePhase
	type phases [3]v1alpha1.MemberPhase
	revision := func(k topology.Kind) func(*scene) {
		return func(s *scene) { s.have.Sets[k].Status.UpdateRevision = "b" }
	}
	for name, tt := range map[string]struct {
		edit func(*scene)
		want phases
	}{
		"normal":  {func(*scene) {}, phases{normal, normal, normal}},
		"scaling": {func(s *scene) { s.w.Groups[1].Replicas = 3 }, phases{normal, scale, normal}},
		"scaling comes before upgrading": {func(s *scene) {
			revision(topology.PD)(s)
			s.w.Groups[0].Replicas = 3
		}, phases{scale, normal, normal}},
		"template differs":    {func(s *scene) { s.w.Groups[1].Template = "x" }, phases{normal, upgrade, normal}},
		"another revision":    {revision(topology.TiDB), phases{normal, normal, upgrade}},
		"a pod is outdated":   {func(s *scene) { s.member(topology.TiKV).Pod.Revision = "0" }, phases{normal, upgrade, normal}},
		"TiKV waits for PD":   {func(s *scene) { revision(topology.PD)(s); revision(topology.TiKV)(s) }, phases{upgrade, normal, normal}},
		"TiDB waits for TiKV": {func(s *scene) { revision(topology.TiKV)(s); revision(topology.TiDB)(s) }, phases{normal, upgrade, normal}},
		"not there yet":       {func(s *scene) { delete(s.have.Sets, topology.TiDB) }, phases{normal, normal, ""}},
		"not wanted any more": {func(s *scene) { s.w.Groups = s.w.Groups[:2] }, phases{normal, normal, ""}},
	} {
		s := healthyScene(t)
		tt.edit(s)
		got := s.status(v1alpha1.TidbClusterStatus{})
		if p := (phases{got.PD.Phase, got.TiKV.Phase, got.TiDB.Phase}); p != tt.want {
			t.Errorf("%s: %v, want %v", name, p, tt.want)
		}
	}
}

// giveUp makes the store down and given up.
func (s *scene) giveUp() {
	m := s.member(topology.TiKV)
	m.Database.State, m.Database.Healthy = state.StoreDown, false
	s.w.Groups[1].Failures = []topology.Failure{{Member: m.Name, ID: 21}}
}

// second adds a store that serves.
func (s *scene) second() {
	g := s.snap.Groups[topology.TiKV]
	m := g.Members[0]
	m.Ordinal, m.Name = 1, "basic-tikv-1"
	m.Database = state.Database{Presence: state.Present, ID: 22, Healthy: true, State: state.StoreUp}
	g.Members, g.Set.Replicas = append(g.Members, m), 2
	s.snap.Groups[topology.TiKV] = g
}

func TestReadyCondition(t *testing.T) {
	gate := plan.Gate{Component: topology.TiKV, Member: "basic-tikv-0", Reason: plan.LeadersEvicted, Want: "leaders evicted", Observed: "340 leaders left"}
	for name, tt := range map[string]struct {
		outcome plan.Outcome
		gates   []plan.Gate
		edit    func(*scene)
		reason  string
		message string
	}{
		"converged": {outcome: plan.Converged, reason: "Ready", message: "The cluster is what the spec asks for"},
		"given up and replaced": {outcome: plan.Converged, edit: func(s *scene) { s.giveUp(); s.second() },
			reason: "Ready", message: "The cluster is what the spec asks for; given up, replaced and still down: basic-tikv-0"},
		"a configuration that was written in place": {outcome: plan.Converged, edit: func(s *scene) {
			s.plan.Unapplied = []plan.Unapplied{{Component: topology.TiKV, Older: []string{"basic-tikv-0"}, Unknown: []string{"basic-tikv-1"}}}
		}, reason: "Ready", message: "The cluster is what the spec asks for; started before their configuration was written: basic-tikv-0"},
		"given up, not replaced": {outcome: plan.Converged, edit: (*scene).giveUp, reason: "TiKVStoreNotUp", message: "Not all TiKV stores are up"},
		"down, not given up": {outcome: plan.Converged, edit: func(s *scene) { s.giveUp(); s.second(); s.w.Groups[1].Failures = nil },
			reason: "TiKVStoreNotUp", message: "Not all TiKV stores are up"},
		"acting":       {outcome: plan.Act, reason: "Progressing", message: "The cluster is being changed"},
		"waiting":      {outcome: plan.Wait, gates: []plan.Gate{gate}, reason: "Progressing", message: "basic-tikv-0: leaders not evicted"},
		"blocked":      {outcome: plan.Blocked, reason: "Blocked", message: "The cluster does not come on by itself"},
		"paused":       {outcome: plan.Paused, reason: "Paused", message: "The cluster is paused: spec.paused is set, and it is not known by whom"},
		"revision":     {outcome: plan.Wait, edit: func(s *scene) { s.have.Sets[topology.TiDB].Status.UpdateRevision = "b" }, reason: "StatefulSetNotUpToDate", message: "Not all pods are of the newest revision"},
		"PD":           {outcome: plan.Wait, edit: func(s *scene) { s.member(topology.PD).Database.Healthy = false }, reason: "PDUnhealthy", message: "Not all PD members are healthy"},
		"too few PD":   {outcome: plan.Wait, edit: func(s *scene) { s.w.Groups[0].Replicas = 2 }, reason: "PDUnhealthy", message: "Not all PD members are healthy"},
		"TiKV":         {outcome: plan.Wait, edit: func(s *scene) { s.member(topology.TiKV).Database.State = state.StoreDown }, reason: "TiKVStoreNotUp", message: "Not all TiKV stores are up"},
		"TiDB blocked": {outcome: plan.Blocked, edit: func(s *scene) { s.member(topology.TiDB).Database.Healthy = false }, reason: "TiDBUnhealthy", message: "Not all TiDB servers are healthy"},
	} {
		s := healthyScene(t)
		if tt.edit != nil {
			tt.edit(s)
		}
		s.plan.Outcome, s.plan.Gates = tt.outcome, tt.gates
		c := s.status(v1alpha1.TidbClusterStatus{}).Conditions[0]
		if ready := c.Status == corev1.ConditionTrue; ready != (tt.reason == "Ready") || c.Reason != tt.reason || c.Message != tt.message {
			t.Errorf("%s: %s, %s, %q", name, c.Status, c.Reason, c.Message)
		}
	}
}

func TestConditionTimes(t *testing.T) {
	s := healthyScene(t)
	other := v1alpha1.TidbClusterCondition{Type: "Other", Reason: "kept"}
	s.plan = plan.Plan{Outcome: plan.Wait}
	first := s.status(v1alpha1.TidbClusterStatus{Conditions: []v1alpha1.TidbClusterCondition{other}})

	s.snap.At = later
	s.plan = plan.Plan{Outcome: plan.Blocked}
	second := s.status(first)
	if len(second.Conditions) != 2 || second.Conditions[0] != other {
		t.Fatalf("conditions: %v", second.Conditions)
	}
	if c := second.Conditions[1]; c.LastTransitionTime != atNoon || c.LastUpdateTime != atLater {
		t.Errorf("still not ready, for another reason: %v", c)
	}
	s.plan = plan.Plan{}
	if c := s.status(second).Conditions[1]; c.LastTransitionTime != atLater {
		t.Errorf("ready: %v", c)
	}
}

// TestVolumesReplaced: the flag with which tidb-operator replaces volumes goes when no member waits for new volumes.
func TestVolumesReplaced(t *testing.T) {
	for name, waits := range map[string]bool{"all members have new volumes": false, "a member waits": true} {
		t.Run(name, func(t *testing.T) {
			s := healthyScene(t)
			s.snap.Groups[topology.TiKV].Members[0].Claims = []state.Claim{{UID: "u"}}
			for i := range s.w.Groups {
				if s.w.Groups[i].Kind == topology.TiKV && waits {
					s.w.Groups[i].Replacements = map[string]topology.MemberReplacement{"basic-tikv-0": {Claims: []string{"u"}}}
				}
			}
			old := v1alpha1.TidbClusterStatus{TiKV: v1alpha1.TiKVStatus{VolReplaceInProgress: true}}
			got := Status(state.Observation{Existing: s.have, Snapshot: s.snap}, s.w, s.plan, old)
			if got.TiKV.VolReplaceInProgress != waits {
				t.Errorf("got %t", !waits)
			}
		})
	}
}
