package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// secondNode is the environment variable with the state folder of a second local node, whose network is joined.
const secondNode = "NODE_SECOND"

// Domains of the nodes, by which pods of both find each other.
const firstDomain, secondDomain = "network1.example", "network2.example"

// outage is longer than the leases of Kubernetes' controllers, so that the node starts these again. A scheduler that goes on
// after a shorter outage may end, and schedules nothing any more.
const outage = 20 * time.Second

// twoClusters is one database over two Kubernetes clusters: three members of PD and five stores.
type twoClusters struct {
	first, second environment
	tls           bool
	// both is the plugin with the contexts of both Kubernetes clusters, whose names are in contexts.
	both     plugin.Plugin
	contexts string
}

// TestTwoKubernetesClusters: one database over two Kubernetes clusters, with a network and names between their pods.
// Clients write in both. An observer that asks only the two API servers sees no two members of PD, and no two stores,
// away at the same time: in an upgrade by one command while an API server is away, in restarts while the link between
// the clusters is cut, and beside a daemon in each cluster.
func TestTwoKubernetesClusters(t *testing.T) {
	w := newTwoClusters(t, "e2e-two", false)
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("both are created", w.created)
	step("a part grows", w.underWrites("grown", w.grown, "first", "second"))
	step("one command upgrades both", w.underWrites("upgraded", w.upgraded, "first")) // the client of the second uses the API server that is away
	step("a canary, a pause and an abort in both", w.underWrites("canary", w.canary, "first", "second"))
	step("the link is cut in the middle of restarts", w.linkCut)
	step("one command takes back a version that does not exist", w.underWrites("takenback", w.takenBack, "first", "second"))
	step("a daemon in each cluster", w.underWrites("daemons", w.daemons, "first", "second"))
	step("a part leaves", w.left)
}

// TestTwoKubernetesClustersTLS: the same database with TLS between all members. Each cluster has certificates of its own,
// which the authority of the first part issues in both.
func TestTwoKubernetesClustersTLS(t *testing.T) {
	w := newTwoClusters(t, "e2e-two-tls", true)
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("certificates", w.certified)
	step("both are created", w.created)
	step("a part grows", w.underWrites("grown", w.grown, "first", "second"))
	step("one command upgrades both", w.underWrites("upgraded", w.upgraded, "first"))
	step("a part leaves", w.left)
}

