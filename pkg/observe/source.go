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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Source is where the Kubernetes half of an observation comes from: the API
// server, or a copy of what it holds that may be behind by a moment. What it
// returns may be shared with others and is not changed.
type Source interface {
	// Intent is the TidbCluster as it is written.
	Intent(ctx context.Context) (*v1alpha1.TidbCluster, error)
	// Objects are all that belong to the cluster, sorted or not.
	Objects(ctx context.Context, c topology.Cluster) (Objects, error)
}

// Objects are the Kubernetes objects of one cluster.
type Objects struct {
	Services   []*corev1.Service
	ConfigMaps []*corev1.ConfigMap
	Sets       []*appsv1.StatefulSet
	Pods       []*corev1.Pod
	Claims     []*corev1.PersistentVolumeClaim
	// Ledger is what was recorded of temporary state in PD, nil when nothing is.
	Ledger *corev1.ConfigMap
	// Discovery: the cluster has tidb-operator's discovery server.
	Discovery bool
}

// live is the API server itself.
type live struct {
	kube   kubernetes.Interface
	intent func(context.Context) (*v1alpha1.TidbCluster, error)
}

func (l live) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) { return l.intent(ctx) }

// Objects reads everything at once: over a slow line, round trips one after
// another are what a user waits for.
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
