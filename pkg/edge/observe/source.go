package observe

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Source provides the Kubernetes objects of an observation: from the API server, or
// from a copy that may be behind by a moment. The objects may be shared with others
// and must not be changed.
type Source interface {
	// Intent returns the TidbCluster.
	Intent(ctx context.Context) (*v1alpha1.TidbCluster, error)
	// Objects returns all objects that belong to the cluster, in any order.
	Objects(ctx context.Context, c topology.Cluster) (Objects, error)
}

// Objects are the Kubernetes objects of one cluster.
type Objects struct {
	Services   []*corev1.Service
	ConfigMaps []*corev1.ConfigMap
	Sets       []*appsv1.StatefulSet
	Pods       []*corev1.Pod
	Claims     []*corev1.PersistentVolumeClaim
	// Ledger has the records of what we did in PD, nil when there are none.
	Ledger *corev1.ConfigMap
	// Discovery is true if the cluster has tidb-operator's discovery server.
	Discovery bool
}

// live reads from the API server.
type live struct {
	kube   kubernetes.Interface
	intent func(context.Context) (*v1alpha1.TidbCluster, error)
}

func (l live) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) { return l.intent(ctx) }

// Objects sends all requests at the same time: over a slow connection, a user
// mostly waits for round trips.
func (l live) Objects(ctx context.Context, c topology.Cluster) (Objects, error) {
	var got Objects
	opts := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()}
	core, apps := l.kube.CoreV1(), l.kube.AppsV1()
	all, ctx := errgroup.WithContext(ctx)
	read := func(what string, f func() error) {
		all.Go(func() error {
			if err := f(); err != nil {
				return fmt.Errorf("read %s of cluster %s/%s: %w", what, c.Namespace, c.Name, err)
			}
			return nil
		})
	}
	read("services", func() error {
		list, err := core.Services(c.Namespace).List(ctx, opts)
		if err == nil {
			got.Services = pointers(list.Items)
		}
		return err
	})
	read("configmaps", func() error {
		list, err := core.ConfigMaps(c.Namespace).List(ctx, opts)
		if err == nil {
			got.ConfigMaps = pointers(list.Items)
		}
		return err
	})
	read("statefulsets", func() error {
		list, err := apps.StatefulSets(c.Namespace).List(ctx, opts)
		if err == nil {
			got.Sets = pointers(list.Items)
		}
		return err
	})
	read("pods", func() error {
		list, err := core.Pods(c.Namespace).List(ctx, opts)
		if err == nil {
			got.Pods = pointers(list.Items)
		}
		return err
	})
	read("persistentvolumeclaims", func() error {
		list, err := core.PersistentVolumeClaims(c.Namespace).List(ctx, opts)
		if err == nil {
			got.Claims = pointers(list.Items)
		}
		return err
	})
	read("ledger", func() (err error) {
		got.Ledger, err = core.ConfigMaps(c.Namespace).Get(ctx, c.LedgerMap(), metav1.GetOptions{})
		return ignoreNotFound(err)
	})
	read("discovery deployment", func() error {
		_, err := apps.Deployments(c.Namespace).Get(ctx, c.BootstrapMap(), metav1.GetOptions{})
		got.Discovery = err == nil
		return ignoreNotFound(err)
	})
	return got, all.Wait()
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
