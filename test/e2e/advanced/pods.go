package advanced

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// work is what is done for one set.
type work struct {
	Controller
	set     *appsv1.StatefulSet
	pods    map[int]*corev1.Pod
	current string
	update  *appsv1.ControllerRevision
}

// scale makes pods of ordinals that have none, and deletes pods of other ordinals. With OrderedReady the pods come one
// at a time, the lowest ordinal first, and go one at a time, the highest ordinal first.
func (w work) scale(ctx context.Context) error {
	wanted, ordered := Ordinals(w.set), w.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	var all []error
	for _, n := range wanted {
		p := w.pods[n]
		if p == nil {
			all = append(all, w.create(ctx, n))
		} else if ended(p) {
			all = append(all, w.remove(ctx, p))
		}
		if ordered && (p == nil || !ready(p)) {
			return errors.Join(all...)
		}
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(w.pods))) {
		if slices.Contains(wanted, n) {
			continue
		}
		all = append(all, w.remove(ctx, w.pods[n]))
		if ordered {
			break
		}
	}
	return errors.Join(all...)
}

// roll replaces the pod with the highest ordinal that has an older revision, down to the partition, if all above it
// are ready.
func (w work) roll(ctx context.Context) error {
	if w.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	for _, n := range slices.Backward(Ordinals(w.set)) {
		p := w.pods[n]
		switch {
		case n < w.partition():
			return nil
		case p == nil || p.DeletionTimestamp != nil:
			return nil
		case p.Labels[appsv1.ControllerRevisionHashLabelKey] != w.update.Name:
			return w.remove(ctx, p)
		case !ready(p):
			return nil
		}
	}
	return nil
}

// partition is the lowest ordinal of a pod that may be replaced.
func (w work) partition() int {
	if r := w.set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		return int(*r.Partition)
	}
	return 0
}

func (w work) remove(ctx context.Context, p *corev1.Pod) error {
	if p.DeletionTimestamp != nil {
		return nil
	}
	err := w.Kube.CoreV1().Pods(w.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// create makes the pod of an ordinal and its claims. Below the partition the pod has the current revision.
func (w work) create(ctx context.Context, n int) error {
	revision, template := w.update.Name, w.set.Spec.Template
	if w.set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && n < w.partition() && w.current != revision {
		before, err := w.Kube.AppsV1().ControllerRevisions(w.Namespace).Get(ctx, w.current, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if template, err = templateOf(before); err != nil {
			return err
		}
		revision = w.current
	}
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.OwnerReferences = fmt.Sprintf("%s-%d", w.set.Name, n), []metav1.OwnerReference{ownerOf(w.set)}
	pod.Labels = maps.Clone(template.Labels)
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(n)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, w.set.Spec.ServiceName
	for i := range w.set.Spec.VolumeClaimTemplates {
		claim := w.set.Spec.VolumeClaimTemplates[i].DeepCopy()
		volume := claim.Name
		claim.Name, claim.Namespace = volume+"-"+pod.Name, w.Namespace
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		maps.Copy(claim.Labels, w.set.Spec.Selector.MatchLabels)
		if _, err := w.Kube.CoreV1().PersistentVolumeClaims(w.Namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
	}
	_, err := w.Kube.CoreV1().Pods(w.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// status writes what was seen.
func (w work) status(ctx context.Context) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: w.set.Generation, CurrentRevision: w.current, UpdateRevision: w.update.Name, CollisionCount: new(int32),
	}
	for _, p := range w.pods {
		status.Replicas++
		if ready(p) {
			status.ReadyReplicas++
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		switch p.Labels[appsv1.ControllerRevisionHashLabelKey] {
		case w.update.Name:
			status.UpdatedReplicas++
			if w.current == w.update.Name {
				status.CurrentReplicas++
			}
		case w.current:
			status.CurrentReplicas++
		}
	}
	if reflect.DeepEqual(status, w.set.Status) {
		return nil
	}
	client := w.Dynamic.Resource(Resource).Namespace(w.Namespace)
	live, err := client.Get(ctx, w.set.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return err
	}
	delete(object, "availableReplicas")
	if err := unstructured.SetNestedMap(live.Object, object, "status"); err != nil {
		return err
	}
	_, err = client.UpdateStatus(ctx, live, metav1.UpdateOptions{})
	return err
}

func ready(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}
