package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestPartsAcross: a database of two TidbClusters with members of PD in each, as for two Kubernetes clusters. Both are in
// one Kubernetes cluster here, in two namespaces and with the same name. So all names of hosts are those of parts across
// Kubernetes clusters, and neither driver reaches the pods of the other part. What the test does not show is a network
// between two Kubernetes clusters.
func TestPartsAcross(t *testing.T) {
	t.Parallel()
	const second = "e2e-across-more"
	s, other := newEnvironment(t, "e2e-across"), newEnvironment(t, second)
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("both are created", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "both.yaml")
		both := other.across("  cluster: {name: "+cluster+", namespace: e2e-across, clusterDomain: cluster.local}\n", 1, 1) + "---\n" + s.across("", 2, 2)
		if err := os.WriteFile(file, []byte(both), 0o600); err != nil {
			t.Fatal(err)
		}
		s.tidb(t, 0, "apply", "-f", file, "-n", "") // each has its namespace
		s.wantCleanPD(t, 3, 3)
	})
	db, writer := s.writes(t, "across")
	step("the cluster with data cannot be left alone", func(t *testing.T) {
		if r := other.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "scale "+cluster+" tikv=0") {
			t.Errorf("%s", r.Stderr)
		}
	})
	step("the only member of a part hands PD's leader over", func(t *testing.T) {
		other.tidb(t, 0, "transfer-leader", cluster, cluster+"-pd-0")
		events := other.driven(t, 0, "restart", cluster, "pd", "--yes")
		moves := slices.IndexFunc(events, func(e event.Event) bool {
			return strings.Contains(e.Step, "to "+cluster+"-pd-") && strings.Contains(e.Step, ".e2e-across.svc")
		})
		restarts := slices.IndexFunc(events, func(e event.Event) bool { return strings.HasPrefix(e.Step, "restart "+cluster+"-pd-0") })
		if moves < 0 || restarts < moves {
			t.Errorf("the leader did not move to the other part before the restart: %s", texts(events))
		}
	})
	step("both upgrade", func(t *testing.T) {
		// Each part waits for PD of the other part, so that one after the other would never end.
		s.tidb(t, 0, "upgrade", "--all", to, "-A", "-l", "e2e=across", "--yes")
		s.wantMembers(t, map[string]int{"pd": 2, "tikv": 2, "tidb": 1}, release{all: to})
		other.wantMembers(t, map[string]int{"pd": 1, "tikv": 1}, release{all: to})
	})
	step("a part leaves", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "tikv=3", "--yes")
		other.tidb(t, 0, "scale", cluster, "tikv=0", "--yes")
		other.tidb(t, 0, "delete", cluster, "--yes")
		s.wantCleanPD(t, 2, 3)
	})
	s.wantRows(t, db, writer, "across")
	db.Close()
}

// across returns the manifest of a part of a database across Kubernetes clusters. The part that joins no other one has
// TiDB, too.
func (s environment) across(joins string, members, stores int) string {
	spec := joins + "  acrossK8s: true\n  clusterDomain: cluster.local\n" +
		"  pd: {baseImage: pingcap/pd, replicas: " + strconv.Itoa(members) + ", requests: {storage: 1Gi}, config: {}}\n" +
		"  tikv: {baseImage: pingcap/tikv, replicas: " + strconv.Itoa(stores) + ", requests: {storage: 1Gi}, config: {}}"
	if joins == "" {
		spec += "\n  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}}"
	}
	named := "{name: " + cluster + ", namespace: " + s.plugin.Namespace + ", labels: {e2e: across}}"
	return strings.Replace(manifest(spec), "{name: "+cluster+"}", named, 1)
}
