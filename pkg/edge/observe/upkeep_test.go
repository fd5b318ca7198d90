package observe

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// tended is an observer that reads for upkeep, with its API server and its clock.
type tended struct {
	*Observer
	kube *fake.Clientset
	time time.Time
}

func tend(objects ...runtime.Object) *tended {
	o := &tended{kube: fake.NewClientset(objects...), time: noon}
	o.Observer = &Observer{kube: o.kube, now: func() time.Time { return o.time }}
	o.ReadForUpkeep(Fresh)
	return o
}

// reads counts the requests since the last time.
func (o *tended) reads() int {
	defer o.kube.ClearActions()
	return len(o.kube.Actions())
}

func (o *tended) forbid(resource string) {
	o.kube.PrependReactor("get", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, a.(clienttesting.GetAction).GetName(), nil)
	})
}

func boundClaim(ordinal int) corev1.PersistentVolumeClaim {
	name := "tikv-" + basic.PodName(topology.TiKV, ordinal)
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: basic.Labels(topology.TiKV)},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func volumeOf(c corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName, UID: types.UID("uid-" + c.Spec.VolumeName), ResourceVersion: "7"},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: "Delete",
			ClaimRef:                      &corev1.ObjectReference{Name: c.Name, UID: c.UID},
		},
	}
}

// volumes returns what is observed of the volumes of the members' data claims.
func (o *tended) volumes(t *testing.T, claims ...corev1.PersistentVolumeClaim) []*state.Volume {
	t.Helper()
	l := Objects{Claims: pointers(claims)}
	seen := l.sort(basic)
	seen.give(o.readVolumes(t.Context(), seen))
	var out []*state.Volume
	for n := range len(claims) {
		out = append(out, seen.claims[topology.TiKV][n][0].Volume)
	}
	return out
}

func TestVolumes(t *testing.T) {
	zero, one := boundClaim(0), boundClaim(1)
	t.Run("read once, until they are written or some time has passed", func(t *testing.T) {
		o := tend(volumeOf(zero), volumeOf(one))
		got := o.volumes(t, zero, one)
		if v := got[0]; v == nil || v.Name != zero.Spec.VolumeName || v.Policy != "Delete" || v.Version != "7" || v.UID == "" {
			t.Fatalf("got %+v", v)
		}
		if n := o.reads(); n != 2 {
			t.Errorf("%d reads", n)
		}
		if again := o.volumes(t, zero, one); again[0] != got[0] || o.reads() != 0 {
			t.Error("read what is known")
		}
		o.Forget(step.TendVolume{Name: zero.Spec.VolumeName})
		o.volumes(t, zero, one)
		if n := o.reads(); n != 1 {
			t.Errorf("%d reads after one was written", n)
		}
		o.time = o.time.Add(Fresh)
		o.volumes(t, zero, one)
		if n := o.reads(); n != 2 {
			t.Errorf("%d reads later", n)
		}
	})
	t.Run("only of bound claims", func(t *testing.T) {
		pending := zero
		pending.Spec.VolumeName = ""
		o := tend()
		if got := o.volumes(t, pending); got[0] != nil || o.reads() != 0 {
			t.Errorf("got %+v", got[0])
		}
	})
	t.Run("of a claim behind one that is not bound", func(t *testing.T) {
		pending := boundClaim(0)
		pending.Name, pending.UID, pending.Spec.VolumeName = "log-basic-tikv-0", "log", ""
		o := tend(volumeOf(zero))
		seen := Objects{Claims: pointers([]corev1.PersistentVolumeClaim{pending, zero})}.sort(basic)
		if got := o.readVolumes(t.Context(), seen); got[string(zero.UID)] == nil {
			t.Errorf("got %v", got)
		}
	})
	t.Run("again only that which was written", func(t *testing.T) {
		other := volumeOf(one)
		other.Spec.ClaimRef.UID = "another"
		for _, second := range []*corev1.PersistentVolume{volumeOf(one), other} {
			o := tend(volumeOf(zero), second)
			o.volumes(t, zero, one)
			o.reads()
			o.Forget(step.TendVolume{Name: zero.Spec.VolumeName})
			o.volumes(t, zero, one)
			if a := o.kube.Actions(); len(a) != 1 || a[0].(clienttesting.GetAction).GetName() != zero.Spec.VolumeName {
				t.Errorf("read again: %v", a)
			}
		}
	})
	t.Run("only for upkeep", func(t *testing.T) {
		o := tend(volumeOf(zero))
		o.extras = nil
		if got := o.volumes(t, zero); got[0] != nil || o.reads() != 0 || o.extras.gaps() != nil {
			t.Errorf("got %+v", got[0])
		}
	})
	t.Run("another claim's", func(t *testing.T) {
		other := volumeOf(zero)
		other.Spec.ClaimRef.UID = "another"
		o := tend(other)
		if got := o.volumes(t, zero); got[0] != nil {
			t.Errorf("got %+v", got[0])
		}
	})
	t.Run("a claim that took the name of another", func(t *testing.T) {
		o := tend(volumeOf(zero))
		o.volumes(t, zero)
		recreated := zero
		recreated.UID, recreated.Spec.VolumeName = "recreated", "pv-recreated"
		if got := o.volumes(t, recreated); got[0] != nil {
			t.Errorf("got %+v", got[0])
		}
	})
	t.Run("pd-A10 tidb-S10 tikv-11-46: one that is missing is a gap, and the other one is known", func(t *testing.T) {
		o := tend(volumeOf(one))
		got := o.volumes(t, zero, one)
		if gaps := o.extras.gaps(); got[0] != nil || got[1] == nil || len(gaps) != 1 || !strings.Contains(gaps[0].What, zero.Spec.VolumeName) {
			t.Errorf("got %v, %+v", got, gaps)
		}
	})
	t.Run("no right to read them: one gap, and no more reads", func(t *testing.T) {
		o := tend(volumeOf(zero), volumeOf(one))
		o.forbid("persistentvolumes")
		got := o.volumes(t, zero, one)
		o.reads()
		o.volumes(t, zero, one)
		if gaps := o.extras.gaps(); got[0] != nil || got[1] != nil || len(gaps) != 1 || gaps[0].What != "volumes" || o.reads() != 0 {
			t.Errorf("got %v, %+v", got, gaps)
		}
	})
	t.Run("a read that fails is tried again", func(t *testing.T) {
		o := tend(volumeOf(zero))
		fail := true
		o.kube.PrependReactor("get", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return fail, nil, errors.New("timeout")
		})
		if got := o.volumes(t, zero); got[0] != nil || o.extras.gaps() != nil {
			t.Errorf("got %+v, %+v", got[0], o.extras.gaps())
		}
		fail = false
		if got := o.volumes(t, zero); got[0] == nil {
			t.Error("was not read")
		}
	})
}

