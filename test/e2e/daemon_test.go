package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	home       = "e2e-daemon" // the daemon's namespace
	daemonPods = "app.kubernetes.io/component=daemon"
	// takeover is more than the time of a lease, what it takes to notice that it is
	// over, and as much again for a container that Kubernetes starts again before its
	// pod is gone, and that takes the lease for a moment.
	takeover = time.Minute
	// patience bounds what has no bound that is promised.
	patience = 5 * time.Minute
)

// wanted is what a user of the daemon writes, and nothing else.
const wanted = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: ` + cluster + `, namespace: ` + namespace + `}
spec:
  version: ` + from + `
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}
  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}, service: {type: ClusterIP}}
`

// TestDaemon: the plugin keeps a cluster converged from its image, with the
// rights that its manifest grants, while a user knows nothing but kubectl.
func TestDaemon(t *testing.T) {
	if !shared.Local() {
		t.Skip("SKIPPED: only the local node can be given an image without a registry")
	}
	image, err := shared.LoadPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shared.tidb(t, 0, "init")
	if shared.plugin.Run(t.Context(), nil, "status", cluster).Code == 0 {
		shared.tidb(t, 0, "delete", cluster, "--delete-pvcs", "--yes")
	}
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	install(t, image)
	step("create", func(t *testing.T) {
		kubectl(t, wanted, "apply", "-f", "-")
		awaitReady(t)
		shared.wantConverged(t, 3, 3, 1, from)
	})
	step("scale", func(t *testing.T) {
		shared.patchCluster(t, `{"spec":{"tikv":{"replicas":4},"tidb":{"replicas":2}}}`)
		awaitReady(t)
		shared.wantConverged(t, 3, 4, 2, from)
	})
	step("upgrade, and a replica dies on the way", func(t *testing.T) {
		shared.patchCluster(t, `{"spec":{"version":"`+to+`"}}`)
		awaitEviction(t)
		dead := driver(t)
		if dead == "" {
			t.Fatal("the cluster has no driver, though leaders are evicted")
		}
		// Who is deleted, even by force, is asked to end, and would tidy up.
		if err := shared.Crash(t.Context(), home, dead); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		kubectl(t, "", "-n", home, "delete", "pod", dead, "--force", "--grace-period=0")
		t.Logf("%s has died, and after %v %s drives the cluster", dead, awaitOther(t, dead, begun), driver(t))
		awaitReady(t)
		shared.wantConverged(t, 3, 4, 2, to)
	})
	step("a command beside it", commanded)
	step("the API server is away", daemonOutage)
	step("nothing was restarted", wantDaemonsWell)
	step("delete", func(t *testing.T) {
		kubectl(t, "", "-n", namespace, "delete", "tidbcluster", cluster, "--timeout="+patience.String())
		of := "app.kubernetes.io/instance=" + cluster
		awaitNoPods(t, namespace, of)
		kubectl(t, "", "-n", namespace, "delete", "pvc", "-l", of, "--timeout="+patience.String())
	})
}

// commanded: a command whose wishes the daemon cannot know is given way to in the
// middle of what the daemon does, one that does not wait leaves its change to the daemon, and one
// without such wishes looks on or is first.
func commanded(t *testing.T) {
	shared.patchCluster(t, `{"spec":{"tikv":{"replicas":3}}}`)
	poll(t, takeover, "a daemon begins to scale in", func(context.Context) bool { return driver(t) != "" })
	if out := shared.tidb(t, 0, "sync", cluster, "--evict-timeout", "10m").Stderr; strings.Contains(out, "following, making no changes") {
		t.Errorf("the command was not given way to:\n%s", out)
	}
	shared.wantConverged(t, 3, 3, 2, to)
	if out := shared.tidb(t, 0, "scale", cluster, "tidb=3", "--wait=false").Stderr; !strings.Contains(out, "drives the cluster, and does what was asked for") {
		t.Errorf("it is not said who scales out:\n%s", out)
	}
	shared.tidb(t, 0, "status", cluster, "--for=converged", "--timeout", patience.String())
	shared.wantConverged(t, 3, 3, 3, to)
	shared.tidb(t, 0, "scale", cluster, "tidb=1")
	awaitReady(t)
	shared.wantConverged(t, 3, 3, 1, to)
}

// install runs the daemon, where pods that are not restricted are refused.
func install(t *testing.T, image string) {
	t.Helper()
	admin := shared.plugin
	admin.Namespace = home
	manifest := func(args ...string) string {
		r := admin.Run(t.Context(), nil, append([]string{"daemon", "manifest", "--image", image}, args...)...)
		if r.Code != 0 {
			t.Fatalf("daemon manifest %v: exit code %d: %s", args, r.Code, r.Stderr)
		}
		return r.Stdout
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := shared.Kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// Only its words are tested of the other kind: the API server takes them.
	kubectl(t, manifest(), "apply", "--dry-run=server", "--validate=strict", "-f", "-")
	all := manifest("-A")
	t.Cleanup(func() { uninstall(t, all) })
	kubectl(t, all, "apply", "--validate=strict", "-f", "-")
	kubectl(t, "", "-n", home, "rollout", "status", "deployment/kubectl-tidb", "--timeout="+patience.String())
	// So whatever it knows of PD it knows from PD, not by way of the API server.
	out, _ := shared.Kubectl(t.Context(), "", "auth", "can-i", "create", "pods/portforward", "-A", "--as=system:serviceaccount:"+home+":kubectl-tidb")
	if strings.TrimSpace(out) != "no" {
		t.Errorf("may the daemon forward ports? %s", out)
	}
}

// uninstall leaves nothing of the daemon, and shows what it said if the test has
// failed.
func uninstall(t *testing.T, manifest string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if t.Failed() {
		out, err := shared.Kubectl(ctx, "", "-n", home, "logs", "-l", daemonPods, "--prefix", "--tail=100")
		t.Logf("the daemons said (%v):\n%s", err, out)
	}
	for _, args := range [][]string{
		{"delete", "--ignore-not-found", "-f", "-"},
		{"delete", "namespace", home, "--ignore-not-found", "--timeout=" + patience.String()}, // waits for the pods
	} {
		if _, err := shared.Kubectl(ctx, manifest, args...); err != nil {
			t.Error(err)
		}
	}
}

// awaitReady waits as a user does, who has changed the TidbCluster.
func awaitReady(t *testing.T) {
	t.Helper()
	begun := time.Now()
	kubectl(t, "", "-n", namespace, "wait", "tidbcluster/"+cluster, "--for=condition=Ready", "--timeout="+patience.String())
	t.Logf("Ready after %v", time.Since(begun).Round(time.Second/10))
}

func (s environment) patchCluster(t *testing.T, patch string) {
	t.Helper()
	if _, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "patch", "tidbcluster", cluster, "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

// awaitEviction waits until PD moves leaders away from a store: the moment at
// which a driver that dies leaves something behind.
func awaitEviction(t *testing.T) {
	t.Helper()
	client := shared.pdClient()
	defer client.Close()
	poll(t, patience, "leaders are evicted", func(ctx context.Context) bool {
		stores, err := client.EvictLeaderStores(ctx)
		return err == nil && len(stores) > 0
	})
}

// driver is the pod that holds the cluster's lease.
func driver(t *testing.T) string {
	t.Helper()
	l, err := shared.Kube.CoordinationV1().Leases(namespace).Get(t.Context(), cluster+"-kubectl-tidb", metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	// As in kubectl-tidb@pod/1/4711/3f2a9c1e.
	_, at, _ := strings.Cut(*l.Spec.HolderIdentity, "@")
	pod, _, _ := strings.Cut(at, "/")
	return pod
}

// awaitOther waits until another pod drives the cluster, and says how long that took.
func awaitOther(t *testing.T, dead string, begun time.Time) time.Duration {
	t.Helper()
	poll(t, takeover, "another replica drives the cluster", func(context.Context) bool {
		d := driver(t)
		return d != "" && d != dead
	})
	return time.Since(begun).Round(time.Second / 10)
}

// wantDaemonsWell asserts that there are two pods, ready, none of which had to be
// restarted.
func wantDaemonsWell(t *testing.T) {
	kubectl(t, "", "-n", home, "rollout", "status", "deployment/kubectl-tidb", "--timeout="+patience.String())
	pods, err := shared.Kube.CoreV1().Pods(home).List(t.Context(), metav1.ListOptions{LabelSelector: daemonPods})
	if err != nil {
		t.Fatal(err)
	}
	up := 0
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			continue
		}
		up++
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 || !c.Ready {
				t.Errorf("%s: ready %t, restarted %d times", p.Name, c.Ready, c.RestartCount)
			}
		}
	}
	if up != 2 {
		t.Errorf("%d replicas, want 2", up)
	}
}

// poll waits for a condition that must be checked again and again.
func poll(t *testing.T, limit time.Duration, what string, seen func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !seen(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", limit, what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func awaitNoPods(t *testing.T, namespace, selector string) {
	t.Helper()
	poll(t, patience, "no pods", func(ctx context.Context) bool {
		pods, err := shared.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err == nil && len(pods.Items) == 0
	})
}

// kubectl runs it and wants it to succeed.
func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := shared.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
