package remove

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// remains is what is left of a cluster after its TidbCluster was deleted.
type remains struct {
	kube    kubernetes.Interface
	meta    metadata.Interface
	cluster topology.Cluster
	say     func(string) // shows what is awaited
}

func (r remains) ownObjects() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(r.cluster.Selector()).String()}
}

func (r remains) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := r.kube.CoreV1().Pods(r.cluster.Namespace).List(ctx, r.ownObjects())
	if err != nil {
		return nil, fmt.Errorf("list pods of cluster %s/%s: %w", r.cluster.Namespace, r.cluster.Name, err)
	}
	return list.Items, nil
}

func (r remains) claims(ctx context.Context) ([]corev1.PersistentVolumeClaim, error) {
	list, err := r.kube.CoreV1().PersistentVolumeClaims(r.cluster.Namespace).List(ctx, r.ownObjects())
	if err != nil {
		return nil, fmt.Errorf("list claims of cluster %s/%s: %w", r.cluster.Namespace, r.cluster.Name, err)
	}
	return list.Items, nil
}

// retain is the part of a StatefulSet with which Kubernetes keeps its claims.
const retain = `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`

// keepsData refuses if data that is to stay would be deleted. With that retention policy Kubernetes deletes the
// claims of a StatefulSet together with the StatefulSet.
func (r remains) keepsData(ctx context.Context) error {
	list, err := r.kube.AppsV1().StatefulSets(r.cluster.Namespace).List(ctx, r.ownObjects())
	if err != nil {
		return fmt.Errorf("list statefulsets of cluster %s/%s: %w", r.cluster.Namespace, r.cluster.Name, err)
	}
	for _, set := range list.Items {
		p := set.Spec.PersistentVolumeClaimRetentionPolicy
		if p != nil && p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			return remedy.For(
				exit.Refusef("statefulset %s has persistentVolumeClaimRetentionPolicy.whenDeleted: Delete, so Kubernetes would delete the data as well", set.Name),
				remedy.Run("have Kubernetes keep the data", r.cluster.Kubectl("patch", "statefulset", set.Name, "--type", "merge", "-p", retain)),
				remedy.Say("give --delete-pvcs, if the data is to be deleted"))
		}
	}
	return nil
}

// waitForPods waits until the last pod has stopped.
func (r remains) waitForPods(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	nudges := observe.Watch(watch, r.meta, r.cluster)
	left := "its pods are"
	for {
		pods, err := r.pods(ctx)
		switch {
		case err != nil:
		case len(pods) == 0:
			return nil
		case len(pods) == 1:
			left = "pod " + pods[0].Name + " is"
		default:
			left = count(len(pods), "pod") + " are"
		}
		r.say(fmt.Sprintf("deleting cluster %s/%s: %s left", r.cluster.Namespace, r.cluster.Name, left))
		switch {
		case ctx.Err() != nil:
			return stopped(ctx, left)
		case err != nil:
			return err
		}
		select {
		case <-nudges:
		case <-time.After(5 * time.Second): // in case a change is missed
		case <-ctx.Done():
			return stopped(ctx, left)
		}
	}
}

// stopped returns the error of a run that does not wait any longer: the deletion continues without
// it.
func stopped(ctx context.Context, left string) error {
	cause := context.Cause(ctx)
	what := "interrupted"
	if errors.Is(cause, exit.ErrTimedOut) {
		what = "timed out"
	}
	return exit.With(exit.Of(cause), fmt.Errorf("%s: the deletion goes on, %s left; the same command waits for the rest", what, left))
}

// deleteClaims deletes exactly these claims, and no claims that were created with the same names since.
func (r remains) deleteClaims(ctx context.Context, claims []corev1.PersistentVolumeClaim) error {
	for _, claim := range claims {
		err := r.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Delete(ctx, claim.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(claim.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete claim %s: %w", claim.Name, err)
		}
	}
	return nil
}
