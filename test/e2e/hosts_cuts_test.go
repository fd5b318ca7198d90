package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// isolated is a cluster with one member of each component in each zone. PD puts no two copies of a region into one zone.
const isolated = `  topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone}, {topologyKey: kubernetes.io/hostname}]
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: "[replication]\nlocation-labels = [\"zone\", \"host\"]\nisolation-level = \"zone\"\n"}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}
  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}`

// brief is the time limit of commands that cannot end while a host is broken.
const brief = "40s"

// cuts is a cluster with a client that writes, on three hosts in three zones.
type cuts struct {
	environment
	writer *workload.Writer
	pd     pd.Client
	// bare is the longest write while a host was lost and no command ran.
	bare time.Duration
}

// TestHostsCuts loses a zone, and cuts a host from other hosts or from the API server, under a client that writes.
// The host holds PD's leader each time. It needs three hosts: make e2e-hosts.
func TestHostsCuts(t *testing.T) {
	needsHosts(t)
	s := newEnvironment(t, "e2e-cuts")
	s.apply(t, isolated)
	s.wantBudgets(t)
	db, writer := s.writes(t, "cuts")
	t.Cleanup(func() { s.host(t, "mend") })
	c := &cuts{environment: s, writer: writer, pd: s.pdClient()}
	defer c.pd.Close()
	s.wantCopies(t, 3)
	c.labels(t)
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"a zone lost, and no command", c.zoneBare},
		{"a zone lost, and commands", c.zoneLost},
		{"cut from the other hosts", c.cutFromOthers},
		{"cut from the API server", c.cutFromAPI},
	} {
		t.Run(part.name, func(t *testing.T) {
			seen := s.watchMembers(t)
			part.test(t)
			seen.check(t)
		})
	}
	s.wantRows(t, db, writer, "cuts")
}

// writes starts a client that writes a row every 50 ms.
func (s environment) writes(t *testing.T, table string) (*sql.DB, *workload.Writer) {
	t.Helper()
	db, err := s.sql.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	writer, err := workload.Start(context.WithoutCancel(t.Context()), db, table, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return db, writer
}

// wantRows stops the client and asserts that each row that it wrote is there.
func (s environment) wantRows(t *testing.T, db *sql.DB, writer *workload.Writer, table string) {
	t.Helper()
	account := writer.Stop()
	t.Log("the client's account:", account, account.Stalls)
	if err := account.Verify(t.Context(), db, table); err != nil {
		t.Error(err)
	}
}

// labels asserts that PD knows the zone of each store from the labels of its node, and keeps copies in different zones.
func (c *cuts) labels(t *testing.T) {
	config, err := c.pd.ReplicationConfig(t.Context())
	if err != nil || config.IsolationLevel != "zone" {
		t.Errorf("PD's replication: got %+v (%v), want isolation-level zone", config, err)
	}
	nodes, seen := c.nodesOf(t), map[string]bool{}
	for _, store := range c.stores(t) {
		name, _, _ := strings.Cut(store.Address, ".")
		node, err := c.Kube.CoreV1().Nodes().Get(t.Context(), nodes[name], metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zone := node.Labels[corev1.LabelTopologyZone]
		if store.Labels["zone"] != zone || store.Labels["host"] != node.Name {
			t.Errorf("%s on %s in %s: PD has the labels %v", name, node.Name, zone, store.Labels)
		}
		seen[zone] = true
	}
	if len(seen) != 3 {
		t.Errorf("stores are in the zones %v, want three", seen)
	}
}

// zoneBare loses a host, which is a zone, while nothing but the client runs. It measures what the fault itself costs.
func (c *cuts) zoneBare(t *testing.T) {
	host := c.leads(t)
	begun := time.Now()
	c.host(t, "crash", host)
	c.eventually(t, "Kubernetes notices that "+host+" is lost", func() bool { return !c.nodeReady(t, host) })
	c.host(t, "mend", host)
	c.tidb(t, 0, "sync", cluster)
	c.wantCopies(t, 3)
	c.bare = c.longest(begun)
	t.Logf("the longest write was %v", c.bare)
}

// zoneLost loses a zone while commands run. They name the host, and take down nothing else.
func (c *cuts) zoneLost(t *testing.T) {
	host := c.leads(t)
	begun, members := time.Now(), c.membersOn(t, host)
	c.host(t, "crash", host)
	c.eventually(t, "Kubernetes notices that "+host+" is lost", func() bool { return !c.nodeReady(t, host) })
	c.named(t, members, "node "+host+" does not report")
	c.nothingTaken(t, members, "node "+host+" does not report", "", "restart", cluster, "tikv", "--yes")
	c.host(t, "mend", host)
	c.tidb(t, 0, "sync", cluster)
	c.wantCopies(t, 3)
	t.Logf("the longest write was %v; %v with the fault alone", c.longest(begun), c.bare)
}

// cutFromOthers cuts the host of PD's leader from the other hosts. Its processes run and answer the plugin, so none of
// them is gone. An upgrade restarts nothing that serves, and the same command ends when the host is back.
func (c *cuts) cutFromOthers(t *testing.T) {
	host := c.leads(t)
	begun, members := time.Now(), c.membersOn(t, host)
	c.host(t, "cut", host, "from", "others")
	members = slices.DeleteFunc(members, func(m string) bool { return strings.Contains(m, "-tidb-") }) // Kubernetes asks it from its own host
	c.eventually(t, "PD has another leader that knows the stores", func() bool {
		up := c.up(t)
		return len(up) == 6 && !slices.ContainsFunc(members, func(m string) bool { return up[m] })
	})
	c.named(t, members, "")
	for _, member := range members {
		out := c.tidb(t, 0, "why", cluster, member).Stdout
		if !strings.Contains(out, "its own port answers") {
			t.Errorf("why does not say that %s answers:\n%s", member, out)
		}
	}
	c.keptBy(t, members, "its own port answers")
	// PD does without the member, which it cannot reach. A restart takes nothing away, and may help.
	c.nothingTaken(t, members, "", members[0], "upgrade", cluster, to, "--yes")
	c.host(t, "mend", host)
	c.tidb(t, 0, "upgrade", cluster, to, "--yes")
	c.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: to})
	c.wantCopies(t, 3)
	t.Logf("the longest write was %v, from the cut to the end of the upgrade", c.longest(begun))
}

