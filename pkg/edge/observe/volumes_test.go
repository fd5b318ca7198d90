package observe

import (
	"errors"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const gi = topology.Size(1 << 30)

func amount(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
}

func TestClaimState(t *testing.T) {
	fast := "fast"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", Labels: map[string]string{"a": "b"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &fast, Resources: corev1.VolumeResourceRequirements{Requests: amount("20Gi")},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: amount("10Gi")},
	}
	want := state.Claim{Name: "c", UID: "u", Template: "tikv", Class: "fast", Bound: true, Requested: 20 * gi, Capacity: 10 * gi}
	want.Identity = identity(claim)
	if got := claimState(claim, "tikv"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
		{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionFalse},
		{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)},
		{Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(time.Hour))},
	}
	if got := claimState(claim, "tikv"); got.Resizing != "the node has to resize the filesystem" || !got.Since.Equal(noon) {
		t.Errorf("got %+v", got)
	}

	t.Run("tidb-S10 a volume is lost", func(t *testing.T) {
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}
		if got := claimState(claim, "tikv"); got.Bound || got.Capacity != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("tikv-11-26 no class", func(t *testing.T) {
		claim.Spec.StorageClassName = nil
		if got := claimState(claim, "tikv"); got.Growth != state.NotGrowable {
			t.Errorf("got %+v", got)
		}
		claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "old"}
		if got := claimState(claim, "tikv"); got.Class != "old" || got.Growth != state.GrowthUnknown {
			t.Errorf("got %+v", got)
		}
	})
}

// Storage classes are read only when a claim is to grow: not every user may read them.
func TestGrow(t *testing.T) {
	yes, no := true, false
	classes := []runtime.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "yes"}, AllowVolumeExpansion: &yes},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "no"}, AllowVolumeExpansion: &no},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "unset"}},
	}
	grow := func(kube *fake.Clientset, claims ...state.Claim) []state.Claim {
		seen := objects{claims: map[topology.Kind]map[int][]state.Claim{topology.TiKV: {0: claims}}}
		c := basic
		c.Groups = []topology.Group{{Kind: topology.TiKV, Volumes: []topology.Volume{{Name: "tikv", Size: 20 * gi}}}}
		o := &Observer{kube: kube}
		o.grow(t.Context(), c, seen)
		return claims
	}

	for class, want := range map[string]state.Growth{
		"yes": state.Growable, "no": state.NotGrowable, "unset": state.NotGrowable, "gone": state.GrowthUnknown,
	} {
		got := grow(fake.NewClientset(classes...), state.Claim{Template: "tikv", Class: class, Requested: 10 * gi})
		if got[0].Growth != want {
			t.Errorf("class %s: got %d, want %d", class, got[0].Growth, want)
		}
	}

	t.Run("behind one that is large enough", func(t *testing.T) {
		got := grow(fake.NewClientset(classes...),
			state.Claim{Template: "tikv", Class: "yes", Requested: 20 * gi}, state.Claim{Template: "tikv", Class: "yes", Requested: 10 * gi})
		if got[1].Growth != state.Growable {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("a class that cannot be read is read again, and no other", func(t *testing.T) {
		kube := fake.NewClientset(classes...)
		o := &Observer{kube: kube, changes: &Unchanged{}}
		for class, want := range map[string]int{"yes": 1, "no": 1, "gone": 2} {
			kube.ClearActions()
			if first, second := o.growth(t.Context(), class), o.growth(t.Context(), class); first != second || len(kube.Actions()) != want {
				t.Errorf("class %s: %d, then %d, in %d reads", class, first, second, len(kube.Actions()))
			}
		}
	})

	t.Run("forbidden is unknown", func(t *testing.T) {
		kube := fake.NewClientset(classes...)
		kube.PrependReactor("get", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(storagev1.Resource("storageclasses"), "yes", errors.New("no"))
		})
		if got := grow(kube, state.Claim{Template: "tikv", Class: "yes", Requested: 10 * gi}); got[0].Growth != state.GrowthUnknown {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("tidb-S1 pd-A8 nothing is read when no claim is to grow", func(t *testing.T) {
		kube := fake.NewClientset(classes...)
		grow(kube,
			state.Claim{Template: "tikv", Class: "yes", Requested: 20 * gi},
			state.Claim{Template: "tikv", Class: "", Requested: 10 * gi, Growth: state.NotGrowable},
			state.Claim{Template: "of-others", Class: "yes", Requested: 10 * gi})
		if calls := kube.Actions(); len(calls) > 0 {
			t.Errorf("asked: %v", calls)
		}
		grow(kube, state.Claim{Template: "tikv", Class: "yes"}, state.Claim{Template: "tikv", Class: "yes"})
		if calls := kube.Actions(); len(calls) != 1 {
			t.Errorf("one class was read %d times", len(calls))
		}
	})
}

// TestModifying: what Kubernetes reports of a volume that is to get another VolumeAttributesClass.
func TestModifying(t *testing.T) {
	gold, silver := "gold", "silver"
	claim := &corev1.PersistentVolumeClaim{
		Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &gold},
		Status: corev1.PersistentVolumeClaimStatus{
			CurrentVolumeAttributesClassName: &silver,
			ModifyVolumeStatus:               &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: gold, Status: corev1.PersistentVolumeClaimModifyVolumeInfeasible},
			Conditions: []corev1.PersistentVolumeClaimCondition{
				{Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Status: corev1.ConditionTrue, Message: "no such type"},
			},
		},
	}
	got := claimState(claim, "tikv")
	if got.Attributes != gold || got.Modified != silver || !got.Infeasible || got.Modifying != "Kubernetes reports Infeasible for class gold: no such type" {
		t.Errorf("got %+v", got)
	}
	claim.Status.CurrentVolumeAttributesClassName = &gold
	if got := claimState(claim, "tikv"); got.Modifying != "" || got.Infeasible {
		t.Errorf("after that: %+v", got)
	}
}

// TestOwnMounts: where the component's container mounts the volumes of its claims.
func TestOwnMounts(t *testing.T) {
	volume := func(name, claim string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv-0"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{volume("tikv", "tikv-basic-tikv-0"), volume("tikv-wal", "tikv-wal-basic-tikv-0"), volume("mine", "shared")},
		Containers: []corev1.Container{
			{Name: "sidecar", VolumeMounts: []corev1.VolumeMount{{Name: "tikv-wal", MountPath: "/elsewhere"}}},
			{Name: "tikv", VolumeMounts: []corev1.VolumeMount{{Name: "tikv", MountPath: "/var/lib/tikv"}, {Name: "mine", MountPath: "/mine"}}},
		},
	}}
	if got := ownMounts(topology.TiKV, pod); !reflect.DeepEqual(got, map[string]string{"tikv": "/var/lib/tikv", "tikv-wal": ""}) {
		t.Errorf("got %v", got)
	}
	pod.Spec.Volumes = nil
	if got := ownMounts(topology.TiKV, pod); got != nil {
		t.Errorf("without claims: %v", got)
	}
}
