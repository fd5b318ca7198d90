package e2e

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// stage is the node, with the plugin aimed at one namespace of it.
type stage struct {
	*node.Node
	plugin plugin.Plugin
	pods   *dial.Pods
	sql    workload.Service
}

// in is the same node and plugin, aimed at another namespace.
func (s stage) in(namespace string) stage {
	s.plugin.Namespace, s.sql.Namespace = namespace, namespace
	return s
}

// newStage makes a namespace of its own for a test, which may then run beside
// others. When the test has ended the namespace is deleted, and with it the
// cluster: it is not worth a test to wait for a proper end of each.
func newStage(t *testing.T, namespace string) stage {
	t.Helper()
	s := world.in(namespace)
	if err := s.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.tell(t)
		}
		s.remove(t)
	})
	s.init(t)
	return s
}

// defined guards what is done once for all tests.
var defined sync.Mutex

// init has TidbClusters defined, once: it keeps the API server busy for seconds.
func (s stage) init(t *testing.T) {
	t.Helper()
	defined.Lock()
	defer defined.Unlock()
	if !s.knowsTidbClusters(t) {
		s.tidb(t, 0, "init")
	}
}

func (s stage) make(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.plugin.Namespace, Labels: map[string]string{mark: "yes"}}}
	_, err := s.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// apply makes the cluster that a spec asks for.
func (s stage) apply(t *testing.T, spec string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), cluster+".yaml")
	if err := os.WriteFile(file, []byte(manifest(spec)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tidb(t, 0, "apply", "-f", file)
}

// tell shows what a failed test has left.
func (s stage) tell(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	for _, args := range [][]string{
		{"-n", s.plugin.Namespace, "get", "pods", "-o", "wide"},
		{"-n", s.plugin.Namespace, "get", "configmap", cluster + "-ledger", "-o", "yaml", "--ignore-not-found"},
	} {
		out, err := s.Kubectl(ctx, "", args...)
		t.Logf("kubectl %v (%v):\n%s", args, err, out)
	}
	r := s.plugin.Run(ctx, nil, "status", cluster)
	t.Logf("status: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
}

// remove deletes the namespace. That takes half a minute, for which only the end of
// all tests waits.
func (s stage) remove(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if _, err := s.Kubectl(ctx, "", "delete", "namespace", s.plugin.Namespace, "--wait=false"); err != nil {
		t.Error(err)
	}
}

// mark is the label of the namespaces that tests make.
const mark = "kubectl-tidb-e2e"

// clear deletes what tests have made, also those of an earlier run that was killed.
func (s stage) clear(ctx context.Context) error {
	_, err := s.Kubectl(ctx, "", "delete", "namespace", "-l", mark, "--timeout="+patience.String())
	return err
}

// clusters are the TidbClusters as the API server has them.
func (s stage) clusters() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(s.Config).Resource(tidbclusters).Namespace(s.plugin.Namespace)
}