// cutFromAPI cuts the host of PD's leader from the API server. PD and the stores of other hosts reach it, so that it
// serves. The plugin cannot ask it, and takes nothing down.
func (c *cuts) cutFromAPI(t *testing.T) {
	host := c.leads(t)
	begun, members := time.Now(), c.membersOn(t, host)
	c.host(t, "cut", host, "from", "api")
	r := c.plugin.Run(t.Context(), nil, "status", cluster)
	t.Logf("status at once: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	if want := "PD's leader " + members[0] + " cannot be reached from here"; !strings.Contains(r.Stdout, want) {
		t.Errorf("status does not say: %s", want)
	}
	c.eventually(t, "Kubernetes hears nothing of "+host, func() bool { return !c.nodeReady(t, host) })
	for _, args := range [][]string{{"status", cluster}, {"why", cluster, members[0]}, {"doctor", cluster}} {
		r := c.plugin.Run(t.Context(), nil, args...)
		t.Logf("%v: exit %d\n%s", args, r.Code, r.Stdout)
		if !strings.Contains(r.Stdout, members[0]) || !strings.Contains(r.Stdout, host) {
			t.Errorf("%v does not name %s on %s", args, members[0], host)
		}
	}
	c.keptBy(t, members[:1], "")
	refused := c.tidb(t, 3, "restart", cluster, "pd", "--yes")
	if said := refused.Stdout + refused.Stderr; !strings.Contains(said, "so nothing was changed") {
		t.Errorf("a restart that cannot be checked says: %s", said)
	}
	c.host(t, "mend", host)
	c.tidb(t, 0, "sync", cluster)
	c.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: to})
	t.Logf("the longest write was %v, from the cut to its end", c.longest(begun))
}

