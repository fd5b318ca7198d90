// Package advanced is a stand-in for the controller of AdvancedStatefulSets (apps.pingcap.com), whose program cannot be
// had as a module. It makes, deletes and replaces pods by the published rules: ordinals with gaps from the annotation
// delete-slots, a partition that compares ordinals, and ControllerRevisions. It looks at all sets of one namespace every
// half second, and takes over pods and revisions without a controller.
package advanced

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Definition is the manifest of the CustomResourceDefinition.
//
//go:embed definition.yaml
var Definition string

// Resource is the resource of AdvancedStatefulSets.
var Resource = schema.GroupVersionResource{Group: "apps.pingcap.com", Version: "v1", Resource: "statefulsets"}

const (
	slots = "delete-slots"
	every = 500 * time.Millisecond
)

// Controller is the stand-in for one namespace.
type Controller struct {
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	Namespace string
	// Log is told what fails; a conflict is none.
	Log func(error)
}

// Run works until ctx ends.
func (c Controller) Run(ctx context.Context) {
	for {
		if err := c.Sync(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			c.Log(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// Sync looks at each set once.
func (c Controller) Sync(ctx context.Context) error {
	list, err := c.Dynamic.Resource(Resource).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var all []error
	for i := range list.Items {
		set := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, set); err != nil {
			return err
		}
		if set.DeletionTimestamp == nil {
			all = append(all, c.syncSet(ctx, set))
		}
	}
	return errors.Join(all...)
}

func (c Controller) syncSet(ctx context.Context, set *appsv1.StatefulSet) error {
	update, err := c.revision(ctx, set)
	if err != nil {
		return err
	}
	pods, err := c.pods(ctx, set)
	if err != nil {
		return err
	}
	current := set.Status.CurrentRevision
	if current == "" || updated(pods, update.Name, len(Ordinals(set))) {
		current = update.Name
	}
	w := work{Controller: c, set: set, pods: pods, current: current, update: update}
	return errors.Join(w.scale(ctx), w.roll(ctx), w.status(ctx))
}

// updated reports whether all pods have a revision.
func updated(pods map[int]*corev1.Pod, revision string, wanted int) bool {
	n := 0
	for _, p := range pods {
		if p.Labels[appsv1.ControllerRevisionHashLabelKey] == revision && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n == wanted
}

// Ordinals returns the ordinals of a set, the lowest first.
func Ordinals(set *appsv1.StatefulSet) []int {
	var without []int
	_ = json.Unmarshal([]byte(set.Annotations[slots]), &without)
	replicas := 1
	if set.Spec.Replicas != nil {
		replicas = int(*set.Spec.Replicas)
	}
	slices.Sort(without)
	without = slices.Compact(without)
	bound := replicas
	var kept []int
	for _, s := range without {
		if s >= 0 && s < bound {
			bound++
			kept = append(kept, s)
		}
	}
	var all []int
	for n := range bound {
		if !slices.Contains(kept, n) {
			all = append(all, n)
		}
	}
	return all
}

// revision returns the ControllerRevision of a set's pod template, which it makes where there is none of that template.
func (c Controller) revision(ctx context.Context, set *appsv1.StatefulSet) (*appsv1.ControllerRevision, error) {
	client := c.Kube.AppsV1().ControllerRevisions(c.Namespace)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(set.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	last := int64(0)
	for i := range list.Items {
		r := &list.Items[i]
		if owner := metav1.GetControllerOf(r); owner != nil && owner.UID != set.UID || !strings.HasPrefix(r.Name, set.Name+"-") {
			continue
		}
		last = max(last, r.Revision)
		have, err := templateOf(r)
		if err != nil || !sameTemplate(have, set.Spec.Template) {
			continue
		}
		if metav1.GetControllerOf(r) != nil {
			return r, nil
		}
		r.OwnerReferences = []metav1.OwnerReference{ownerOf(set)}
		return client.Update(ctx, r, metav1.UpdateOptions{})
	}
	data, err := dataOf(set.Spec.Template)
	if err != nil {
		return nil, err
	}
	return client.Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: set.Name + "-", Labels: set.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{ownerOf(set)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: last + 1,
	}, metav1.CreateOptions{})
}

func ownerOf(set *appsv1.StatefulSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, Resource.GroupVersion().WithKind("StatefulSet"))
}

// dataOf returns a pod template as a revision has it: a patch that replaces the one that there is.
func dataOf(template corev1.PodTemplateSpec) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		return nil, err
	}
	object["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": object}})
}

func templateOf(r *appsv1.ControllerRevision) (corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := json.Unmarshal(r.Data.Raw, &patch)
	return patch.Spec.Template, err
}

func sameTemplate(a, b corev1.PodTemplateSpec) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

// pods returns the pods of a set by their ordinals. It takes over those without a controller.
func (c Controller) pods(ctx context.Context, set *appsv1.StatefulSet) (map[int]*corev1.Pod, error) {
	client := c.Kube.CoreV1().Pods(c.Namespace)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: labels.Set(set.Spec.Selector.MatchLabels).String()})
	if err != nil {
		return nil, err
	}
	all := map[int]*corev1.Pod{}
	for i := range list.Items {
		p := &list.Items[i]
		n, err := strconv.Atoi(strings.TrimPrefix(p.Name, set.Name+"-"))
		if err != nil {
			continue
		}
		switch owner := metav1.GetControllerOf(p); {
		case owner != nil && owner.UID != set.UID:
			continue
		case owner == nil && p.DeletionTimestamp == nil:
			p.OwnerReferences = append(p.OwnerReferences, ownerOf(set))
			if p, err = client.Update(ctx, p, metav1.UpdateOptions{}); err != nil {
				return nil, fmt.Errorf("take over pod: %w", err)
			}
		}
		all[n] = p
	}
	return all, nil
}

// Migrated returns the AdvancedStatefulSet that takes the place of a StatefulSet of Kubernetes.
func Migrated(set *appsv1.StatefulSet) (*unstructured.Unstructured, error) {
	next := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: Resource.GroupVersion().String(), Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: set.Name, Labels: set.Labels, Annotations: set.Annotations, OwnerReferences: set.OwnerReferences,
		},
		Spec: *set.Spec.DeepCopy(),
	}
	next.Spec.PersistentVolumeClaimRetentionPolicy, next.Spec.Ordinals, next.Spec.MinReadySeconds = nil, nil, 0
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}, nil
}
