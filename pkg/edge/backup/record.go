package backup

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// Of reads the Backups of one namespace. It fails with a *NoResourceError if the API server does not know Backups.
func Of(ctx context.Context, dyn dynamic.Interface, namespace string) (Backups, error) {
	all, err := list(ctx, dyn.Resource(Resource).Namespace(namespace))
	switch {
	case apierrors.IsNotFound(err):
		return Backups{}, &NoResourceError{Err: err}
	case err != nil:
		return Backups{}, fmt.Errorf("list backups in namespace %s: %w", namespace, err)
	}
	return all, nil
}

// RecordTime records in an annotation of a Backup when something was found of it. A zero time removes the record. It fails
// where somebody has deleted the Backup, also if there is a new one with the same name.
func RecordTime(ctx context.Context, dyn dynamic.Interface, b *v1alpha1.Backup, annotation string, at time.Time) error {
	value := "null"
	if !at.IsZero() {
		value = strconv.Quote(at.UTC().Format(time.RFC3339))
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%s}}}`, b.UID, annotation, value)
	_, err := dyn.Resource(Resource).Namespace(b.Namespace).Patch(ctx, b.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch backup %s: %w", b.Name, err)
	}
	return nil
}

// Delete deletes a Backup. A Backup of the same name that was made since is left.
func Delete(ctx context.Context, dyn dynamic.Interface, b *v1alpha1.Backup) error {
	err := dyn.Resource(Resource).Namespace(b.Namespace).Delete(ctx, b.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(b.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete backup %s: %w", b.Name, err)
	}
	return nil
}

// Record makes a Backup with its status, which is no subresource. A Backup of the name that says the same is from the same
// Job, whose command was killed before it could delete the Job.
func Record(ctx context.Context, dyn dynamic.Interface, b *v1alpha1.Backup) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return fmt.Errorf("write backup %s: %w", b.Name, err)
	}
	_, err = dyn.Resource(Resource).Namespace(b.Namespace).Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			err = fmt.Errorf("create backup %s: %w", b.Name, err)
		}
		return err
	}
	all, err := Of(ctx, dyn, b.Namespace)
	if err != nil {
		return err
	}
	for i := range all.Items {
		if is := &all.Items[i]; is.Name == b.Name && backup.IsOf(is, b.Status) {
			return nil
		}
	}
	return fmt.Errorf("there is another backup with the name %s, which says something else", b.Name)
}
