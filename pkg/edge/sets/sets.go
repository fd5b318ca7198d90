// Package sets reads and writes the StatefulSets of a cluster, which are those of Kubernetes or AdvancedStatefulSets. The
// code around it uses the type of Kubernetes for both kinds. An AdvancedStatefulSet has its API version in the object.
package sets

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Resource is the resource of AdvancedStatefulSets.
var Resource = schema.GroupVersionResource{Group: topology.AdvancedGroup, Version: "v1", Resource: "statefulsets"}

// Client reads and writes StatefulSets of one kind.
type Client interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.StatefulSet, error)
	List(ctx context.Context, opts metav1.ListOptions) (*appsv1.StatefulSetList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Create(ctx context.Context, set *appsv1.StatefulSet, opts metav1.CreateOptions) (*appsv1.StatefulSet, error)
	Update(ctx context.Context, set *appsv1.StatefulSet, opts metav1.UpdateOptions) (*appsv1.StatefulSet, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Of returns a client for the StatefulSets in a namespace, or with "" in all.
func Of(kube kubernetes.Interface, namespace string, advanced bool) Client {
	if advanced {
		return client{rest: kube.AppsV1().RESTClient(), namespace: namespace}
	}
	return kube.AppsV1().StatefulSets(namespace)
}

// Served reports whether the API server has AdvancedStatefulSets. Every user may ask that, also one who may not read them.
func Served(kube kubernetes.Interface) (bool, error) {
	_, err := kube.Discovery().ServerResourcesForGroupVersion(Resource.GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask the API server for %s: %w", Resource.GroupVersion(), err)
	}
	return true, nil
}

// Mark gives an object the API version of AdvancedStatefulSets, which an encoding may have left out.
func Mark(set *appsv1.StatefulSet) {
	set.TypeMeta = metav1.TypeMeta{APIVersion: Resource.GroupVersion().String(), Kind: "StatefulSet"}
}
