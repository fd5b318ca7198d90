package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

// reviewsAtOnce is how many permissions are checked at the same time.
const reviewsAtOnce = 8

// Check fails where the daemon cannot do its work in its scope. Where Kubernetes does not know TidbClusters, the
// error is a *intent.NoResourceError. Where the daemon lacks required permissions, it is a Forbidden that names
// them. So a daemon fails when it starts, not in the middle of a change.
func Check(ctx context.Context, kube kubernetes.Interface, scope Scope) error {
	if _, err := kube.Discovery().ServerResourcesForGroupVersion(intent.Resource.GroupVersion().String()); apierrors.IsNotFound(err) {
		return intent.NoResource(err)
	}
	var all errgroup.Group
	all.SetLimit(reviewsAtOnce)
	var mu sync.Mutex
	var missing []string
	for _, r := range rbac.Rights(rbac.Driver) {
		// For a subresource one verb of several may be enough, and a call of PD
		// that is forbidden says so itself.
		if r.Scope != rbac.Namespace || r.Without != "" || strings.Contains(r.Resource, "/") {
			continue
		}
		for _, verb := range r.Verbs {
			all.Go(func() error {
				may, err := allowed(ctx, kube, scope, r, verb)
				if err == nil && !may {
					mu.Lock()
					defer mu.Unlock()
					missing = append(missing, verb+" "+schema.GroupResource{Group: r.Group, Resource: r.Resource}.String())
				}
				return err
			})
		}
	}
	if err := all.Wait(); err != nil {
		return fmt.Errorf("find out about permissions: %w", err)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return apierrors.NewForbidden(intent.Resource.GroupResource(), scope.Name, errors.New(
		"to keep clusters converged in "+scope.String()+" these permissions are missing: "+strings.Join(missing, ", ")+
			`; see "kubectl tidb daemon manifest", which grants them`))
}

func allowed(ctx context.Context, kube kubernetes.Interface, scope Scope, r rbac.Right, verb string) (bool, error) {
	answer, err := kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: scope.Namespace, Verb: verb, Group: r.Group, Resource: r.Resource,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
