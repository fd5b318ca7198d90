package e2e

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestOtherHands: what a person has changed in StatefulSets and in PD, and a leader of PD that the plugin cannot reach,
// take no serving member down, and each is named.
func TestOtherHands(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-other-hands")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1")
	p := s.person(t)
	t.Run("image set by hand", p.imageByHand)
	t.Run("first ordinal set by hand", p.firstOrdinalByHand)
	t.Run("PriorityClass that does not exist", p.missingPriorityClass)
	t.Run("leader-schedule-limit 0", p.noLeaderMoves)
	t.Run("import denies scheduling", p.importDenies)
	t.Run("log backup in PD's etcd", p.logBackup)
	t.Run("PD leader out of reach", p.leaderOutOfReach)
	t.Run("deleted during an eviction", p.deletedDuringEviction)
	t.Run("store elsewhere down", p.storeElsewhereDown)
}

// imageByHand: another version in the template of a StatefulSet is no wish of the TidbCluster. It is put back, and no
// member of it starts.
func (p *person) imageByHand(t *testing.T) {
	before := p.podUIDs(t)
	for _, component := range []string{"pd", "tikv", "tidb"} {
		set := "statefulset/" + cluster + "-" + component
		image := component + "=pingcap/" + component + ":" + to
		if _, err := p.Kubectl(t.Context(), "", "-n", p.plugin.Namespace, "set", "image", set, image); err != nil {
			t.Fatal(err)
		}
	}
	doctor := p.plugin.Run(t.Context(), nil, "doctor", cluster)
	for _, word := range []string{"image", "kubectl-set", to} {
		if !strings.Contains(doctor.Stdout, word) {
			t.Errorf("doctor does not say %q of the images that were set by hand:\n%s%s", word, doctor.Stdout, doctor.Stderr)
		}
	}
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 3, 1, from)
	p.wantImagesOfSets(t, from)
	// Kubernetes itself restarts a server where the partition of TiDB's StatefulSet leaves that open.
	p.wantSamePods(t, before, "pd", "tikv")
}

// wantImagesOfSets asserts that the templates of all StatefulSets have the images of a version.
func (p *person) wantImagesOfSets(t *testing.T, version string) {
	t.Helper()
	sets, err := p.Kube.AppsV1().StatefulSets(p.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets.Items {
		if image := mainImage(set); !strings.HasSuffix(image, ":"+version) {
			t.Errorf("the template of %s has the image %s, want %s", set.Name, image, version)
		}
	}
}

func mainImage(set appsv1.StatefulSet) string {
	for _, c := range set.Spec.Template.Spec.Containers {
		if strings.HasSuffix(set.Name, "-"+c.Name) {
			return c.Image
		}
	}
	return ""
}

// wantSamePods asserts that no pod of the given components was replaced.
func (p *person) wantSamePods(t *testing.T, before map[string]string, components ...string) {
	t.Helper()
	after := p.podUIDs(t)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if slices.ContainsFunc(components, func(c string) bool { return strings.Contains(name, "-"+c+"-") }) && after[name] != before[name] {
			t.Errorf("pod %s was replaced", name)
		}
	}
}

// firstOrdinalByHand: TiDB has no data, so that its servers may have other ordinals. A restart and scaling go by those of
// the StatefulSet.
func (p *person) firstOrdinalByHand(t *testing.T) {
	p.patchOrdinals(t, "1")
	p.tidb(t, 0, "sync", cluster)
	p.wantServers(t, "basic-tidb-1")
	before := p.podUIDs(t)
	p.tidb(t, 0, "restart", cluster, "tidb", "--yes")
	if after := p.podUIDs(t); after["basic-tidb-1"] == before["basic-tidb-1"] {
		t.Error("basic-tidb-1 was not restarted")
	}
	p.tidb(t, 0, "scale", cluster, "tidb=2", "--yes")
	p.wantServers(t, "basic-tidb-1", "basic-tidb-2")
	p.tidb(t, 0, "scale", cluster, "tidb=1", "--yes")
	p.wantServers(t, "basic-tidb-1")
	p.patchOrdinals(t, "0")
	p.tidb(t, 0, "sync", cluster)
	p.wantServers(t, "basic-tidb-0")
}

