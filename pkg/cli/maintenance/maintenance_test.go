package maintenance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// errKilled is the end of a process.
var errKilled = errors.New("killed")

// world is a node with two clusters. Writes are counted, and the process ends before the write after
// the last one that it may do.
type world struct {
	kube     *fake.Clientset
	clusters map[string]*fakeCluster
	left     int // of the writes, negative for no limit
	log      []string
}

type fakeCluster struct {
	*plantest.Cluster
	w    *world
	held error
	gone bool
	// back: a leader moves back to the node while others are waited for, once.
	back bool
}

func newWorld() *world {
	w := &world{left: -1, clusters: map[string]*fakeCluster{}}
	w.kube = fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}})
	w.kube.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchActionImpl)
		if len(p.PatchOptions.DryRun) > 0 {
			w.log = append(w.log, "dry run of "+string(p.GetPatchType()))
			n, err := w.kube.Tracker().Get(p.GetResource(), "", p.GetName())
			return true, n, err
		}
		err := w.write(string(p.GetPatchType()))
		return err != nil, nil, err
	})
	for _, name := range []string{"a", "b"} {
		c := plantest.New(3, 3, 2)
		c.Wanted.Cluster.Name, c.Seen.PD.ClusterID = name, uint64(len(w.clusters)+1)
		w.clusters["ns/"+name] = &fakeCluster{Cluster: c, w: w}
	}
	return w
}

func (w *world) write(what string) error {
	if w.left == 0 {
		return errKilled
	}
	w.left--
	w.log = append(w.log, what)
	return nil
}

func (w *world) node(t *testing.T) *corev1.Node {
	t.Helper()
	n, err := w.kube.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// state is what a maintenance changes, but for who leads PD.
func (w *world) state(t *testing.T) string {
	t.Helper()
	n := w.node(t)
	var evicting, marked []string
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		for _, m := range w.clusters[name].Wanted.Cluster.Maintained {
			marked = append(marked, name+":"+m.Node)
		}
		for _, m := range w.clusters[name].Seen.Groups[topology.TiKV].Members {
			if m.Database.Evicting {
				evicting = append(evicting, name+":"+m.Name)
			}
		}
	}
	_, recorded := n.Annotations[hosts.Annotation]
	return fmt.Sprintf("cordoned %t, recorded %t, evicting %v, marked %v", n.Spec.Unschedulable, recorded, evicting, marked)
}

func (w *world) leads(name string) string {
	for _, m := range w.clusters[name].Seen.Groups[topology.PD].Members {
		if m.Database.Leader {
			return m.Name
		}
	}
	return ""
}

func (w *world) work(errOut *bytes.Buffer) *work {
	return &work{
		node: &node{kube: w.kube, name: "node-0"}, clusters: map[string]cluster{}, errOut: errOut,
		open: func(namespace, name string) (cluster, error) { return w.clusters[namespace+"/"+name], nil },
		list: func(context.Context) ([]topology.Cluster, error) {
			var all []topology.Cluster
			for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
				all = append(all, w.clusters[name].Wanted.Cluster)
			}
			return all, nil
		},
	}
}

func (w *world) start(t *testing.T, left int) (out string, err error) {
	t.Helper()
	w.left = left
	var text bytes.Buffer
	s := starting{
		work: w.work(&text), by: "ann@desk", now: func() time.Time { return plantest.Now }, out: &text,
		found: []hosts.Cluster{{Namespace: "ns", Name: "a"}, {Namespace: "ns", Name: "b"}},
		agree: func(q consent.Question) error { return exit.Refusef("asked: %s", strings.Join(q.Effects, "; ")) },
	}
	err = s.run(t.Context())
	return text.String(), err
}

func (w *world) stop(t *testing.T, left int) (out string, err error) {
	t.Helper()
	w.left = left
	var text bytes.Buffer
	err = w.work(&text).stop(t.Context(), &text)
	return text.String(), err
}

func (c *fakeCluster) look(context.Context) (hosts.Sight, error) {
	if c.gone {
		return hosts.Sight{}, &intent.NotFoundError{}
	}
	return hosts.Sight{Cluster: c.Wanted.Cluster, Snapshot: c.Seen}, nil
}

func (c *fakeCluster) hold(context.Context) (func(), error) { return func() {}, c.held }

