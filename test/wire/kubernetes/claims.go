package kubernetes

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

const (
	class      = "standard"
	protection = "kubernetes.io/pvc-protection"
)

// showOnce writes the storage classes. A claim that names none is of the first.
func (b *Bridge) showOnce() {
	grow, policy, mode := true, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	for _, name := range []string{class, "class-1"} {
		b.api.Put(classes, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
				"storageclass.kubernetes.io/is-default-class": strconv.FormatBool(name == class),
			}},
			Provisioner: "sim", AllowVolumeExpansion: &grow, ReclaimPolicy: &policy, VolumeBindingMode: &mode,
		})
	}
}

// showClaims writes the claims of a component, and their volumes.
func (b *Bridge) showClaims(k topology.Kind) {
	there := map[string]bool{}
	for _, c := range b.model.ShownClaims(k) {
		there[c.UID] = true
		claim, found := get[*corev1.PersistentVolumeClaim](b, claims, c.Name)
		if found && string(claim.UID) != c.UID {
			b.removeClaim(claim)
			found = false
		}
		if !found && b.claims[c.UID] {
			continue // a client has taken its finalizer off, and the model has yet to end it
		}
		if !found {
			claim = b.newClaim(k, c)
			b.showAdded(k, claim, c.NoNode)
		}
		if b.isDone(c.UID, c, claim) {
			continue
		}
		b.claims[c.UID] = true
		written := b.api.Put(claims, claimAs(claim, c))
		b.done[c.UID] = done{c, written}
		b.showVolume(written.(*corev1.PersistentVolumeClaim), c.NoNode)
	}
	for _, claim := range list[*corev1.PersistentVolumeClaim](b, claims) {
		if uid := string(claim.UID); b.claims[uid] && !there[uid] && claim.Labels[topology.LabelComponent] == string(k) {
			b.removeClaim(claim)
		}
	}
}

// newClaim returns a claim as the StatefulSet controller makes it, of the template that there is.
func (b *Bridge) newClaim(k topology.Kind, c sim.ShownClaim) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	if set, ok := b.set(k); ok {
		for _, t := range set.Spec.VolumeClaimTemplates {
			if t.Name == sim.VolumeOf(k) {
				claim = t.DeepCopy()
			}
		}
	}
	claim.TypeMeta = metav1.TypeMeta{}
	claim.Namespace, claim.Name, claim.UID = Namespace, c.Name, types.UID(c.UID)
	claim.CreationTimestamp = metav1.NewTime(b.model.Now())
	claim.Finalizers = []string{protection}
	labels := b.cluster.Labels(k)
	maps.Copy(labels, claim.Labels)
	claim.Labels = labels
	claim.Annotations = union(claim.Annotations, map[string]string{"volume.kubernetes.io/storage-provisioner": "sim"})
	if claim.Spec.StorageClassName == nil {
		name := class
		claim.Spec.StorageClassName = &name
	}
	claim.Spec.VolumeName = volumeName(claim)
	claim.Spec.Resources.Requests = storage(c.Requested)
	claim.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: storage(c.Capacity),
	}
	return claim
}

// showAdded writes the claims of volumes that the user adds to a component, for the member that gets a claim for its data.
// The model knows only that claim. The other ones are there as long as that claim is.
func (b *Bridge) showAdded(k topology.Kind, data *corev1.PersistentVolumeClaim, noNode bool) {
	set, ok := b.set(k)
	if !ok {
		return
	}
	member := strings.TrimPrefix(data.Name, sim.VolumeOf(k)+"-")
	for _, t := range set.Spec.VolumeClaimTemplates {
		if t.Name == sim.VolumeOf(k) {
			continue
		}
		claim := data.DeepCopy()
		claim.Name, claim.UID = t.Name+"-"+member, data.UID+types.UID("-"+t.Name)
		claim.Spec.Resources, claim.Status.Capacity = t.Spec.Resources, t.Spec.Resources.Requests
		claim.Spec.VolumeName = volumeName(claim)
		b.showVolume(b.api.Put(claims, claim).(*corev1.PersistentVolumeClaim), noNode)
	}
}

