package act

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// PruneClaim deletes a claim that a person wants to lose. A claim of another version than the one that was read is
// not deleted, because it may belong to a member again.
func PruneClaim(ctx context.Context, kube kubernetes.Interface, namespace string, c step.Claim, version string) error {
	live := &metav1.ObjectMeta{Name: c.Name, UID: types.UID(c.UID), ResourceVersion: version}
	_, err := deleteObject(ctx, kube.CoreV1().PersistentVolumeClaims(namespace), toDelete{object: "persistentvolumeclaim " + c.Name, live: live, unchanged: true})
	return err
}
