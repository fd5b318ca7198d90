package observe

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestGaps: a gap says what could not be read, why, and what to do. Gaps have a fixed order, and go
// when the object is not needed any more.
func TestGaps(t *testing.T) {
	zero, one := boundClaim(0), boundClaim(1)
	o := tend()
	for range 9 { // an order that changes would be noticed
		o.volumes(t, zero, one)
		gaps := o.extras.gaps()
		if len(gaps) != 2 || gaps[0].What != "volume pv-tikv-basic-tikv-0" || gaps[1].What != "volume pv-tikv-basic-tikv-1" {
			t.Fatalf("got %+v", gaps)
		}
		if g := gaps[0]; g.Problem != "claim tikv-basic-tikv-0 is bound to it, and it does not exist" || !strings.Contains(g.Remedy.Line(""), "backup") {
			t.Errorf("got %+v", g)
		}
	}
	if o.volumes(t, zero); len(o.extras.gaps()) != 1 {
		t.Errorf("a claim is gone, and its volume is still a gap: %+v", o.extras.gaps())
	}
	for what, resources := range map[string][]string{"volumes": {"persistentvolumes"}, "nodes": {"nodes"}, "volumes and nodes": {"persistentvolumes", "nodes"}} {
		o := tend(volumeOf(zero))
		for _, r := range resources {
			o.forbid(r)
		}
		o.volumes(t, zero)
		c := basic
		c.Groups = []topology.Group{{Kind: topology.TiKV}}
		store := state.Member{Kind: topology.TiKV, Pod: &state.Pod{Node: "n"}, StoreLabels: map[string]string{}}
		o.readNodes(t.Context(), c, &state.Snapshot{
			PD:     state.PD{LocationLabels: []string{"zone"}},
			Groups: map[topology.Kind]state.Group{topology.TiKV: {Members: []state.Member{store}}},
		})
		gaps := o.extras.gaps() // one, and it fits into one line
		if len(gaps) != 1 || gaps[0].What != what || !strings.HasPrefix(gaps[0].Problem, "not permitted, so ") || len(gaps[0].Remedy) > 0 || len(gaps[0].Problem) > 100 {
			t.Errorf("%s may not be read: %+v", what, gaps)
		}
	}
}

// TestVolumeIsWhole: all fields of a volume, and a volume without a claim.
func TestVolumeIsWhole(t *testing.T) {
	zero := boundClaim(0)
	v := volumeOf(zero)
	v.Labels, v.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	want := state.Volume{Name: v.Name, UID: string(v.UID), Version: "7", Policy: "Delete", Identity: state.Identity{Labels: v.Labels, Annotations: v.Annotations}}
	if got := tend(v).volumes(t, zero)[0]; got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	v.Spec.ClaimRef = nil
	if got := tend(v).volumes(t, zero)[0]; got != nil {
		t.Errorf("got %+v of a volume without a claim", got)
	}
}

// TestNodesOfWhom: only nodes on which a store with labels runs are read, and none without upkeep.
func TestNodesOfWhom(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
	c := basic
	c.Groups = []topology.Group{{Kind: topology.TiKV}}
	labels := map[string]string{}
	for name, tt := range map[string]struct {
		m     state.Member
		reads int
	}{
		"a store":                  {state.Member{StoreLabels: labels, Pod: &state.Pod{Node: "n"}}, 1},
		"a store without a pod":    {state.Member{StoreLabels: labels}, 0},
		"a store without a node":   {state.Member{StoreLabels: labels, Pod: &state.Pod{}}, 0},
		"what PD does not know of": {state.Member{Pod: &state.Pod{Node: "n"}}, 0},
	} {
		o := tend(node)
		s := &state.Snapshot{PD: state.PD{LocationLabels: []string{"zone"}}, Groups: map[topology.Kind]state.Group{topology.TiKV: {Members: []state.Member{tt.m}}}}
		if o.readNodes(t.Context(), c, s); o.reads() != tt.reads || len(s.Nodes) != tt.reads || s.Nodes == nil {
			t.Errorf("%s: %v", name, s.Nodes)
		}
		o.extras, s.Nodes = nil, nil
		if o.readNodes(t.Context(), c, s); o.reads() != 0 || s.Nodes != nil {
			t.Errorf("%s: %v without upkeep", name, s.Nodes)
		}
	}
	t.Run("a read that fails is tried again", func(t *testing.T) {
		o, fail := tend(node), true
		o.kube.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return fail, nil, errors.New("timeout") })
		for range 2 {
			s := &state.Snapshot{PD: state.PD{LocationLabels: []string{"zone"}}, Groups: map[topology.Kind]state.Group{topology.TiKV: {Members: []state.Member{
				{StoreLabels: labels, Pod: &state.Pod{Node: "n"}},
			}}}}
			if o.readNodes(t.Context(), c, s); (s.Nodes["n"] == nil) != fail || o.extras.gaps() != nil {
				t.Errorf("fails %t: %v, %v", fail, s.Nodes, o.extras.gaps())
			}
			fail = false
		}
	})
}