// claimAs returns a claim as it is by the model. What clients have written stays.
func claimAs(claim *corev1.PersistentVolumeClaim, c sim.ShownClaim) *corev1.PersistentVolumeClaim {
	next := claim.DeepCopy()
	if sizeOf(next) < c.Requested {
		next.Spec.Resources.Requests = storage(c.Requested)
	}
	next.Status.Capacity = storage(c.Capacity)
	var conditions []corev1.PersistentVolumeClaimCondition
	if c.Capacity < c.Requested {
		conditions = claim.Status.Conditions
		if len(conditions) == 0 {
			conditions = []corev1.PersistentVolumeClaimCondition{{
				Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
			}}
		}
	}
	next.Status.Conditions = conditions
	showAttributes(next, c)
	if c.Terminating && next.DeletionTimestamp == nil {
		now, none := metav1.NewTime(time.Now().Truncate(time.Second)), int64(0)
		next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &now, &none
	}
	return next
}

// showAttributes writes what Kubernetes reports of the VolumeAttributesClass of a volume.
func showAttributes(claim *corev1.PersistentVolumeClaim, c sim.ShownClaim) {
	s := &claim.Status
	s.CurrentVolumeAttributesClassName, s.ModifyVolumeStatus = nil, nil
	if c.Modified != "" {
		s.CurrentVolumeAttributesClassName = &c.Modified
	}
	if c.Modifying == "" {
		return
	}
	s.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{
		TargetVolumeAttributesClassName: c.Attributes, Status: corev1.PersistentVolumeClaimModifyVolumeStatus(c.Modifying),
	}
	if s.ModifyVolumeStatus.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible {
		s.Conditions = append(s.Conditions, corev1.PersistentVolumeClaimCondition{
			Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Status: corev1.ConditionTrue,
			Reason: "ControllerModifyVolumeFailed", Message: "rpc error: code = InvalidArgument desc = iops is too high",
		})
	}
}

func volumeName(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// onNode is the node affinity of a volume that can be used only on one node.
func onNode(name string) *corev1.VolumeNodeAffinity {
	host := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{host}},
	}}}
}

// showVolume writes the volume of a claim. Its policy and its labels are the plugin's. The volume of a lost host can be
// used only on a node that does not exist.
func (b *Bridge) showVolume(claim *corev1.PersistentVolumeClaim, noNode bool) {
	volume, there := b.api.Get(volumes, "", volumeName(claim)).(*corev1.PersistentVolume)
	if !there {
		volume = &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: volumeName(claim), Finalizers: []string{"kubernetes.io/pv-protection"}},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: claim.Spec.AccessModes, StorageClassName: class, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				ClaimRef: &corev1.ObjectReference{
					APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: Namespace, Name: claim.Name, UID: claim.UID,
				},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "sim", VolumeHandle: string(claim.UID)}},
			},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
		}
	}
	next := volume.DeepCopy()
	next.Spec.Capacity, next.Spec.NodeAffinity = claim.Status.Capacity.DeepCopy(), nil
	if noNode {
		next.Spec.NodeAffinity = onNode(sim.LostNode)
	}
	b.api.Put(volumes, next)
}

// removeClaim deletes a claim for good, and its volume where the policy of the volume says so.
func (b *Bridge) removeClaim(claim *corev1.PersistentVolumeClaim) {
	delete(b.claims, string(claim.UID))
	delete(b.done, string(claim.UID))
	b.api.Remove(claims, Namespace, claim.Name)
	for _, added := range list[*corev1.PersistentVolumeClaim](b, claims) {
		if strings.HasPrefix(string(added.UID), string(claim.UID)+"-") {
			b.removeClaim(added)
		}
	}
	volume, there := b.api.Get(volumes, "", volumeName(claim)).(*corev1.PersistentVolume)
	switch {
	case !there:
	case volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		b.api.Remove(volumes, "", volume.Name)
	default:
		next := volume.DeepCopy()
		next.Status.Phase = corev1.VolumeReleased
		b.api.Put(volumes, next)
	}
}

func storage(gib int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", gib))}
}

func union(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