// newTwoClusters connects to both local nodes.
func newTwoClusters(t *testing.T, namespace string, tls bool) twoClusters {
	t.Helper()
	folder := os.Getenv(secondNode)
	if folder == "" {
		t.Skip("SKIPPED: this test needs two Kubernetes clusters whose networks are joined: make e2e-clusters")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	other := shared
	if other.Node, err = node.Open(root, folder); err != nil {
		t.Fatal(err)
	}
	if other.pods, err = dial.NewPods(other.Config); err != nil {
		t.Fatal(err)
	}
	other.plugin.Kubeconfig, other.sql.Kube, other.sql.Pods = other.Kubeconfig, other.Kube, other.pods
	w := twoClusters{first: shared.ready(t, namespace), second: other.ready(t, namespace), tls: tls, both: shared.plugin}
	w.first.sql.TLS, w.second.sql.TLS = tls, tls
	rules := clientcmd.ClientConfigLoadingRules{Precedence: []string{w.first.Kubeconfig, w.second.Kubeconfig}}
	merged, err := rules.Load()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range merged.Contexts {
		names = append(names, name)
	}
	w.both.Namespace, w.both.Kubeconfig = namespace, filepath.Join(t.TempDir(), "kubeconfig")
	w.contexts = strings.Join(names, ",")
	if err := clientcmd.WriteToFile(*merged, w.both.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w twoClusters) parts() map[string]environment {
	return map[string]environment{"first": w.first, "second": w.second}
}

// part is the manifest of one part. The first part has two members of PD, the second one joins with one.
func (w twoClusters) part(domain, joins, members string) string {
	sql := ""
	if w.tls {
		joins, sql = joins+"  tlsCluster: {enabled: true}\n", ", tlsClient: {enabled: true}"
	}
	return "  acrossK8s: true\n  clusterDomain: " + domain + "\n" + joins +
		"  pd: {baseImage: pingcap/pd, replicas: " + members + ", requests: {storage: 1Gi}, config: {}}\n" +
		"  tikv: {baseImage: pingcap/tikv, replicas: 2, requests: {storage: 1Gi}, config: {}}\n" +
		"  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}" + sql + "}"
}

func (w twoClusters) grown(t *testing.T) {
	w.second.tidb(t, 0, "scale", cluster, "tikv=3", "--yes")
	w.first.wantCleanPD(t, 3, 5)
}

// certified has certificates made in both clusters. Without the authority of the first part the second one is refused, and
// the error says which Secret is to be copied.
func (w twoClusters) certified(t *testing.T) {
	w.first.tidb(t, 0, "tls", "init", cluster, "--cluster-domain", firstDomain)
	partOf := []string{"tls", "init", cluster, "--part-of", w.first.plugin.Namespace + "/" + cluster, "--part-of-domain", firstDomain, "--cluster-domain", secondDomain}
	authority := cluster + "-cluster-ca-secret"
	if r := w.second.tidb(t, 3, partOf...); !strings.Contains(r.Stderr, authority) {
		t.Errorf("%s", r.Stderr)
	}
	secret := w.first.secret(t, authority)
	secret.ObjectMeta = metav1.ObjectMeta{Name: authority}
	if _, err := w.second.Kube.CoreV1().Secrets(w.second.plugin.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.second.tidb(t, 0, partOf...)
}

// created: the part that joins waits for the part that founds the database, whichever command comes first.
func (w twoClusters) created(t *testing.T) {
	joins := "  cluster: {name: " + cluster + ", namespace: " + w.first.plugin.Namespace + ", clusterDomain: " + firstDomain + "}\n"
	w.atOnce(
		func() { w.second.apply(t, w.part(secondDomain, joins, "1")) },
		func() { w.first.apply(t, w.part(firstDomain, "", "2")) })
	w.first.wantCleanPD(t, 3, 4)
}

func (w twoClusters) atOnce(all ...func()) {
	var commands sync.WaitGroup
	for _, f := range all {
		commands.Go(f)
	}
	commands.Wait()
}

// underWrites runs a step of the test while clients write in some of the clusters. No write fails, and all rows are read
// back.
func (w twoClusters) underWrites(table string, f func(*testing.T), clients ...string) func(*testing.T) {
	return func(t *testing.T) {
		for _, name := range clients {
			table := name + "_" + table
			w.parts()[name].changesTables(t)
			db, writer := w.parts()[name].writes(t, table)
			defer func() {
				account := writer.Stop()
				t.Log("the client's account:", name, account, account.Stalls)
				if len(account.Failed) > 0 {
					t.Errorf("%d writes failed, the first of them: %v", len(account.Failed), account.Failed[0])
				}
				if err := account.Verify(t.Context(), db, table); err != nil {
					t.Error(err)
				}
			}()
		}
		seen := w.watch(t)
		f(t)
		seen.wantOneAtATime(t)
	}
}

// upgraded: one command drives both parts, and the API server of the second cluster is away when its first store has
// been restarted.
func (w twoClusters) upgraded(t *testing.T) {
	away := false
	w.driven(t, []string{"upgrade", cluster, to, "--contexts", w.contexts, "--yes"}, func(e event.Event) {
		if !away && e.Context == "second" && restartedStore(e) {
			away = true
			if err := w.second.Outage(t.Context(), outage); err != nil {
				t.Error(err)
			}
		}
	})
	if !away {
		t.Error("no store of the second cluster was restarted, so that no API server was away")
	}
	w.first.wantMembers(t, map[string]int{"pd": 2, "tikv": 2, "tidb": 2}, release{all: to})
	w.second.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 2}, release{all: to})
}

// linkCut: one command restarts the stores of both parts. While the link is cut, PD in the first cluster has a quorum and
// misses the stores of the second one, and in the second cluster no leader of PD is reached. Nothing more is restarted.
// The same command goes on when the link is back.
func (w twoClusters) linkCut(t *testing.T) {
	seen := w.watch(t)
	before := w.podUIDs(t)
	var once sync.Once
	var back sync.WaitGroup
	w.driven(t, []string{"restart", cluster, "tikv", "--contexts", w.contexts, "--yes"}, func(e event.Event) {
		if !restartedStore(e) {
			return
		}
		once.Do(func() {
			w.link(t, false)
			back.Go(func() {
				time.Sleep(40 * time.Second) // PD calls stores that it does not hear Disconnected after 20 seconds
				if changed := differ(before, w.podUIDs(t)); changed > 1 {
					t.Errorf("%d pods were replaced before the link came back, want 1", changed)
				}
				w.link(t, true)
			})
		})
	})
	back.Wait()
	if changed := differ(before, w.podUIDs(t)); changed != 5 {
		t.Errorf("%d pods were replaced in all, want each of five stores", changed)
	}
	seen.wantOneAtATime(t)
	w.first.wantCleanPD(t, 3, 5)
	w.first.changesTables(t)
	w.second.changesTables(t)
}

// podUIDs are all pods of both parts.
func (w twoClusters) podUIDs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for part, s := range w.parts() {
		for name, uid := range s.podUIDs(t) {
			all[part+"/"+name] = uid
		}
	}
	return all
}