func (c *fakeCluster) mark(_ context.Context, m topology.Maintenance, dryRun bool) error {
	if dryRun {
		c.w.log = append(c.w.log, "dry run of mark "+c.Wanted.Cluster.Name)
		return nil
	}
	if err := c.w.write("mark " + c.Wanted.Cluster.Name); err != nil {
		return err
	}
	c.forget(m.Node)
	c.Wanted.Cluster.Maintained = append(c.Wanted.Cluster.Maintained, m)
	return nil
}

func (c *fakeCluster) forget(node string) {
	c.Wanted.Cluster.Maintained = slices.DeleteFunc(c.Wanted.Cluster.Maintained, func(m topology.Maintenance) bool { return m.Node == node })
}

func (c *fakeCluster) unmark(_ context.Context, node string) error {
	if err := c.w.write("unmark " + c.Wanted.Cluster.Name); err != nil {
		return err
	}
	c.forget(node)
	return nil
}

func (c *fakeCluster) moveLeader(_ context.Context, s step.MoveLeader) error {
	if err := c.w.write("leader of " + c.Wanted.Cluster.Name); err != nil {
		return err
	}
	c.Member(s.From).Database.Leader, c.Member(s.To).Database.Leader = false, true
	return nil
}

func (c *fakeCluster) evict(_ context.Context, store uint64, on bool) error {
	if err := c.w.write(fmt.Sprintf("evict %s %d %t", c.Wanted.Cluster.Name, store, on)); err != nil {
		return err
	}
	c.Member(fmt.Sprintf("t-tikv-%d", store-1)).Database.Evicting = on
	return nil
}

func (c *fakeCluster) wait(context.Context, wait.Goal) error {
	c.w.log = append(c.w.log, "wait for "+c.Wanted.Cluster.Name)
	if c.back {
		c.back = false
		c.Member("t-pd-0").Database.Leader, c.Member("t-pd-1").Database.Leader = true, false
	}
	return nil
}

func (c *fakeCluster) storeDown(context.Context) time.Duration { return 30 * time.Minute }

func (c *fakeCluster) close() {}

const (
	before = "cordoned false, recorded false, evicting [], marked []"
	under  = "cordoned true, recorded true, evicting [ns/a:t-tikv-0 ns/b:t-tikv-0], marked [ns/a:node-0 ns/b:node-0]"
)

// TestWhole: a start says what may be done now, and a stop takes everything back.
func TestWhole(t *testing.T) {
	w := newWorld()
	out, err := w.start(t, -1)
	want := `node-0 may be rebooted: its members lead neither PD nor regions, and the clusters go on without them.
  ns/a: t-pd-0, t-tikv-0, t-tidb-0; after 30m PD makes new copies of regions; a daemon gives members up after 5m (PD), 35m (TiKV), 5m (TiDB)
  ns/b: t-pd-0, t-tikv-0, t-tidb-0; after 30m PD makes new copies of regions; a daemon gives members up after 5m (PD), 35m (TiKV), 5m (TiDB)
When it is back: kubectl tidb maintenance stop node-0
`
	if err != nil || out != want {
		t.Fatalf("%v, %q", err, out)
	}
	if got := w.state(t); got != under || w.leads("ns/a") != "t-pd-1" || w.leads("ns/b") != "t-pd-1" {
		t.Errorf("%s; %s and %s lead", got, w.leads("ns/a"), w.leads("ns/b"))
	}
	order := strings.Join(w.log, ", ")
	if want := "application/merge-patch+json, mark a, mark b, application/strategic-merge-patch+json, leader of a, leader of b, wait for a, wait for b, evict a 1 true, evict b 1 true, wait for a, wait for b"; order != want {
		t.Errorf("%s", order)
	}
	w.log = nil
	if out, err := w.stop(t, -1); err != nil || out != "the maintenance of node-0 has ended\n" || w.state(t) != before {
		t.Errorf("%v, %q; %s", err, out, w.state(t))
	}
	order = strings.Join(w.log, ", ")
	if want := "application/strategic-merge-patch+json, application/merge-patch+json, wait for a, evict a 1 false, unmark a, wait for b, evict b 1 false, unmark b, application/merge-patch+json"; order != want {
		t.Errorf("%s", order)
	}
	if out, err := w.stop(t, -1); err != nil || out != "node-0 is not under maintenance; nothing was changed\n" {
		t.Errorf("%v, %q", err, out)
	}
}