func TestNodes(t *testing.T) {
	c := basic
	c.Groups = []topology.Group{{Kind: topology.PD}, {Kind: topology.TiKV}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
	store := func(node string) state.Member {
		return state.Member{Kind: topology.TiKV, Pod: &state.Pod{Node: node}, StoreLabels: map[string]string{}}
	}
	seen := func(pd state.PD, members ...state.Member) *state.Snapshot {
		return &state.Snapshot{PD: pd, Groups: map[topology.Kind]state.Group{topology.TiKV: {Members: members}}}
	}
	spread := state.PD{LocationLabels: []string{"zone"}}
	t.Run("once for all stores on a node", func(t *testing.T) {
		o := tend(node)
		for range 2 {
			s := seen(spread, store(""), store("n"), store("n"))
			o.readNodes(t.Context(), c, s)
			if s.Nodes["n"]["zone"] != "a" || len(s.Nodes) != 1 {
				t.Errorf("got %v", s.Nodes)
			}
		}
		if n := o.reads(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
	t.Run("not where no labels are wanted", func(t *testing.T) {
		o := tend(node)
		o.readNodes(t.Context(), c, seen(state.PD{}, store("n")))
		o.readNodes(t.Context(), c, seen(state.PD{Problem: "unknown", LocationLabels: spread.LocationLabels}, store("n")))
		if n := o.reads(); n != 0 {
			t.Errorf("%d reads", n)
		}
	})
	t.Run("tikv-11-6: one that is gone leaves the others", func(t *testing.T) {
		o := tend(node)
		s := seen(spread, store("gone"), store("n"))
		o.readNodes(t.Context(), c, s)
		if s.Nodes["n"] == nil || s.Nodes["gone"] != nil || o.extras.gaps() != nil {
			t.Errorf("got %v, %v", s.Nodes, o.extras.gaps())
		}
	})
	t.Run("no right to read them", func(t *testing.T) {
		o := tend(node)
		o.forbid("nodes")
		s := seen(spread, store("n"))
		o.readNodes(t.Context(), c, s)
		o.reads()
		o.readNodes(t.Context(), c, s)
		if gaps := o.extras.gaps(); len(s.Nodes) != 0 || len(gaps) != 1 || o.reads() != 0 {
			t.Errorf("got %v, %v", s.Nodes, gaps)
		}
	})
}

// A pod may use claims of the user, which have no labels of the cluster: that they are not listed
// does not mean that they are missing.
func TestClaimsOfPod(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv-0"}}
	for _, name := range []string{"tikv-basic-tikv-0", "backups", "tikv-log-basic-tikv-0"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "scratch"})
	if got := podState(topology.TiKV, p).Claims; !slices.Equal(got, []string{"tikv-basic-tikv-0", "tikv-log-basic-tikv-0"}) {
		t.Errorf("got %q", got)
	}
}

// Only a claim is left of a removed member. It counts where left-over claims are deleted, and for a
// suspended component.
func TestClaimsOnly(t *testing.T) {
	for _, tt := range []struct {
		reclaims, suspended bool
		want                int
	}{{true, false, 5}, {false, false, 3}, {false, true, 5}} {
		reclaims, want := tt.reclaims, tt.want
		c := basic
		c.Reclaims, c.Source = reclaims, &v1alpha1.TidbCluster{}
		seen := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.PD: {4: {{Name: "pd-basic-pd-4", Marked: true}}}}}
		if !tt.suspended {
			seen.existing.Sets = map[topology.Kind]*appsv1.StatefulSet{topology.PD: {}}
		}
		o := &Observer{now: func() time.Time { return noon }, history: newHistory()}
		g := o.groups(t.Context(), c, []topology.Group{{Kind: topology.PD, Replicas: 3}}, seen, database{})[0]
		if len(g.Members) != want || reclaims && !g.Members[4].Claims[0].Marked {
			t.Errorf("reclaims %t: got %+v", reclaims, g.Members)
		}
	}
}