// leads makes a member of PD its leader, and returns the host of that member. It is the first one that a rollout would
// restart, of those that are not on the host with the API server.
func (c *cuts) leads(t *testing.T) (host string) {
	t.Helper()
	nodes, member := c.nodesOf(t), ""
	for name, node := range nodes {
		if strings.Contains(name, "-pd-") && node != "node0" && name > member {
			member, host = name, node
		}
	}
	leader, err := c.pd.Leader(t.Context())
	if err == nil && leader.Name != member {
		err = c.pd.TransferLeader(t.Context(), member)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range c.stores(t) {
		if name, _, _ := strings.Cut(store.Address, "."); nodes[name] == host {
			t.Logf("%s has PD's leader %s, and the leaders of %d regions in %s", host, member, store.LeaderCount, name)
		}
	}
	return host
}

// stores are the stores as PD lists them.
func (c *cuts) stores(t *testing.T) []pd.Store {
	t.Helper()
	all, err := c.pd.Stores(t.Context(), pd.StoreUp, pd.StoreOffline)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// longest is the longest write that began since a time, or one second if none took longer.
func (c *cuts) longest(since time.Time) time.Duration {
	longest := time.Second
	for _, stall := range c.writer.Now().Stalls {
		if stall.At.Add(stall.Took).After(since) {
			longest = max(longest, stall.Took)
		}
	}
	return longest.Round(10 * time.Millisecond)
}

// nodesOf are the nodes of the cluster's pods, by the names of the pods.
func (s environment) nodesOf(t *testing.T) map[string]string {
	t.Helper()
	nodes := map[string]string{}
	for _, p := range s.podsNow(t) {
		nodes[p.Name] = p.Spec.NodeName
	}
	return nodes
}

// membersOn are the members on a host. There is one of PD and one of TiKV at least.
func (s environment) membersOn(t *testing.T, host string) (names []string) {
	t.Helper()
	for name, node := range s.nodesOf(t) {
		if node == host {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 2 {
		t.Fatalf("on %s: %v, want a member of PD and a store", host, names)
	}
	return names
}

// up reports of each member that is known whether status calls it Up, but for members of TiDB.
func (s environment) up(t *testing.T) map[string]bool {
	t.Helper()
	up, down := map[string]bool{}, 0
	for _, m := range s.look(t).Members {
		if m.Component != "tidb" {
			if up[m.Name] = m.Up; !m.Up {
				down++
			}
		}
	}
	if down > 2 {
		return nil // PD has no leader yet, or one that has not heard of all stores
	}
	return up
}

// named asserts that status has each of the members as not Up, for a cause that contains a text, and doctor as well.
func (s environment) named(t *testing.T, members []string, cause string) {
	t.Helper()
	seen := s.look(t)
	doctor := s.tidb(t, 10, "doctor", cluster).Stdout
	t.Logf("doctor:\n%s", doctor)
	for _, m := range seen.Members {
		switch broken := slices.Contains(members, m.Name); {
		case broken && (m.Up || m.Trouble == "" || !strings.Contains(m.Trouble, cause)):
			t.Errorf("status of %s: up %t, %q, want %q", m.Name, m.Up, m.Trouble, cause)
		case broken && (!strings.Contains(doctor, m.Name) || !strings.Contains(doctor, cause)):
			t.Errorf("doctor does not name %s, %q:\n%s", m.Name, cause, doctor)
		case !broken && !m.Up && m.Component != "tidb":
			t.Errorf("status of %s, which serves: %q", m.Name, m.Trouble)
		}
		if strings.Contains(m.Trouble, "gone") {
			t.Errorf("status of %s, whose host is not known to be gone: %q", m.Name, m.Trouble)
		}
	}
}

// keptBy asserts that a failover gives up none of the members, for a reason.
func (s environment) keptBy(t *testing.T, members []string, reason string) {
	t.Helper()
	r := s.plugin.Run(t.Context(), nil, "failover", cluster, "run", "--now", "--yes", "--timeout", brief)
	t.Logf("failover run --now: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	list := s.tidb(t, 0, "failover", cluster).Stdout
	for _, m := range members {
		if !strings.Contains(list, m) || !strings.Contains(list, "kept: "+reason) {
			t.Errorf("failover does not say that %s is kept: %s\n%s", m, reason, list)
		}
	}
	s.wantNoFailures(t)
}

// nothingTaken runs a command that cannot end while a host is broken. It names one of the members at least, and why it
// waits, and no pod is deleted, but for those that may be. Components that are queued behind PD need not be named.
func (s environment) nothingTaken(t *testing.T, members []string, cause string, may string, args ...string) {
	t.Helper()
	before := s.identities(t, may)
	events := s.driven(t, 4, append(args, "--timeout", brief)...)
	said := texts(events)
	t.Logf("%v:\n%s", args, said)
	if !slices.ContainsFunc(members, func(m string) bool { return reported(events, m, cause) }) {
		t.Errorf("%v names none of %v, %q", args, members, cause)
	}
	if after := s.identities(t, may); after != before {
		t.Errorf("%v: pods were %s and are %s", args, before, after)
	}
}

// wantCopies waits until each region has as many copies as there are stores, and none is missing or behind. Before that a
// region may lose its quorum with one store.
func (s environment) wantCopies(t *testing.T, stores int) {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	s.eventually(t, "PD has all copies of all regions", func() bool {
		counts, err := client.Isolation(t.Context())
		all, failure := client.Stores(t.Context(), pd.StoreUp)
		if err != nil || failure != nil {
			t.Log(err, failure)
			return false
		}
		full := 0
		for i := range all {
			if all[i].Healthy() && all[i].RegionCount == counts.Regions {
				full++
			}
		}
		return full == stores && len(counts.Unsound) > 0 && counts.Unsound["miss-peer"]+counts.Unsound["pending-peer"] == 0
	})
}

// identities are the pods of the cluster but one, with their identities, and those that are being deleted.
func (s environment) identities(t *testing.T, but string) string {
	t.Helper()
	var all []string
	for _, p := range s.podsNow(t) {
		if p.Name == but {
			continue
		}
		all = append(all, fmt.Sprint(p.Name, " ", p.UID, " ", p.DeletionTimestamp))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
