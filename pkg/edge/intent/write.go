package intent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Write says how to write.
type Write struct {
	// DryRun lets the API server check everything and change nothing.
	DryRun bool
	// Force takes fields over from their managers. Only Apply uses it.
	Force bool
	// Manager is the name under which the API server records what is written; "" is FieldManager.
	Manager string
	// Action is what is recorded as the last change, at At, so that it can be taken back. It is "" for a change that
	// is not recorded.
	Action string
	At     time.Time
}

func (w Write) manager() string { return cmp.Or(w.Manager, FieldManager) }

func (w Write) dryRun() []string {
	if w.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Create creates a TidbCluster.
func (c *Client) Create(ctx context.Context, tc *v1alpha1.TidbCluster, w Write) (*v1alpha1.TidbCluster, error) {
	if c.uid != "" {
		return nil, &OtherError{Namespace: tc.Namespace, Name: tc.Name, Want: c.uid}
	}
	body, err := json.Marshal(tc)
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &u.Object); err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	written(u)
	got, err := c.resourceIn(tc.Namespace).Create(ctx, u, metav1.CreateOptions{
		FieldManager: w.manager(), FieldValidation: metav1.FieldValidationStrict, DryRun: w.dryRun(),
	})
	return c.result(ctx, "create", tc.Namespace, tc.Name, got, err)
}

// Apply applies a manifest as "kubectl apply --server-side" does. Fields that are in the manifest are set. Fields
// that were in it the last time and are not now are removed, and other fields are left alone. If another manager
// owns a field with another value, Apply fails with a *ConflictError.
func (c *Client) Apply(ctx context.Context, m *Manifest, w Write) (*v1alpha1.TidbCluster, error) {
	namespace, name := m.Cluster.Namespace, m.Cluster.Name
	object := m.object.DeepCopy()
	object.SetUID(c.uid) // the API server applies it to no other object
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", namespace, name, err)
	}
	got, err := c.resourceIn(namespace).Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: w.manager(), FieldValidation: metav1.FieldValidationStrict,
		DryRun: w.dryRun(), Force: &w.Force,
	})
	if clash, ok := conflict(namespace, name, err); ok {
		return nil, clash
	}
	if c.uid != "" && apierrors.IsConflict(err) { // there is none; another one was found before
		return nil, &OtherError{Namespace: namespace, Name: name, Want: c.uid}
	}
	return c.result(ctx, "apply", namespace, name, got, err)
}

// Delete deletes this TidbCluster, and not another one that was created with its name since.
// Kubernetes then deletes what belongs to it, but not its data.
func (c *Client) Delete(ctx context.Context, tc *v1alpha1.TidbCluster, w Write) error {
	background := metav1.DeletePropagationBackground
	err := c.resourceIn(tc.Namespace).Delete(ctx, tc.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &tc.UID},
		PropagationPolicy: &background,
		DryRun:            w.dryRun(),
	})
	switch {
	case apierrors.IsNotFound(err):
		return c.missing(ctx, tc.Namespace, tc.Name, err)
	case apierrors.IsConflict(err):
		return &ChangedError{Namespace: tc.Namespace, Name: tc.Name, What: "it was deleted and created again"}
	case err != nil:
		return fmt.Errorf("delete tidbcluster %s/%s: %w", tc.Namespace, tc.Name, err)
	}
	return nil
}

// PatchStatus merges a patch of the form {"status": …} into a TidbCluster. The API server silently
// drops fields that its definition does not have. The user gets no warning about that: definitions
// of tidb-operator have no observedGeneration.
func (c *Client) PatchStatus(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := c.resourceIn(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{
		FieldManager: FieldManager, FieldValidation: metav1.FieldValidationIgnore,
	})
	if err != nil {
		return fmt.Errorf("patch status of tidbcluster %s/%s: %w", namespace, name, err)
	}
	return nil
}

func (c *Client) result(ctx context.Context, verb, namespace, name string, u *unstructured.Unstructured, err error) (*v1alpha1.TidbCluster, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.absent(ctx, verb, namespace, name, err)
	case err != nil:
		return nil, fmt.Errorf("%s tidbcluster %s/%s: %w", verb, namespace, name, err)
	}
	return decode(u)
}

// absent returns the error for a TidbCluster that could not be created: the resource or the
// namespace can be missing.
func (c *Client) absent(ctx context.Context, verb, namespace, name string, cause error) error {
	if _, err := c.resourceIn(namespace).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
		return NoResource(cause)
	}
	return fmt.Errorf("%s tidbcluster %s/%s: %w", verb, namespace, name, cause)
}

// written keeps only what a user writes. It removes the status, which the apply would then own, and the metadata
// that the API server sets.
func written(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "status")
	for _, given := range []string{"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		unstructured.RemoveNestedField(u.Object, "metadata", given)
	}
	annotations := u.GetAnnotations()
	if _, ok := annotations["kubectl.kubernetes.io/last-applied-configuration"]; ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		u.SetAnnotations(annotations)
	}
}