// TestResizing: what a growing volume waits for.
func TestResizing(t *testing.T) {
	for want, c := range map[string]corev1.PersistentVolumeClaimCondition{
		"the node has to resize the filesystem": {Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue},
		"the volume is being resized: by hand":  {Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, Message: "by hand"},
		"resizing fails: full":                  {Type: corev1.PersistentVolumeClaimControllerResizeError, Status: corev1.ConditionTrue, Message: "full"},
		"resizing fails":                        {Type: corev1.PersistentVolumeClaimNodeResizeError, Status: corev1.ConditionTrue},
		"":                                      {Type: corev1.PersistentVolumeClaimVolumeModifyingVolume, Status: corev1.ConditionTrue},
	} {
		if got := resizing(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		c.Status = corev1.ConditionFalse
		if got := resizing(c); got != "" {
			t.Errorf("not true, but %q", got)
		}
	}
}

// TestMarkedClaim: a claim that is marked, and one that is being deleted.
func TestMarkedClaim(t *testing.T) {
	gone := metav1.NewTime(noon)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{topology.AnnotationDeferDeleting: ""}, DeletionTimestamp: &gone,
	}}
	if got := claimState(claim, "tikv"); !got.Marked || !got.Terminating || got.Bound {
		t.Errorf("got %+v", got)
	}
	class := "fast"
	templates := claimTemplates([]corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "log"},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		}},
	}})
	if len(templates) != 1 || templates["log"] != (state.ClaimTemplate{Size: gi, Class: class}) {
		t.Errorf("got %v", templates)
	}
}

// TestRuleIsWhole: all fields of a placement rule are translated.
func TestRuleIsWhole(t *testing.T) {
	a := answers{replication: &pd.ReplicationConfig{MaxReplicas: 3, LocationLabels: []string{"zone"}, IsolationLevel: "zone"}}
	got := a.rules([]pd.RuleGroup{{ID: "g", Index: 4, Override: true, Rules: []pd.PlacementRule{{
		ID: "r", Role: "learner", Count: 2, StartKey: "AB", EndKey: "CD", Index: 5, Override: true,
		LocationLabels: []string{"host"}, IsolationLevel: "host",
		Constraints: []pd.LabelConstraint{{Key: "zone", Op: "in", Values: []string{"c"}}},
	}}}})
	if len(got) != 1 {
		t.Fatalf("got %+v", got)
	}
	r := got[0]
	want := state.PlacementRule{
		Group: "g", ID: "r", Role: "learner", Count: 2, LocationLabels: []string{"host"}, IsolationLevel: "host",
		Constraints: []state.LabelConstraint{{Key: "zone", Op: "in", Values: []string{"c"}}},
	}
	if !reflect.DeepEqual(r.PlacementRule, want) || r.Start != "ab" || r.End != "cd" || r.GroupIndex != 4 || r.Index != 5 || !r.GroupOverride || !r.Override {
		t.Errorf("got %+v", r)
	}
	settings := state.PlacementRule{
		Group: "g", ID: "r", Role: "voter", Count: 3, LocationLabels: []string{"zone"}, IsolationLevel: "zone", Configured: true,
	}
	if got := a.configured("g", "r"); !reflect.DeepEqual(got, settings) {
		t.Errorf("got %+v", got)
	}
}

// TestStoresOfPlacement: all fields of a store that rules are checked against, and the time at
// which PD refused the rules.
func TestStoresOfPlacement(t *testing.T) {
	f, o := spread(), &Observer{now: func() time.Time { return noon }}
	f.Update(func(s *pd.FakeState) {
		s.Stores[0].Capacity, s.Stores[0].Available, s.Stores[0].RegionCount = 30, 20, 10
	})
	got := look(t, o, f, scaled(3), objects{}).state.Placement.Stores
	want := state.Store{ID: 1, State: state.StoreUp, Labels: map[string]string{"zone": "a"}, Capacity: 30, Available: 20, Regions: 10}
	if len(got) != 4 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v", got)
	}
	if !o.rules.read.Equal(noon) {
		t.Errorf("read at %s", o.rules.read)
	}
}
