package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// spread is a cluster with one member of each component on each host.
const spread = `  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}]
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: "[replication]\nlocation-labels = [\"zone\", \"host\"]\n"}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}
  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}`

// TestHosts breaks whole hosts under a client that writes: a reboot during maintenance, drains, a crash in the middle of
// an upgrade, and a host that cannot be reached. It needs three hosts: make e2e-hosts.
func TestHosts(t *testing.T) {
	needsHosts(t)
	s := newEnvironment(t, "e2e-hosts")
	s.apply(t, spread)
	s.wantBudgets(t)
	db, err := s.sql.Open("hosts")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := workload.Start(context.WithoutCancel(t.Context()), db, "hosts", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"reboot during maintenance", s.rebootInMaintenance},
		{"drain of each host", s.drainEach},
		{"drain of two hosts", s.drainTwo},
		{"crash during an upgrade", s.crashDuringUpgrade},
		{"out of the plugin's reach", s.outOfReach},
		{"given up, and back", s.givenUp},
	} {
		t.Run(part.name, func(t *testing.T) {
			seen := s.watchMembers(t)
			part.test(t)
			seen.check(t)
		})
	}
	account := writer.Stop()
	t.Log("the client's account:", account, account.Stalls)
	if err := account.Verify(t.Context(), db, "hosts"); err != nil {
		t.Error(err)
	}
}

// needsHosts skips a test where there are not three hosts, in a zone each, that may break.
func needsHosts(t *testing.T) {
	t.Helper()
	nodes, err := shared.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) < 3 || !shared.Local() {
		t.Skip("SKIPPED: these tests need three hosts on the local node, which they may break: make e2e-hosts")
	}
}

// wantBudgets: a cluster that was applied has no PodDisruptionBudgets, and doctor makes them.
func (s environment) wantBudgets(t *testing.T) {
	t.Helper()
	s.plugin.Run(t.Context(), nil, "doctor", cluster, "--fix", "--yes")
	all, err := s.Kube.PolicyV1().PodDisruptionBudgets(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Items) != 3 {
		t.Fatalf("PodDisruptionBudgets: got %d, want 3", len(all.Items))
	}
}

// rebootInMaintenance: the host goes down and comes back while its members lead nothing. Another host is refused
// meanwhile.
func (s environment) rebootInMaintenance(t *testing.T) {
	s.tidb(t, 0, "maintenance", "start", "node1", "--dry-run", "--yes")
	s.tidb(t, 0, "maintenance", "start", "node1", "--yes")
	s.tidb(t, 3, "maintenance", "start", "node2", "--yes")
	s.host(t, "reboot", "node1")
	s.tidb(t, 0, "maintenance", "stop", "node1")
	s.converges(t)
}

// drainEach: a drain of one host after the other takes no quorum, because of the PodDisruptionBudgets.
func (s environment) drainEach(t *testing.T) {
	for _, host := range []string{"node0", "node1", "node2"} {
		s.host(t, "drain", host, "--timeout=240s")
		s.uncordon(t, host)
		s.converges(t)
	}
}

// drainTwo: of two drains at the same time the second one waits until the members of the first host serve again.
func (s environment) drainTwo(t *testing.T) {
	var drains sync.WaitGroup
	for _, host := range []string{"node1", "node2"} {
		drains.Go(func() { s.host(t, "drain", host, "--timeout=300s") })
	}
	s.eventually(t, "members of one host are evicted", func() bool { return len(s.pending(t)) > 0 })
	for _, host := range []string{"node1", "node2"} {
		s.uncordon(t, host)
	}
	drains.Wait()
	for _, host := range []string{"node1", "node2"} {
		s.uncordon(t, host)
	}
	s.converges(t)
}

// crashDuringUpgrade: a host is gone after the first store was restarted. The run restarts nothing meanwhile, names what
// is missing, and ends when the host is back.
func (s environment) crashDuringUpgrade(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	run := s.plugin.Start(ctx, "upgrade", cluster, to, "--yes", "-o", "json")
	defer run.Close()
	crashed, named := false, false
	for e, err := range run.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if !crashed && e.Type == event.Finished && strings.HasPrefix(e.Step, "restart basic-tikv") {
			s.host(t, "crash", "node2")
			crashed = true
			time.AfterFunc(40*time.Second, func() { s.host(t, "mend", "node2") })
		}
		if crashed {
			t.Logf("%s %s %s %s", e.Type, e.Step, e.Reason, text(e))
			named = named || strings.Contains(text(e), "basic-")
		}
	}
	if code := run.Wait(); code != 0 || !crashed || !named {
		t.Errorf("exit code %d, want 0; crashed: %t, named: %t", code, crashed, named)
	}
	s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: to})
}