// TestDryRun: what a start would do is said and nothing of it is done. The API server checks what would be written
// to it, unless the client alone is asked. What would be refused is refused.
func TestDryRun(t *testing.T) {
	preview := func(w *world, kind flags.DryRun) (string, error) {
		var text bytes.Buffer
		s := starting{
			work: w.work(&text), by: "ann@desk", now: func() time.Time { return plantest.Now }, out: &text, dryRun: kind,
			found: []hosts.Cluster{{Namespace: "ns", Name: "a"}},
			agree: func(consent.Question) error { return errors.New("asked") },
		}
		err := s.run(t.Context())
		return text.String(), err
	}
	const writes = "node node-0 may be taken down; nothing was changed\n%swould record the maintenance in the Node\n" +
		"would name node node-0 in TidbCluster ns/a, so that no driver takes members away elsewhere\nwould cordon the node\n%s"
	const stops = "would ask, for ns/a: TiDB serves on no other host: no client can connect to it\n"
	const moves = "would move the leader of PD of ns/a from t-pd-0 to t-pd-1, and evict region leaders from the stores on the node after that\n"
	for kind, log := range map[flags.DryRun]string{
		flags.ClientDryRun: "",
		flags.ServerDryRun: "dry run of application/merge-patch+json, dry run of mark a, dry run of application/strategic-merge-patch+json",
	} {
		w := newWorld()
		w.left = 0
		w.clusters["ns/a"].Member("t-tidb-1").Pod.Node = "node-0"
		out, err := preview(w, kind)
		if want := fmt.Sprintf(writes, stops, moves); err != nil || out != want || w.state(t) != before || strings.Join(w.log, ", ") != log {
			t.Errorf("%s: %v, %s%s; %q", kind.String(), err, out, w.state(t), w.log)
		}
	}
	w := newWorld()
	w.clusters["ns/a"].Member("t-pd-0").Database.Leader, w.clusters["ns/a"].Member("t-pd-1").Database.Leader = false, true
	if out, err := preview(w, flags.ClientDryRun); err != nil || out != fmt.Sprintf(writes, "", "would evict region leaders from t-tikv-0 of ns/a\n") {
		t.Errorf("%v, %s", err, out)
	}
	w.clusters["ns/a"].Down(time.Hour, "t-tikv-2")
	if out, err := preview(w, flags.ServerDryRun); exit.Of(err) != exit.Refused || out != "" || len(w.log) > 0 {
		t.Errorf("%v, %s, %q", err, out, w.log)
	}
}

// TestKilled: wherever a start and a stop are killed, another start completes it, and a stop takes all
// of it back.
func TestKilled(t *testing.T) {
	for first := range 9 {
		for second := range 8 {
			w := newWorld()
			_, killed := w.start(t, first)
			if (first < 8) != errors.Is(killed, errKilled) {
				t.Fatalf("start after %d: %v", first, killed)
			}
			if first%2 == 0 { // and the stop comes at once in the other cases
				if _, err := w.start(t, -1); err != nil || w.state(t) != under {
					t.Errorf("start after %d: %v; %s", first, err, w.state(t))
				}
			}
			if _, err := w.stop(t, second); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if second%2 == 1 {
				if _, err := w.start(t, -1); err != nil || w.state(t) != under {
					t.Errorf("start after a stop after %d: %v; %s", second, err, w.state(t))
				}
			}
			if _, err := w.stop(t, -1); err != nil || w.state(t) != before {
				t.Errorf("%d, %d: %v; %s", first, second, err, w.state(t))
			}
		}
	}
}

// TestOthers: what others have done before stays.
func TestOthers(t *testing.T) {
	w := newWorld()
	n := w.node(t)
	n.Spec.Unschedulable = true
	if _, err := w.kube.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.clusters["ns/a"].Member("t-tikv-0").Database.Evicting = true
	if _, err := w.start(t, -1); err != nil || w.state(t) != under {
		t.Fatalf("%v; %s", err, w.state(t))
	}
	want := "cordoned true, recorded false, evicting [ns/a:t-tikv-0], marked []"
	if _, err := w.stop(t, -1); err != nil || w.state(t) != want {
		t.Errorf("%v; %s", err, w.state(t))
	}
}

