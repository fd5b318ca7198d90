package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const gi = topology.Size(1 << 30)

func storage(text string) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.Requests[corev1.ResourceStorage] = resource.MustParse(text)
	}
}

// claimed returns a snapshot of one TiKV member with a claim.
func claimed(c state.Claim) state.Snapshot {
	c.Template, c.Name = "tikv", "tikv-basic-tikv-0"
	return state.Snapshot{Groups: map[topology.Kind]state.Group{topology.TiKV: {
		Set:     state.Set{Exists: true, Replicas: 1},
		Members: []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Claims: []state.Claim{c}}},
	}}}
}

// TestGrowth: volumes of 10Gi, of which another size is wanted.
func TestGrowth(t *testing.T) {
	for name, tt := range map[string]struct {
		size    string
		claim   state.Claim
		refused string
	}{
		"larger": {"20Gi", state.Claim{Class: "fast", Growth: state.Growable, Requested: 10 * gi}, ""},
		"larger, a class that may not be read": {
			"20Gi", state.Claim{Class: "fast", Requested: 10 * gi}, "",
		},
		"larger, a class that lets nothing grow": {
			"20Gi", state.Claim{Class: "fast", Growth: state.NotGrowable, Requested: 10 * gi},
			"claim tikv-basic-tikv-0 can not grow from 10Gi to 20Gi: storage class fast does not let volumes grow",
		},
		"tikv-11-26 tidb-S1: larger, without a class": {
			"20Gi", state.Claim{Growth: state.NotGrowable, Requested: 10 * gi},
			"claim tikv-basic-tikv-0 can not grow from 10Gi to 20Gi: it has no storage class that could let it grow",
		},
		"larger, a static volume that has it": {
			"20Gi", state.Claim{Growth: state.NotGrowable, Requested: 10 * gi, Capacity: 100 * gi}, "",
		},
		"larger, of what a removed member left": {
			"20Gi", state.Claim{Growth: state.NotGrowable, Requested: 10 * gi, Marked: true}, "",
		},
		"tidb-S1 pd-A8: the same, without a class": {"10Gi", state.Claim{Growth: state.NotGrowable, Requested: 10 * gi}, ""},
		"the same, a claim was made larger by hand": {
			"10Gi", state.Claim{Class: "fast", Requested: 30 * gi, Capacity: 30 * gi}, "",
		},
		"tidb-B20: smaller": {
			"5Gi", state.Claim{Class: "fast", Growth: state.Growable, Requested: 10 * gi},
			"volume tikv has 10Gi, and volumes can not shrink to 5Gi",
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := created(t, want(t, load(t, "basic", storage("10Gi")), nothing(), state.Snapshot{}))
			w, err := Want(state.Observation{Cluster: load(t, "basic", storage(tt.size)), Existing: have, Snapshot: claimed(tt.claim)})
			var refused *RefusedError
			switch {
			case tt.refused != "":
				if !errors.As(err, &refused) || refused.Fields[0].Field != "spec.tikv.requests.storage" ||
					!strings.Contains(refused.Fields[0].Detail, tt.refused) {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case groupOf(t, w, topology.TiKV).Set.Drift != desired.None:
				t.Error("another size is a reason to write the StatefulSet, which would change nothing")
			}
		})
	}
}

