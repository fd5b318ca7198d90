// Package backup reads the Backups of tidb-operator.
package backup

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Resource is the resource of Backups.
var Resource = schema.GroupVersionResource{Group: "pingcap.com", Version: "v1alpha1", Resource: "backups"}

// page is how many Backups are read at a time: those of a schedule stay for months.
const page = 500

// NoResourceError says that the API server does not know Backups.
type NoResourceError struct{ Err error }

func (e *NoResourceError) Error() string { return "this Kubernetes cluster does not know Backups" }
func (e *NoResourceError) Unwrap() error { return e.Err }

// Backups are those that could be read.
type Backups struct {
	Items []v1alpha1.Backup
	// Unread has those that could not be decoded, a line each.
	Unread []string
	// Everywhere is true if those of all namespaces were read.
	Everywhere bool
}

// List reads the Backups of all namespaces, since the Backup of a cluster may be in another namespace. Where that is
// not permitted, List reads the Backups of one namespace. It fails with a *NoResourceError if the API server does
// not know Backups.
func List(ctx context.Context, dyn dynamic.Interface, namespace string) (Backups, error) {
	all, err := list(ctx, dyn.Resource(Resource))
	if denial.Missing(err) {
		all, err = list(ctx, dyn.Resource(Resource).Namespace(namespace))
	} else {
		all.Everywhere = true
	}
	switch {
	case apierrors.IsNotFound(err):
		return Backups{}, &NoResourceError{Err: err}
	case err != nil:
		return Backups{}, fmt.Errorf("list backups in namespace %s: %w", namespace, err)
	}
	return all, nil
}

func list(ctx context.Context, client dynamic.ResourceInterface) (Backups, error) {
	var all Backups
	for next := ""; ; {
		got, err := client.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return Backups{}, err
		}
		for i := range got.Items {
			u := &got.Items[i]
			var b v1alpha1.Backup
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &b); err != nil {
				all.Unread = append(all.Unread, fmt.Sprintf("%s/%s cannot be read: %v", u.GetNamespace(), u.GetName(), err))
				continue
			}
			all.Items = append(all.Items, b)
		}
		if next = got.GetContinue(); next == "" {
			return all, nil
		}
	}
}