// TestRefused: nothing is changed when one of the clusters cannot do without the node.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *fakeCluster)
		says   string
	}{
		"a peer is down": {func(b *fakeCluster) { b.Down(time.Hour, "t-tikv-2") },
			"node node-0 cannot be taken down for cluster ns/b: other members do not serve: t-tikv-2"},
		"a run is under way": {func(b *fakeCluster) { b.held = exit.Refusef("cluster ns/b is driven by bob") }, "driven by bob"},
		"a service stops":    {func(b *fakeCluster) { b.Member("t-tidb-1").Pod.Node = "node-0" }, "asked: TiDB serves on no other host"},
	} {
		w := newWorld()
		c.change(w.clusters["ns/b"])
		_, err := w.start(t, -1)
		if err == nil || exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if w.state(t) != before || len(w.log) > 0 {
			t.Errorf("%s: %s; %q", name, w.state(t), w.log)
		}
	}
}

// TestLeaderComesBack: a leader that has come back while others were waited for moves again.
func TestLeaderComesBack(t *testing.T) {
	w := newWorld()
	w.clusters["ns/a"].back = true
	if _, err := w.start(t, -1); err != nil || w.leads("ns/a") != "t-pd-1" {
		t.Errorf("%v; %s leads", err, w.leads("ns/a"))
	}
}

// TestGone: a cluster that was deleted in the meantime does not keep a maintenance from ending.
func TestGone(t *testing.T) {
	w := newWorld()
	if _, err := w.start(t, -1); err != nil {
		t.Fatal(err)
	}
	w.clusters["ns/a"].gone = true
	out, err := w.stop(t, -1)
	if err != nil || !strings.Contains(out, "cluster ns/a does not exist any more") || w.state(t) != "cordoned false, recorded false, evicting [ns/a:t-tikv-0], marked [ns/a:node-0]" {
		t.Errorf("%v, %q; %s", err, out, w.state(t))
	}
}

// TestFindings: a status names the maintenance of a node with members, until it has ended.
func TestFindings(t *testing.T) {
	w := newWorld()
	if _, err := w.start(t, -1); err != nil {
		t.Fatal(err)
	}
	a, _ := w.clusters["ns/a"].look(t.Context())
	got := Notices(t.Context(), w.kube, a)
	want := "node node-0, with t-pd-0, t-tikv-0, t-tidb-0, is under maintenance since 2026-01-01T01:00:00Z, begun by ann@desk"
	if len(got) != 1 || got[0].Text != want || got[0].Member != "t-pd-0" || got[0].Remedy.Line("") != "end it when the node is back: kubectl tidb maintenance stop node-0" {
		t.Errorf("%+v", got)
	}
	if _, err := w.stop(t, -1); err != nil {
		t.Fatal(err)
	}
	if got := Notices(t.Context(), w.kube, a); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestReadNodes: a node that is gone hides no others, a missing right ends the reads, and many nodes come
// in one request where that is permitted.
func TestReadNodes(t *testing.T) {
	var many []string
	objects := []runtime.Object{}
	for n := range oneByOne + 1 {
		many = append(many, fmt.Sprintf("node-%d", n))
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: many[n]}})
	}
	forbidden := apierrors.NewForbidden(corev1.Resource("nodes"), "", nil)
	for name, c := range map[string]struct {
		names  []string
		forbid string // a verb
		found  int
		most   int // requests
	}{
		"one is gone":                    {names: []string{"gone", "node-1", "gone-too", "node-2"}, found: 2, most: 4},
		"none may be read":               {names: many[:oneByOne], forbid: "get", found: 0, most: nodesAtOnce},
		"as many as are read one by one": {names: many[:oneByOne], found: oneByOne, most: oneByOne},
		"more":                           {names: many, found: len(many), most: 1},
		"more, that may not be listed":   {names: many, forbid: "list", found: len(many), most: len(many) + 1},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(objects...)
			if c.forbid != "" {
				kube.PrependReactor(c.forbid, "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
			}
			found := readNodes(t.Context(), kube, c.names)
			if asked := len(kube.Actions()); len(found) != c.found || asked > c.most {
				t.Errorf("%d nodes with %d requests; want %d with %d at most", len(found), asked, c.found, c.most)
			}
		})
	}
}