// changesTables waits until TiDB changes tables again. A change waits for TiDB servers that were cut off, or that missed PD
// while its members restarted, until their sessions in PD have ended.
func (s environment) changesTables(t *testing.T) {
	t.Helper()
	db, err := s.sql.Open("changes")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begun := time.Now()
	s.eventually(t, "a table can be made", func() bool {
		_, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS changes (id INT)")
		return err == nil
	})
	t.Logf("a table was made after %s", time.Since(begun).Round(time.Second))
}

// takenBack: an upgrade to a version without images stops at the first member of PD, and one command takes it back in both
// parts. The first command that follows for both has nothing to do.
func (w twoClusters) takenBack(t *testing.T) {
	r := w.both.Run(t.Context(), nil, "upgrade", cluster, "v8.1.9", "--contexts", w.contexts, "--yes", "--timeout", "40s")
	if r.Code != 4 {
		t.Errorf("exit code %d, want 4 for the time limit\n%s", r.Code, r.Stderr)
	}
	w.driven(t, []string{"rollback", cluster, "--to", to, "--contexts", w.contexts, "--yes"}, func(event.Event) {})
	w.first.wantMembers(t, map[string]int{"pd": 2, "tikv": 2, "tidb": 2}, release{all: to})
	w.second.wantMembers(t, map[string]int{"pd": 1, "tikv": 3, "tidb": 2}, release{all: to})
	if r := w.both.Run(t.Context(), nil, "sync", cluster, "--contexts", w.contexts); r.Code != 0 || !strings.Contains(r.Stderr, "of which 2 had nothing to do") {
		t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
	}
}

// daemons: a daemon drives each part, users change both TidbClusters at the same time, and a command beside a daemon waits for it.
func (w twoClusters) daemons(t *testing.T) {
	before := w.podUIDs(t)
	for _, s := range []environment{w.first, w.second} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		daemon := s.plugin.Start(ctx, "sync", "--watch")
		defer func() {
			if err := daemon.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if code := daemon.Wait(); code != 0 {
				t.Errorf("a daemon ended with exit code %d\n%s", code, daemon.Stderr())
			}
		}()
	}
	change := `{"spec":{"tikv":{"annotations":{"example.com/changed":"yes"}},"pd":{"annotations":{"example.com/changed":"yes"}}}}`
	w.atOnce(func() { w.first.patchCluster(t, change) }, func() { w.second.patchCluster(t, change) })
	w.atOnce(func() { w.second.tidb(t, 0, "sync", cluster) }, func() { w.first.converges(t) })
	w.second.converges(t)
	if changed := differ(before, w.podUIDs(t)); changed != 8 {
		t.Errorf("%d pods were replaced, want three members of PD and five stores", changed)
	}
}

