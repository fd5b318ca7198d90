package observe

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// Source provides the Kubernetes objects of an observation. They are from the API server, or from a copy that may be
// behind by a moment. The objects may be shared with others and must not be changed.
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
	Sets       []*appsv1.StatefulSet // of both kinds
	Pods       []*corev1.Pod
	Claims     []*corev1.PersistentVolumeClaim
	// PD are the pods of PD of the part that has it, for a part that has none.
	PD []*corev1.Pod
	// Ledger has the records of what we did in PD, nil when there are none.
	Ledger *corev1.ConfigMap
	// Advanced is true if the pods of the cluster are those of AdvancedStatefulSets.
	Advanced bool
	// Discovery is true if the cluster has tidb-operator's discovery server.
	Discovery bool
}

// versions are equal for two reads between which nothing has changed.
func (o Objects) versions() []string {
	all := []string{strconv.FormatBool(o.Discovery)}
	if o.Ledger != nil {
		all = append(all, "ledger "+version(o.Ledger))
	}
	all = appendVersions(all, o.Services)
	all = appendVersions(all, o.ConfigMaps)
	all = appendVersions(all, o.Sets)
	all = appendVersions(all, o.Pods)
	all = appendVersions(all, o.PD)
	return appendVersions(all, o.Claims)
}

func appendVersions[T metav1.Object](all []string, objects []T) []string {
	first := len(all)
	for _, o := range objects {
		all = append(all, version(o))
	}
	slices.Sort(all[first:])
	return append(all, "") // so that no object counts for the next kind
}

func version(o metav1.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }

// live reads from the API server.
type live struct {
	kube   kubernetes.Interface
	intent func(context.Context) (*v1alpha1.TidbCluster, error)
}

// part is what one request reads of the objects of a cluster.
type part struct {
	what string
	read func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error
}

var parts = []part{
	{"services", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		list, err := kube.CoreV1().Services(c.Namespace).List(ctx, ownedBy(c))
		if err == nil {
			into.Services = pointers(list.Items)
		}
		return err
	}},
	{"configmaps", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		list, err := kube.CoreV1().ConfigMaps(c.Namespace).List(ctx, ownedBy(c))
		if err == nil {
			into.ConfigMaps = pointers(list.Items)
		}
		return err
	}},
	{"statefulsets", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		list, err := kube.AppsV1().StatefulSets(c.Namespace).List(ctx, ownedBy(c))
		if err != nil {
			return err
		}
		into.Sets = pointers(list.Items)
		if into.Advanced { // it was found before, and these are read again
			found, err := ReadAdvanced(ctx, kube, c)
			into.Sets = append(into.Sets, found...)
			return err
		}
		return nil
	}},
	{"pods", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		list, err := kube.CoreV1().Pods(c.Namespace).List(ctx, ownedBy(c))
		if err == nil {
			into.Pods = pointers(list.Items)
		}
		return err
	}},
	{"pods of PD", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) (err error) {
		into.PD, err = OtherPD(ctx, kube, c)
		return err
	}},
	{"persistentvolumeclaims", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		list, err := kube.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, ownedBy(c))
		if err == nil {
			into.Claims = pointers(list.Items)
		}
		return err
	}},
	{"ledger", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) (err error) {
		into.Ledger, err = kube.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.LedgerMap(), metav1.GetOptions{})
		if err != nil {
			into.Ledger = nil
		}
		return ignoreNotFound(err)
	}},
	{"discovery deployment", func(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, into *Objects) error {
		_, err := kube.AppsV1().Deployments(c.Namespace).Get(ctx, c.BootstrapMap(), metav1.GetOptions{})
		into.Discovery = err == nil
		return ignoreNotFound(err)
	}},
}

// OtherPD reads the pods of PD of the part that has it, for a part that has none. Else it reads nothing.
func OtherPD(ctx context.Context, kube kubernetes.Interface, c topology.Cluster) ([]*corev1.Pod, error) {
	if !c.UsesOtherPD() {
		return nil, nil
	}
	of := c.PDPart()
	list, err := kube.CoreV1().Pods(of.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(of.Labels(topology.PD)).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("cluster %s, which this part joins: %w", c.Joined, err)
	}
	return pointers(list.Items), nil
}

func ownedBy(c topology.Cluster) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()}
}

func (l live) Intent(ctx context.Context) (*v1alpha1.TidbCluster, error) { return l.intent(ctx) }

// Objects sends all requests at the same time: over a slow connection, a user
// mostly waits for round trips.
func (l live) Objects(ctx context.Context, c topology.Cluster) (Objects, error) {
	var got Objects
	all, reading := errgroup.WithContext(ctx)
	for n := range parts {
		all.Go(func() error { return l.Part(reading, c, n, &got) })
	}
	if err := all.Wait(); err != nil {
		return got, err
	}
	served := func() (bool, error) { return sets.Served(l.kube) }
	err := got.FindAdvanced(c, served, func() ([]*appsv1.StatefulSet, error) { return ReadAdvanced(ctx, l.kube, c) })
	if err != nil {
		return got, fmt.Errorf("read %s of cluster %s/%s: %w", sets.Resource.GroupResource(), c.Namespace, c.Name, err)
	}
	return got, nil
}

// Part implements partial.
func (l live) Part(ctx context.Context, c topology.Cluster, n int, into *Objects) error {
	if err := parts[n].read(ctx, l.kube, c, into); err != nil {
		return fmt.Errorf("read %s of cluster %s/%s: %w", parts[n].what, c.Namespace, c.Name, err)
	}
	return nil
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
