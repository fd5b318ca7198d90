package bundle

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// logLines is how many lines of each log are in the archive.
const logLines = 500

// Cluster is where a cluster is read from.
type Cluster struct {
	Kube kubernetes.Interface
	// PD is nil where it could not be asked.
	PD pd.Client
	topology.Cluster
	// HasAdvanced is true if the StatefulSets that it was observed with are AdvancedStatefulSets.
	HasAdvanced bool
	TidbCluster *v1alpha1.TidbCluster
	// Certificates are the Secrets with certificates that were read.
	Certificates map[string]certificate.Secret
}

// Collect adds what Kubernetes and PD say of a cluster. The Secrets come first, so that their values
// are in no file.
func (b *Bundle) Collect(ctx context.Context, c Cluster) {
	b.secrets(ctx, c)
	b.Object("tidbcluster.yaml", c.TidbCluster, nil)
	own := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()}
	native, err := c.Kube.AppsV1().StatefulSets(c.Namespace).List(ctx, own)
	b.Object("statefulsets.yaml", native, err)
	if c.HasAdvanced {
		advanced, err := sets.Of(c.Kube, c.Namespace, true).List(ctx, own)
		b.Object("advancedstatefulsets.yaml", advanced, err)
	}
	services, err := c.Kube.CoreV1().Services(c.Namespace).List(ctx, own)
	b.Object("services.yaml", services, err)
	configs, err := c.Kube.CoreV1().ConfigMaps(c.Namespace).List(ctx, own)
	b.Object("configmaps.yaml", configs, err)
	claims, err := c.Kube.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, own)
	b.Object("persistentvolumeclaims.yaml", claims, err)
	pods, err := c.Kube.CoreV1().Pods(c.Namespace).List(ctx, own)
	b.Object("pods.yaml", pods, err)
	b.events(ctx, c)
	b.pd(ctx, c.PD)
	if err == nil {
		b.logs(ctx, c, pods.Items)
	}
}

// secret is what is said of a Secret.
type secret struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Keys []string `json:"keys"`
	// NotAfter is the end of its certificate.
	NotAfter time.Time `json:"notAfter,omitzero"`
}

// secrets adds the names and keys of the Secrets of the cluster, and hides their values.
func (b *Bundle) secrets(ctx context.Context, c Cluster) {
	names := slices.Sorted(maps.Keys(c.Certificates))
	all := []secret{}
	for _, name := range append(names, c.InitSecret()) {
		got, err := c.Kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			b.Lack("secret "+name, err)
			continue
		}
		b.Hide(got.Data)
		s := secret{Name: name, Type: string(got.Type), Keys: slices.Sorted(maps.Keys(got.Data))}
		if cert := c.Certificates[name]; cert.Leaf != nil {
			s.NotAfter = cert.Leaf.NotAfter.UTC()
		}
		all = append(all, s)
	}
	b.JSON("secrets.json", all, nil)
}

// events adds those about objects whose names begin as those of the cluster's do.
func (b *Bundle) events(ctx context.Context, c Cluster) {
	list, err := c.Kube.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		list.Items = slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name != c.Name && !strings.Contains(e.InvolvedObject.Name, c.Name+"-")
		})
	}
	b.Object("events.yaml", list, err)
}

// pd adds what PD says. Each answer may fail by itself.
func (b *Bundle) pd(ctx context.Context, client pd.Client) {
	if client == nil {
		b.Lack("pd", errors.New("no member of PD is known"))
		return
	}
	members, err := client.Members(ctx)
	b.JSON("pd/members.json", members, err)
	health, err := client.Health(ctx)
	b.JSON("pd/health.json", health, err)
	stores, err := client.Stores(ctx)
	b.JSON("pd/stores.json", stores, err)
	schedulers, err := client.Schedulers(ctx)
	b.JSON("pd/schedulers.json", schedulers, err)
	evicted, err := client.EvictLeaderStores(ctx)
	b.JSON("pd/evict-leader-stores.json", evicted, err)
	replication, err := client.ReplicationConfig(ctx)
	b.JSON("pd/replication.json", replication, err)
	rules, err := client.PlacementRules(ctx)
	b.JSON("pd/placement-rules.json", rules, err)
}

// logs adds those of pods that are not ready, of each container, now and before its last restart.
func (b *Bundle) logs(ctx context.Context, c Cluster, pods []corev1.Pod) {
	for _, pod := range pods {
		if state.Ready(&pod) {
			continue
		}
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			name := "logs/" + pod.Name + "/" + s.Name
			if s.State.Waiting == nil || s.RestartCount > 0 {
				b.log(ctx, c, pod.Name, s.Name, name+".log", false)
			}
			if s.RestartCount > 0 {
				b.log(ctx, c, pod.Name, s.Name, name+".previous.log", true)
			}
		}
	}
}

func (b *Bundle) log(ctx context.Context, c Cluster, pod, container, file string, previous bool) {
	lines := int64(logLines)
	b.Read(file, func() (io.ReadCloser, error) {
		return c.Kube.CoreV1().Pods(c.Namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container, TailLines: &lines, Previous: previous}).Stream(ctx)
	})
}
