package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// claimState returns what a claim says. Whether its storage class lets it grow is
// read only when the claim has to.
func claimState(claim *corev1.PersistentVolumeClaim, template string) state.Claim {
	_, marked := claim.Annotations[topology.AnnotationDeferDeleting]
	out := state.Claim{
		Name: claim.Name, UID: string(claim.UID), Version: claim.ResourceVersion, Marked: marked,
		Terminating: claim.DeletionTimestamp != nil,
		Identity:    identity(claim),
		Template:    template, Class: className(claim),
		Bound:     claim.Status.Phase == corev1.ClaimBound,
		Requested: topology.SizeOf(*claim.Spec.Resources.Requests.Storage()),
		Capacity:  topology.SizeOf(*claim.Status.Capacity.Storage()),
	}
	out.Attributes, out.Modified = attributesOf(claim.Spec.VolumeAttributesClassName), attributesOf(claim.Status.CurrentVolumeAttributesClassName)
	if out.Attributes != out.Modified {
		out.Modifying, out.Infeasible = modifying(claim.Status)
	}
	if out.Class == "" {
		out.Growth = state.NotGrowable
	}
	for _, c := range claim.Status.Conditions {
		if words := resizing(c); words != "" {
			out.Resizing, out.Since = words, c.LastTransitionTime.Time
		}
	}
	return out
}

func className(claim *corev1.PersistentVolumeClaim) string {
	if name := claim.Spec.StorageClassName; name != nil {
		return *name
	}
	return claim.Annotations[corev1.BetaStorageClassAnnotation]
}

func attributesOf(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// modifying returns what a volume waits for that is to get another VolumeAttributesClass, and reports whether the storage
// has refused the class.
func modifying(status corev1.PersistentVolumeClaimStatus) (words string, infeasible bool) {
	if m := status.ModifyVolumeStatus; m != nil {
		infeasible = m.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible
		words = fmt.Sprintf("Kubernetes reports %s for class %s", m.Status, m.TargetVolumeAttributesClassName)
	}
	for _, c := range status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && c.Status == corev1.ConditionTrue {
			words = join(words, c.Message)
		}
	}
	return words, infeasible
}

// resizing returns what a growing volume waits for; "" for a condition about
// something else.
func resizing(c corev1.PersistentVolumeClaimCondition) string {
	if c.Status != corev1.ConditionTrue {
		return ""
	}
	switch c.Type {
	case corev1.PersistentVolumeClaimFileSystemResizePending:
		return "the node has to resize the filesystem"
	case corev1.PersistentVolumeClaimResizing:
		return join("the volume is being resized", c.Message)
	case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
		return join("resizing fails", c.Message)
	}
	return ""
}

// grow finds out whether claims that are too small can grow. Storage classes are in no namespace, so that not every
// user may read them. What cannot be read is unknown, and Kubernetes reports it when the claim is resized.
func (o *Observer) grow(ctx context.Context, c topology.Cluster, seen objects) {
	known := map[string]state.Growth{}
	for _, g := range c.Groups {
		for _, claims := range seen.claims[g.Kind] {
			for i := range claims {
				claim := &claims[i]
				want, ok := g.Volume(claim.Template)
				if !ok || claim.Class == "" || claim.Holds(want.Size) {
					continue
				}
				if _, asked := known[claim.Class]; !asked {
					known[claim.Class] = o.growth(ctx, claim.Class)
				}
				claim.Growth = known[claim.Class]
			}
		}
	}
}

func (o *Observer) growth(ctx context.Context, class string) state.Growth {
	return named(o.changes, "storageclass/"+class, func() (state.Growth, bool) {
		g := o.readGrowth(ctx, class)
		return g, g != state.GrowthUnknown
	})
}

func (o *Observer) readGrowth(ctx context.Context, class string) state.Growth {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := o.kube.StorageV1().StorageClasses().Get(ctx, class, metav1.GetOptions{})
	switch {
	case err != nil:
		return state.GrowthUnknown
	case got.AllowVolumeExpansion != nil && *got.AllowVolumeExpansion:
		return state.Growable
	}
	return state.NotGrowable
}

// claimTemplates returns a StatefulSet's claim templates by their names.
func claimTemplates(templates []corev1.PersistentVolumeClaim) map[string]state.ClaimTemplate {
	all := map[string]state.ClaimTemplate{}
	for _, t := range templates {
		have := state.ClaimTemplate{Size: topology.SizeOf(*t.Spec.Resources.Requests.Storage())}
		if t.Spec.StorageClassName != nil {
			have.Class = *t.Spec.StorageClassName
		}
		have.Attributes = attributesOf(t.Spec.VolumeAttributesClassName)
		all[t.Name] = have
	}
	return all
}
