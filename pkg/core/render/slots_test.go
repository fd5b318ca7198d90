package render

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func slotted(text string) func(*v1alpha1.TidbCluster) {
	return func(tc *v1alpha1.TidbCluster) {
		tc.Annotations = map[string]string{"tikv.tidb.pingcap.com/delete-slots": text}
	}
}

// advanced has the StatefulSets of a cluster as a tidb-operator with the feature gate AdvancedStatefulSet has them.
func advanced(c topology.Cluster, have state.Existing) topology.Cluster {
	for _, set := range have.Sets {
		set.APIVersion = "apps.pingcap.com/v1"
	}
	return c.Numbered(true, func(topology.Kind) int { return 0 })
}

// TestSlotsOfPlainSets: slots are refused where a StatefulSet of Kubernetes has the pods, or would have them.
func TestSlotsOfPlainSets(t *testing.T) {
	for name, have := range map[string]state.Existing{"of a new cluster": nothing(), "of one that exists": created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))} {
		c := load(t, "basic", slotted("[1]")).Numbered(false, func(topology.Kind) int { return 0 })
		_, err := Want(state.Observation{Cluster: c, Existing: have})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "metadata.annotations[tikv.tidb.pingcap.com/delete-slots]") || !strings.Contains(err.Error(), "last pod") {
			t.Errorf("%s: %v", name, err)
		}
		if help := remedy.Of(err).Line(""); !strings.Contains(help, "replace basic basic-tikv-1") || !strings.Contains(help, "delete-slots-") {
			t.Errorf("%s: %s", name, help)
		}
	}
}

// TestInitialMembersGone: before PD has served, slots keep its initial members. A cluster that is created with slots
// has other initial members, and keeps its slots then.
func TestInitialMembersGone(t *testing.T) {
	with := func(text string) func(tc *v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Annotations = map[string]string{"pd.tidb.pingcap.com/delete-slots": text}
		}
	}
	slots := with("[0]")
	begun := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	c := advanced(load(t, "basic", slots), begun)
	_, err := Want(state.Observation{Cluster: c, Existing: begun})
	if err == nil || !strings.Contains(err.Error(), "metadata.annotations[pd.tidb.pingcap.com/delete-slots]") || !strings.Contains(err.Error(), "starts with basic-pd-0") {
		t.Errorf("%v", err)
	}
	if help := remedy.Of(err).Line(""); !strings.Contains(help, "kubectl annotate tidbcluster basic --overwrite pd.tidb.pingcap.com/delete-slots-") {
		t.Error(help)
	}
	made := created(t, want(t, advanced(load(t, "basic", slots), nothing()), nothing(), state.Snapshot{}))
	made.Sets[topology.PD].Annotations[topology.AnnotationSlots] = "[0]"
	_, err = Want(state.Observation{Cluster: advanced(load(t, "basic"), made), Existing: made})
	if help := remedy.Of(err).Line(""); err == nil || !strings.Contains(help, "--overwrite 'pd.tidb.pingcap.com/delete-slots=[0]'") {
		t.Errorf("slots are taken back: %v, %s", err, help)
	}
	fewer := func(tc *v1alpha1.TidbCluster) { slots(tc); tc.Spec.PD.Replicas = 1 }
	if _, err := Want(state.Observation{Cluster: advanced(load(t, "basic", fewer), made), Existing: made}); err != nil {
		t.Errorf("fewer are wanted: %v", err)
	}
	served := state.Observation{Cluster: c, Existing: begun}
	served.Snapshot.PD.ClusterID = 7
	for name, o := range map[string]state.Observation{"PD serves": served, "a new cluster": {Cluster: c, Existing: nothing()}} {
		if _, err := Want(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInsteadOfSlots: each command that is named can work.
func TestInsteadOfSlots(t *testing.T) {
	for name, tt := range map[string]struct {
		uid   types.UID
		slots []int
		kind  topology.Kind
		want  string
	}{
		"a cluster that does not exist yet": {"", []int{1}, topology.TiKV, "remove the annotation from the manifest"},
		"a member":                          {"u", []int{1}, topology.TiKV, "or give a member a new volume instead: kubectl tidb replace basic basic-tikv-1"},
		"a member without data":             {"u", []int{0}, topology.TiDB, "or restart a member instead: kubectl tidb restart basic basic-tidb-0"},
		"no member":                         {"u", []int{-1, 9}, topology.TiKV, "delete-slots-"},
		"no member, and one":                {"u", []int{-1, 2}, topology.TiKV, "replace basic basic-tikv-2"},
	} {
		c := load(t, "basic").Numbered(false, func(topology.Kind) int { return 0 })
		c.UID = tt.uid
		g, _ := c.Group(tt.kind)
		got := withoutSlots(c, g, topology.SlotsAnnotation(tt.kind), tt.slots).Line("")
		if !strings.Contains(got, tt.want) || name == "no member" && strings.Contains(got, "instead") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestAdvancedTakenOver: an AdvancedStatefulSet is as it is wanted, also with slots, and stays one when it is written.
func TestAdvancedTakenOver(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	c := advanced(load(t, "basic", slotted("[1]")), have)
	have.Sets[topology.TiKV].Annotations[topology.AnnotationSlots] = "[1]"
	have.Sets[topology.TiKV].Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(4)) // as an operator closes it
	w := want(t, c, have, state.Snapshot{})
	if found := drifts(w); len(found) > 0 {
		t.Errorf("to be written: %v", found)
	}
	image := func(tc *v1alpha1.TidbCluster) { slotted("[1]")(tc); tc.Spec.Version = "v8.5.9" }
	g := groupOf(t, want(t, advanced(load(t, "basic", image), have), have, state.Snapshot{}), topology.TiKV)
	next := merged(t, have.Sets[topology.TiKV], g.Set.Manifest.(*appsv1.StatefulSet))
	if g.Set.Drift != desired.Differs || next.APIVersion != "apps.pingcap.com/v1" || next.Annotations[topology.AnnotationSlots] != "[1]" {
		t.Errorf("%v: %s, slots %q", g.Set.Drift, next.APIVersion, next.Annotations[topology.AnnotationSlots])
	}
	if p := Partition(next); p != 4 {
		t.Errorf("partition %d, which opens the pod with the ordinal 3, or is above 4", p)
	}
}

// TestResizedWithSlots: replicas and slots change together, and a closed partition stays above the highest ordinal.
func TestResizedWithSlots(t *testing.T) {
	for name, tt := range map[string]struct {
		slots     string
		partition int32
		to        int
		toSlots   []int
		text      string
		want      int32
	}{
		"a member leaves":                     {"", 3, 2, []int{1}, "[1]", 3},
		"a member comes back":                 {"[1]", 4, 4, nil, "", 4},
		"a move begins":                       {"", 3, 4, nil, "", 4},
		"an open partition":                   {"[1]", 3, 2, []int{1, 2}, "[1,2]", 3},
		"all that there were":                 {"[0,1]", 5, 3, []int{0, 1}, "[0,1]", 5},
		"a partition at the replicas is open": {"[1]", 3, 4, []int{1}, "[1]", 3},
	} {
		live := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{})).Sets[topology.TiKV]
		live.APIVersion, live.Annotations[topology.AnnotationSlots] = "apps.pingcap.com/v1", tt.slots
		replicas(live, 3, tt.partition)
		got := Resized(live, tt.to, tt.toSlots)
		if n, p := int(*got.Spec.Replicas), *partition(got); n != tt.to || p != tt.want || got.Annotations[topology.AnnotationSlots] != tt.text {
			t.Errorf("%s: %d, slots %q, partition %d, want %d", name, n, got.Annotations[topology.AnnotationSlots], p, tt.want)
		}
		if o := state.OrdinalsOf(got); !slices.Equal(o.Slots, tt.toSlots) {
			t.Errorf("%s: read back %v", name, o.Slots)
		}
	}
	plain := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{})).Sets[topology.TiKV]
	if got := Resized(plain, 2, []int{1}); got.Annotations[topology.AnnotationSlots] != "" {
		t.Error("a StatefulSet of Kubernetes got slots")
	}
}