// outOfReach: the API server reaches no process on a host, and the members there serve. Nothing is restarted, because the
// plugin cannot know what it would take away. Afterwards the same command goes on.
func (s environment) outOfReach(t *testing.T) {
	before := s.podUIDs(t)
	s.host(t, "cut", "node1", "from", "operator")
	r := s.plugin.Run(t.Context(), nil, "restart", cluster, "tikv", "--yes", "--timeout", "60s")
	if r.Code == 0 {
		t.Errorf("exit code 0 while a host could not be reached\n%s", r.Stdout)
	}
	t.Logf("exit %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	changed := 0
	for name, uid := range s.podUIDs(t) {
		if before[name] != uid {
			changed++
		}
	}
	if changed > 1 {
		t.Errorf("%d pods were replaced while a host could not be reached", changed)
	}
	s.host(t, "mend", "node1")
	s.tidb(t, 0, "sync", cluster)
	s.converges(t)
}

// givenUp: a host is lost, a person has its members replaced, and the host comes back. The replacements serve before that,
// as far as the other hosts have room for them, and leave again when the person asks for that.
func (s environment) givenUp(t *testing.T) {
	version := s.look(t).Members[0].Version
	s.host(t, "crash", "node2")
	s.eventually(t, "Kubernetes notices that node2 is lost", func() bool { return !s.nodeReady(t, "node2") })
	r := s.plugin.Run(t.Context(), nil, "failover", cluster, "run", "--now", "--yes", "--timeout", "2m")
	t.Logf("exit %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	up := 0
	for _, m := range s.look(t).Members {
		if m.Component == "tikv" && m.Up {
			up++
		}
	}
	if up < 3 {
		t.Errorf("%d stores serve while the host is lost, want 3", up)
	}
	s.host(t, "mend", "node2")
	s.tidb(t, 0, "sync", cluster)
	s.tidb(t, 0, "failover", cluster, "recover", "--yes")
	s.tidb(t, 0, "sync", cluster)
	s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: version})
}

func (s environment) nodeReady(t *testing.T, name string) bool {
	t.Helper()
	node, err := s.Kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// host has the node do something to a host.
func (s environment) host(t *testing.T, args ...string) {
	begun := time.Now()
	if err := s.Host(context.WithoutCancel(t.Context()), args...); err != nil {
		t.Errorf("%v: %v", args, err)
	}
	t.Logf("%v after %v", args, time.Since(begun).Round(100*time.Millisecond))
}

func (s environment) uncordon(t *testing.T, host string) {
	t.Helper()
	if _, err := s.Kubectl(t.Context(), "", "uncordon", host); err != nil {
		t.Fatal(err)
	}
}

// converges waits until all members serve again.
func (s environment) converges(t *testing.T) {
	t.Helper()
	s.tidb(t, 0, "wait", cluster, "--for", "converged", "--timeout", "5m")
}

// pending are the pods that have no node.
func (s environment) pending(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, p := range s.podsNow(t) {
		if p.Spec.NodeName == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

func (s environment) podsNow(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + cluster})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// eventually waits until something is so.
func (s environment) eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within two minutes", what)
		case <-tick.C:
		}
	}
}

// observed is what was seen of the members while a test ran.
type observed struct {
	stop func()
	mu   sync.Mutex
	// least are the fewest members of a component whose pods were Ready at the same time.
	least map[string]int
	at    map[string]string
}

// watchMembers looks at the pods of the cluster four times a second.
func (s environment) watchMembers(t *testing.T) *observed {
	t.Helper()
	o := &observed{least: map[string]int{}, at: map[string]string{}}
	o.stop = s.watchPods(t, "app.kubernetes.io/instance="+cluster, o.note)
	return o
}

// watchPods looks at pods four times a second until stop is called.
func (s environment) watchPods(t *testing.T, selector string, note func([]corev1.Pod)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var looks sync.WaitGroup
	looks.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err == nil {
				note(list.Items)
			}
		}
	})
	return func() { cancel(); looks.Wait() }
}

func (o *observed) note(pods []corev1.Pod) {
	ready, missing := map[string]int{"pd": 0, "tikv": 0}, map[string][]string{}
	for i := range pods {
		component := pods[i].Labels["app.kubernetes.io/component"]
		if workload.Ready(&pods[i]) && pods[i].DeletionTimestamp == nil {
			ready[component]++
		} else {
			missing[component] = append(missing[component], pods[i].Name)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for component, n := range ready {
		if least, seen := o.least[component]; !seen || n < least {
			slices.Sort(missing[component])
			o.least[component], o.at[component] = n, time.Now().Format("15:04:05")+" "+strings.Join(missing[component], " ")
		}
	}
}

// check asserts that PD kept its quorum, and that no two stores were missing at the same time.
func (o *observed) check(t *testing.T) {
	t.Helper()
	o.stop()
	for _, component := range []string{"pd", "tikv"} {
		if o.least[component] < 2 {
			t.Errorf("%d of 3 members of %s were Ready at %s", o.least[component], component, o.at[component])
		}
	}
}