// patchOrdinals sets the first ordinal of TiDB's servers.
func (p *person) patchOrdinals(t *testing.T, start string) {
	t.Helper()
	patch := `{"spec":{"ordinals":{"start":` + start + `}}}`
	if _, err := p.Kubectl(t.Context(), "", "-n", p.plugin.Namespace, "patch", "statefulset", cluster+"-tidb", "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

// wantServers asserts which servers of TiDB there are.
func (p *person) wantServers(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(p.podUIDs(t))) {
		if strings.HasPrefix(name, cluster+"-tidb-") {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("servers of TiDB: got %v, want %v", got, want)
	}
}

// missingPriorityClass: Kubernetes makes no pod whose PriorityClass does not exist. The cause and the field are named,
// and the cluster converges when the field is gone.
func (p *person) missingPriorityClass(t *testing.T) {
	p.patchTiDB(t, `"nosuch"`)
	events, r, err := p.plugin.Events(t.Context(), "sync", cluster, "--timeout", "90s")
	if err != nil {
		t.Fatal(err)
	}
	if r.Code != 3 && r.Code != 4 {
		t.Errorf("exit code %d, want 3 (a person is needed) or 4 (timed out)", r.Code)
	}
	cause := "there is no PriorityClass nosuch, which spec.tidb.priorityClassName names"
	if !slices.ContainsFunc(events, func(e event.Event) bool { return strings.Contains(text(e), cause) }) {
		t.Errorf("no event says %q:\n%s", cause, texts(events))
	}
	p.patchTiDB(t, "null")
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 3, 1, from)
}

// patchTiDB sets the PriorityClass of TiDB in the TidbCluster, as kubectl patch does.
func (p *person) patchTiDB(t *testing.T, priorityClass string) {
	t.Helper()
	patch := `{"spec":{"tidb":{"priorityClassName":` + priorityClass + `}}}`
	if _, err := p.Kubectl(t.Context(), "", "-n", p.plugin.Namespace, "patch", "tidbcluster", cluster, "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

// wantHeldBack asserts that a restart of a member does not begin, and that an event names the cause.
func (p *person) wantHeldBack(t *testing.T, cause string, args ...string) {
	t.Helper()
	before := p.podUIDs(t)
	events, r, err := p.plugin.Events(t.Context(), append(args, "--timeout", "20s")...)
	t.Logf("kubectl tidb %v: exit %d after %v", args, r.Code, r.Took)
	if err != nil {
		t.Fatal(err)
	}
	if r.Code != 3 && r.Code != 4 {
		t.Errorf("exit code %d, want 3 (a person is needed) or 4 (timed out)", r.Code)
	}
	if !slices.ContainsFunc(events, func(e event.Event) bool { return strings.Contains(text(e), cause) }) {
		t.Errorf("no event names %q:\n%s", cause, texts(events))
	}
	p.wantSamePods(t, before, "pd", "tikv", "tidb")
}

// leadingStore returns the member with the most region leaders. A store that leads nothing may restart at once.
func (p *person) leadingStore(t *testing.T) (member string) {
	t.Helper()
	client := p.pdClient()
	defer client.Close()
	poll(t, patience, "PD reports a store with leaders", func(ctx context.Context) bool {
		stores, err := client.Stores(ctx)
		most := 0
		for _, store := range stores {
			if pod, _, _ := strings.Cut(store.Address, "."); store.LeaderCount > most {
				member, most = strings.TrimPrefix(pod, cluster+"-"), store.LeaderCount
			}
		}
		return err == nil && most > 0
	})
	return member
}

// noLeaderMoves: with this limit PD accepts an eviction and moves no leader.
func (p *person) noLeaderMoves(t *testing.T) {
	p.do(t, http.MethodPost, "config", map[string]any{"leader-schedule-limit": 0})
	p.wantHeldBack(t, "leader-schedule-limit", "restart", cluster, p.leadingStore(t))
	if out := p.plugin.Run(t.Context(), nil, "doctor", cluster); !strings.Contains(out.Stdout, "leader-schedule-limit") {
		t.Errorf("doctor does not name leader-schedule-limit:\n%s%s", out.Stdout, out.Stderr)
	}
	p.do(t, http.MethodPost, "config", map[string]any{"leader-schedule-limit": 4})
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 3, 1, from)
}

// importDenies: an import keeps PD from moving leaders of its ranges.
func (p *person) importDenies(t *testing.T) {
	p.do(t, http.MethodPost, "config/region-label/rule", map[string]any{
		"id": "import/1", "rule_type": "key-range",
		"labels": []map[string]string{{"key": "schedule", "value": "deny"}},
		"data":   []map[string]string{{"start_key": "", "end_key": ""}},
	})
	p.wantHeldBack(t, "schedule=deny", "restart", cluster, p.leadingStore(t))
	p.do(t, http.MethodDelete, "config/region-label/rule/import%2F1", nil)
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 3, 1, from)
}

// leaderOutOfReach: the kubelet's tunnel to the pod of PD's leader is refused, and followers answer. PD serves, so none
// of its members may be restarted, though a rollout of PD is due.
func (p *person) leaderOutOfReach(t *testing.T) {
	client := p.pdClient()
	leader := p.leader(t, client)
	client.Close()
	cut := p.plugin
	cut.Kubeconfig = refusing(t, p.Config, "/api/v1/namespaces/"+p.plugin.Namespace+"/pods/"+leader+"/portforward")
	p.patchCluster(t, `{"spec":{"pd":{"annotations":{"e2e":"out-of-reach"}}}}`)
	q := *p
	q.plugin = cut
	q.wantHeldBack(t, leader, "sync", cluster)
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 3, 1, from)
}