// left: the second part goes, and the database goes on in the first cluster.
func (w twoClusters) left(t *testing.T) {
	if r := w.second.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "scale "+cluster+" tikv=0") {
		t.Errorf("%s", r.Stderr)
	}
	if w.tls {
		if r := w.first.tidb(t, 3, "tls", "rotate", cluster, "--ca"); !strings.Contains(r.Stderr, "authorities of several parts are not replaced") {
			t.Errorf("%s", r.Stderr)
		}
	}
	if r := w.first.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "PD lists members of clusters that stay: "+cluster) {
		t.Errorf("%s", r.Stderr)
	}
	w.first.tidb(t, 0, "scale", cluster, "tikv=3", "--yes")
	w.second.tidb(t, 0, "scale", cluster, "tikv=0", "--yes")
	w.second.tidb(t, 0, "delete", cluster, "--yes")
	w.first.wantCleanPD(t, 2, 3)
	w.first.wantMembers(t, map[string]int{"pd": 2, "tikv": 3, "tidb": 2}, release{all: to})
}

func restartedStore(e event.Event) bool {
	return e.Type == event.Finished && strings.HasPrefix(e.Step, "restart "+cluster+"-tikv")
}

// differ returns how many pods are not what they were.
func differ(before, now map[string]string) (n int) {
	for name, uid := range now {
		if before[name] != uid {
			n++
		}
	}
	return n
}

func (w twoClusters) link(t *testing.T, connected bool) {
	t.Helper()
	if err := w.second.Link(context.WithoutCancel(t.Context()), w.first.Node, connected); err != nil {
		t.Error(err)
	}
}

// driven runs a command that drives both parts, and wants it to succeed.
func (w twoClusters) driven(t *testing.T, args []string, note func(event.Event)) {
	t.Helper()
	w.drivenIn(t, w.both, args, note)
}

func (w twoClusters) drivenIn(t *testing.T, p plugin.Plugin, args []string, note func(event.Event)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	begun := time.Now()
	run := p.Start(ctx, append(slices.Clone(args), "-o", "json")...)
	defer run.Close()
	for e, err := range run.Events() {
		if err != nil {
			t.Error(err)
			return
		}
		if e.Step != "" {
			t.Logf("%s %s: %s %s", e.Time.Format("15:04:05"), e.Context, e.Type, e.Step)
		}
		note(e)
	}
	if code := run.Wait(); code != 0 {
		t.Errorf("kubectl tidb %v: exit code %d\n%s", args, code, run.Stderr())
	}
	t.Logf("kubectl tidb %v: %s", args, time.Since(begun).Round(time.Second))
}

// absences are what was seen of members that were not Ready, in both clusters together.
type absences struct {
	stops []func()
	mu    sync.Mutex
	// had are the most members of a part that were Ready, and now are those that are, by component.
	had, now map[string]map[string]int
	most     map[string]int // the most that were away at the same time
	at       map[string]string
}

// watch looks at the pods of both parts until wantOneAtATime is called.
func (w twoClusters) watch(t *testing.T) *absences {
	t.Helper()
	a := &absences{had: map[string]map[string]int{}, now: map[string]map[string]int{}, most: map[string]int{}, at: map[string]string{}}
	for name, s := range w.parts() {
		a.had[name] = map[string]int{}
		a.stops = append(a.stops, s.watchPods(t, "app.kubernetes.io/instance="+cluster, func(pods []corev1.Pod) { a.note(name, pods) }))
	}
	return a
}

func (a *absences) note(part string, pods []corev1.Pod) {
	ready := map[string]int{}
	for i := range pods {
		if p := &pods[i]; workload.Ready(p) && p.DeletionTimestamp == nil {
			ready[p.Labels["app.kubernetes.io/component"]]++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now[part] = ready
	for _, component := range []string{"pd", "tikv"} {
		a.had[part][component] = max(a.had[part][component], ready[component])
		away := 0
		for name := range a.now {
			away += a.had[name][component] - a.now[name][component]
		}
		if away > a.most[component] {
			a.most[component], a.at[component] = away, time.Now().Format("15:04:05")
		}
	}
}

// wantOneAtATime asserts that no two members of PD, and no two stores, were away at the same time.
func (a *absences) wantOneAtATime(t *testing.T) {
	t.Helper()
	for _, stop := range a.stops {
		stop()
	}
	for component, n := range a.most {
		if n > 1 {
			t.Errorf("%s: %d members were away at the same time, at %s", component, n, a.at[component])
		}
	}
}