// TestSlotsOfRecreated: a StatefulSet that is made again keeps its kind and its slots.
func TestSlotsOfRecreated(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	c := advanced(load(t, "basic", slotted("[1]")), have)
	live := have.Sets[topology.TiKV]
	live.Annotations[topology.AnnotationSlots] = "[1]"
	wanted := groupOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV).Set.Manifest.(*appsv1.StatefulSet)
	got := Recreated(live, wanted, false)
	if got.APIVersion != "apps.pingcap.com/v1" || got.Annotations[topology.AnnotationSlots] != "[1]" || Partition(got) != 4 {
		t.Errorf("%s, slots %q, partition %d", got.APIVersion, got.Annotations[topology.AnnotationSlots], Partition(got))
	}
}

// TestTemplateOfAdvanced: a write that does not change the meaning of a pod template leaves its text as it is, because its
// controller makes the revision of that text.
func TestTemplateOfAdvanced(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	c := advanced(load(t, "basic"), have)
	live := have.Sets[topology.TiKV]
	live.Spec.Template.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log" // as an operator may write it
	delete(live.Labels, topology.LabelInstance)
	g := groupOf(t, want(t, c, have, state.Snapshot{}), topology.TiKV)
	if g.Set.Drift != desired.Differs {
		t.Fatal("a label that is missing is no difference")
	}
	next := merged(t, live, g.Set.Manifest.(*appsv1.StatefulSet))
	if diff := cmp.Diff(live.Spec.Template, next.Spec.Template); diff != "" || next.Labels[topology.LabelInstance] == "" {
		t.Errorf("labels %v:\n%s", next.Labels, diff)
	}
	edited := live.DeepCopy()
	edited.Spec.Template.Spec.Containers[0].Image = "of a person"
	back, _ := undone(edited, time.Time{})
	if put := merged(t, edited, back.Manifest.(*appsv1.StatefulSet)); put.Spec.Template.Spec.Containers[0].Image != live.Spec.Template.Spec.Containers[0].Image {
		t.Errorf("the image is not put back: %s", put.Spec.Template.Spec.Containers[0].Image)
	}
	if record(t, next).Template.Spec.Containers[0].TerminationMessagePath != "" {
		t.Error("what others have written is recorded as applied")
	}
}