// storeElsewhereDown: PD counts on a store that is no member of the TidbCluster. While that store is down, regions with
// a replica on it have no quorum without the store that would restart. This is the last one: PD counts on the store
// from then on.
func (p *person) storeElsewhereDown(t *testing.T) {
	const pod = "store-elsewhere"
	p.runStore(t, pod)
	p.do(t, http.MethodPost, "config", map[string]any{"max-replicas": 4}) // so that each region has a replica there
	poll(t, patience, "PD calls the store elsewhere Up, with regions", func(ctx context.Context) bool {
		store, found := p.storeElsewhere(ctx)
		return found && store.StateName == "Up" && store.RegionCount > 0
	})
	if err := p.Kube.CoreV1().Pods(p.plugin.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	poll(t, patience, "PD calls the store elsewhere Disconnected", func(ctx context.Context) bool {
		store, found := p.storeElsewhere(ctx)
		return found && store.StateName == "Disconnected"
	})
	p.wantHeldBack(t, "no member", "restart", cluster, "tikv-2")
}

// runStore runs a store that joins the cluster and is no member of its TidbCluster.
func (p *person) runStore(t *testing.T, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "tikv", Image: "pingcap/tikv:" + from,
			Command: []string{
				"/tikv-server", "--pd=http://" + cluster + "-pd:2379", "--addr=0.0.0.0:20160", "--status-addr=0.0.0.0:20180",
				"--advertise-addr=$(POD_IP):20160", "--data-dir=/store", "--capacity=1GB",
			},
			Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"},
			}}},
		}}},
	}
	if _, err := p.Kube.CoreV1().Pods(p.plugin.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// storeElsewhere returns the store that is no member of the TidbCluster, and false while PD does not list it.
func (p *person) storeElsewhere(ctx context.Context) (pd.Store, bool) {
	client := p.pdClient()
	defer client.Close()
	stores, err := client.Stores(ctx)
	if err != nil {
		return pd.Store{}, false
	}
	for _, store := range stores {
		if !strings.HasPrefix(store.Address, cluster+"-") {
			return store, true
		}
	}
	return pd.Store{}, false
}

// deletedDuringEviction: a cluster that is deleted, with its data kept, leaves no evict-leader scheduler of the plugin:
// "delete" ends it, and where kubectl has deleted the TidbCluster the next run does.
func (p *person) deletedDuringEviction(t *testing.T) {
	deletions := map[string]func(){
		"tidb": func() { p.tidb(t, 0, "delete", cluster, "--yes") },
		"kubectl": func() {
			if _, err := p.Kubectl(t.Context(), "", "-n", p.plugin.Namespace, "delete", "tidbcluster", cluster); err != nil {
				t.Fatal(err)
			}
			p.tidb(t, 0, "delete", cluster, "--yes", "--ignore-not-found") // waits for the pods
		},
	}
	for _, by := range slices.Sorted(maps.Keys(deletions)) {
		p.patchCluster(t, `{"spec":{"tikv":{"annotations":{"e2e":"`+by+`"}}}}`)
		evicting := func(e event.Event) bool { return e.Action == "EvictLeaders" && e.Type == event.Finished }
		if code := p.until(t, syscall.SIGKILL, evicting, "sync", cluster); code != -1 {
			t.Fatalf("exit code %d of a run that is killed, want -1", code)
		}
		if stores := p.evicting(t); len(stores) == 0 {
			t.Fatal("PD evicts leaders from no store, want the one of the run that was killed")
		}
		deletions[by]()
		p.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1")
		p.wantConverged(t, 3, 3, 1, from)
		if stores := p.evicting(t); len(stores) > 0 {
			t.Errorf("deleted by %s: PD still evicts leaders from stores %v", by, stores)
		}
	}
}
