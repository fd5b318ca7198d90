package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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

// environment is the node, with the plugin for one namespace of it.
type environment struct {
	*node.Node
	plugin plugin.Plugin
	pods   *dial.Pods
	sql    workload.Service
	slow   *slowWaits
	failed *failedCommands
}

// in returns the same node and plugin, for another namespace.
func (s environment) in(namespace string) environment {
	s.plugin.Namespace, s.sql.Namespace = namespace, namespace
	return s
}

// newEnvironment creates a namespace for a test, so that it can run at the same time as others.
// After the test the namespace is deleted with the cluster.
func newEnvironment(t *testing.T, namespace string) environment {
	t.Helper()
	return shared.ready(t, namespace)
}

// ready does that on one of several nodes.
func (s environment) ready(t *testing.T, namespace string) environment {
	t.Helper()
	s = s.in(namespace)
	if err := s.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.slow, s.failed = &slowWaits{}, &failedCommands{}
	t.Cleanup(func() {
		if t.Failed() {
			s.logState(t)
		}
		s.logCrashes(t)
		s.slow.log(t)
		s.failed.log(t)
		s.remove(t)
	})
	s.init(t)
	return s
}

// defined guards what is done once for all tests.
var defined sync.Mutex

// init installs the definition of TidbCluster, once, since that keeps the API server busy for
// seconds.
func (s environment) init(t *testing.T) {
	t.Helper()
	defined.Lock()
	defer defined.Unlock()
	if !s.knowsTidbClusters(t) {
		s.tidb(t, 0, "init")
	}
}

func (s environment) make(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.plugin.Namespace, Labels: map[string]string{mark: "yes"}}}
	_, err := s.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// apply applies a spec and waits for the cluster.
func (s environment) apply(t *testing.T, spec string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), cluster+".yaml")
	if err := os.WriteFile(file, []byte(manifest(spec)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tidb(t, 0, "apply", "-f", file)
}

// logState logs the state of the cluster after a test has failed.
func (s environment) logState(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	for _, args := range [][]string{
		{"-n", s.plugin.Namespace, "get", "pods", "-o", "wide"},
		{"-n", s.plugin.Namespace, "get", "configmap", cluster + "-ledger", "-o", "yaml", "--ignore-not-found"},
	} {
		out, err := s.Kubectl(ctx, "", args...)
		t.Logf("kubectl %v (%v):\n%s", args, err, out)
	}
	for _, args := range [][]string{{"list"}, {"status", cluster, "-o", "yaml"}} {
		r := s.plugin.Run(ctx, nil, args...)
		t.Logf("%v: exit %d\n%s%s", args, r.Code, r.Stdout, r.Stderr)
	}
}

// largeHeap is what a store of the node writes when it ends because of its memory. The test may pass all the same,
// since Kubernetes starts the store again, but the cause is to be found.
const largeHeap = "the store uses too much memory"

// logCrashes logs the last lines of each container that was started again: after a test that failed, and of a store
// that used too much memory.
func (s environment) logCrashes(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	pods, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount == 0 {
				continue
			}
			out, err := s.Kubectl(ctx, "", "-n", pod.Namespace, "logs", pod.Name, "-c", c.Name, "--previous", "--tail=1000")
			if !t.Failed() && !strings.Contains(out, largeHeap) {
				continue
			}
			t.Logf("%s of %s, restarted %d times, before (%v):\n%s", c.Name, pod.Name, c.RestartCount, err, out)
			s.failed.noteCrash(c.Name+" of "+pod.Name, out)
		}
	}
}

// remove deletes the namespace. That takes half a minute, for which only the end of
// all tests waits.
func (s environment) remove(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if _, err := s.Kubectl(ctx, "", "delete", "namespace", s.plugin.Namespace, "--wait=false"); err != nil {
		t.Error(err)
	}
}

// mark is the label of the namespaces that tests create.
const mark = "kubectl-tidb-e2e"

// clear deletes the namespaces of tests, also those of an earlier run that was killed.
func (s environment) clear(ctx context.Context) error {
	_, err := s.Kubectl(ctx, "", "delete", "namespace", "-l", mark, "--timeout="+patience.String())
	return err
}

// clusters are the TidbClusters as the API server has them.
func (s environment) clusters() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(s.Config).Resource(tidbclusters).Namespace(s.plugin.Namespace)
}