// TestRecreated: only the claim templates change, so that the pods' template
// comes out as the same revision.
func TestRecreated(t *testing.T) {
	w := want(t, load(t, "basic", storage("10Gi")), nothing(), state.Snapshot{})
	live := created(t, w).Sets[topology.TiKV]
	live.UID, live.ResourceVersion, live.Generation = "u", "7", 4
	live.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "noon"
	live.Labels["mine"] = "stays"
	before := live.DeepCopy()
	wanted := setOf(t, want(t, load(t, "basic", storage("20Gi")), nothing(), state.Snapshot{}), topology.TiKV)

	if !TemplatesDiffer(live, wanted, false) || TemplatesDiffer(wanted, live, false) || !TemplatesDiffer(wanted, live, true) {
		t.Error("TemplatesDiffer is wrong")
	}
	got := Recreated(live, wanted, false)
	if !equality.Semantic.DeepEqual(live, before) {
		t.Error("the live one was changed")
	}
	if got.UID != "" || got.ResourceVersion != "" || got.Generation != 0 || got.Labels["mine"] != "stays" || len(got.OwnerReferences) != 1 {
		t.Errorf("metadata %+v", got.ObjectMeta)
	}
	size := got.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage()
	if size.String() != "20Gi" || TemplatesDiffer(got, wanted, true) {
		t.Errorf("claims of %s", size)
	}
	got.Spec.VolumeClaimTemplates = live.Spec.VolumeClaimTemplates
	if d := cmp.Diff(live.Spec, got.Spec); d != "" {
		t.Errorf("the spec changed:\n%s", d)
	}
	if Template(got) != Template(live) || setDrift(got, wanted) != desired.None {
		t.Error("the record of what was applied changed")
	}

	for _, shrink := range []bool{false, true} {
		less := setOf(t, want(t, load(t, "basic", storage("5Gi")), nothing(), state.Snapshot{}), topology.TiKV)
		got := Recreated(live, less, shrink).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()
		if want := map[bool]string{false: "10Gi", true: "5Gi"}[shrink]; got != want {
			t.Errorf("tidb-B20 shrink %t: claims of %s, want %s", shrink, got, want)
		}
	}
	for have, want := range map[string]bool{"fast": true, "slow": false} {
		fast := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StorageClassName = new("fast") }
		_, err := Want(state.Observation{
			Cluster: load(t, "basic", storage("10Gi"), fast), Existing: created(t, w), Snapshot: claimed(state.Claim{Class: have, Requested: 10 * gi}),
		})
		if (err == nil) != want {
			t.Errorf("the class fast in the spec, and %s of claims: %v", have, err)
		}
	}
	t.Run("another class", func(t *testing.T) {
		class := "fast"
		wanted.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class
		if !TemplatesDiffer(live, wanted, false) {
			t.Error("the class makes no difference")
		}
		got := Recreated(live, wanted, false)
		if have := got.Spec.VolumeClaimTemplates[0].Spec.StorageClassName; have == nil || *have != class || TemplatesDiffer(got, wanted, true) {
			t.Errorf("class %v", have)
		}
	})
}

// Running founders of PD have read their names. If their StatefulSet is deleted without them, the
// next pods must read the same names.
func TestFoundersWithoutStatefulSet(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	old := have.ConfigMaps[c.BootstrapMap()].Data[keyInitial]
	delete(have.Sets, topology.PD)
	snap := state.Snapshot{
		PD: state.PD{Problem: "PD does not answer"},
		Groups: map[topology.Kind]state.Group{topology.PD: {
			Members: []state.Member{{Kind: topology.PD, Name: "basic-pd-0", Pod: &state.Pod{}}},
		}},
	}
	more := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas += 2 })
	got := bootstrapMap(more, have, snap)
	if old == "" || got.Data[keyInitial] != old {
		t.Errorf("got %q, want the former names %q", got.Data[keyInitial], old)
	}
}

func TestVolumeStatus(t *testing.T) {
	s := healthyScene(t)
	for i := range s.w.Groups {
		if s.w.Groups[i].Kind == topology.TiKV {
			s.w.Groups[i].Volumes = []topology.Volume{{Name: "tikv", Size: 20 * gi}}
		}
	}
	m := s.member(topology.TiKV)
	m.Claims = []state.Claim{
		{Name: "a", Template: "tikv", Class: "fast", Bound: true, Requested: 20 * gi, Capacity: 20 * gi},
		{Name: "b", Template: "tikv", Class: "fast", Bound: true, Requested: 20 * gi, Capacity: 10 * gi},
		{Name: "c", Template: "of-others", Bound: true},
	}
	ten, twenty := resource.MustParse("10Gi"), resource.MustParse("20Gi")
	observed := v1alpha1.ObservedStorageVolumeStatus{
		BoundCount: 2, CurrentCount: 1, ModifiedCount: 1, CurrentCapacity: ten, ModifiedCapacity: twenty,
		CurrentStorageClass: "fast", ModifiedStorageClass: "fast", ResizedCapacity: twenty, ResizedCount: 1,
	}
	volumesAre := func(t *testing.T, got map[v1alpha1.StorageVolumeName]*v1alpha1.StorageVolumeStatus) {
		t.Helper()
		want := map[v1alpha1.StorageVolumeName]*v1alpha1.StorageVolumeStatus{
			"tikv": {ObservedStorageVolumeStatus: observed, Name: "tikv"},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	old := v1alpha1.TidbClusterStatus{}
	old.TiKV.Volumes = map[v1alpha1.StorageVolumeName]*v1alpha1.StorageVolumeStatus{"gone": {Name: "gone"}}
	half := s.status(old)
	volumesAre(t, half.TiKV.Volumes)
	if half.TiDB.Volumes != nil {
		t.Errorf("TiDB has volumes %v", half.TiDB.Volumes)
	}

	m.Claims[1].Capacity = 20 * gi
	observed.CurrentCount, observed.ModifiedCount, observed.ResizedCount, observed.CurrentCapacity = 2, 2, 2, twenty
	volumesAre(t, s.status(half).TiKV.Volumes)
}
