// Package schedule reads and writes the objects of schedules of backups. These are a CronJob, and the ServiceAccount, the
// Role and the RoleBinding of its pods.
package schedule

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// owner is the name by which the API server knows who has set a field.
const owner = "kubectl-tidb"

// resources are the resources of the objects of a schedule, by kind. The CronJob is deleted first, so that no pod begins
// without its rights.
var resources = []struct {
	kind     string
	resource schema.GroupVersionResource
}{
	{"CronJob", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}},
	{"RoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}},
	{"Role", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}},
	{"ServiceAccount", schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}},
}

// Client reads and writes the schedules of a namespace.
type Client struct {
	Dynamic   dynamic.Interface
	Kube      kubernetes.Interface
	Namespace string
}

// ForeignError says that an object with a name of a schedule belongs to somebody else, or to another cluster.
type ForeignError struct{ Kind, Name string }

func (e *ForeignError) Error() string {
	return strings.ToLower(e.Kind) + " " + e.Name + " is there already, and is not part of a schedule of this cluster"
}

// Find returns which objects of a schedule of a cluster exist, by kind. It fails with a *ForeignError where another
// object has the same kind and name.
func (c Client) Find(ctx context.Context, cluster, name string) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	for _, r := range resources {
		object, err := c.Dynamic.Resource(r.resource).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("get %s %s: %w", strings.ToLower(r.kind), name, err)
		case object.GetLabels()[backup.LabelScheduled] != cluster:
			return nil, &ForeignError{Kind: r.kind, Name: name}
		}
		object.SetKind(r.kind)
		found = append(found, *object)
	}
	return found, nil
}

// Apply makes an object of a schedule, or changes the one that exists. With try the API server only checks the object. An
// object that somebody else makes in the same moment is not taken over.
func (c Client) Apply(ctx context.Context, object runtime.Object, exists, try bool) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	delete(fields, "status")
	u := &unstructured.Unstructured{Object: fields}
	o := metav1.ApplyOptions{FieldManager: owner, Force: exists}
	if try {
		o.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := c.Dynamic.Resource(resourceOf(u.GetKind())).Namespace(c.Namespace).Apply(ctx, u.GetName(), u, o); err != nil {
		return fmt.Errorf("apply %s %s: %w", strings.ToLower(u.GetKind()), u.GetName(), err)
	}
	return nil
}

// Delete deletes an object of a schedule, with the Jobs and pods of a CronJob. An object of the same name that was made
// since is left.
func (c Client) Delete(ctx context.Context, object *unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	err := c.Dynamic.Resource(resourceOf(object.GetKind())).Namespace(c.Namespace).Delete(ctx, object.GetName(),
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(object.GetUID())), PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", strings.ToLower(object.GetKind()), object.GetName(), err)
	}
	return nil
}

// List returns the CronJobs of the schedules of a cluster.
func (c Client) List(ctx context.Context, cluster string) ([]batchv1.CronJob, error) {
	list, err := c.Kube.BatchV1().CronJobs(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set{backup.LabelScheduled: cluster}.String()})
	if err != nil {
		return nil, fmt.Errorf("list cronjobs in namespace %s: %w", c.Namespace, err)
	}
	return list.Items, nil
}

func resourceOf(kind string) schema.GroupVersionResource {
	for _, r := range resources {
		if r.kind == kind {
			return r.resource
		}
	}
	return schema.GroupVersionResource{}
}
