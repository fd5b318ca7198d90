package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// local is a cluster whose data is on disks of the hosts. A member can run only on the host that has its data.
const local = `  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}]
  pd: {baseImage: pingcap/pd, replicas: 3, storageClassName: host-disk, requests: {storage: 1Gi}, config: {}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, storageClassName: host-disk, requests: {storage: 1Gi}, config: {}}
  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}`

// gone is the host that does not come back.
const gone = "node2"

// TestHostsGone loses a host with its disks for good, under a client that writes. A person deletes the node, and runs the
// commands that are printed. It needs three hosts: make e2e-hosts.
func TestHostsGone(t *testing.T) {
	needsHosts(t)
	s := newEnvironment(t, "e2e-gone")
	s.apply(t, local)
	s.wantBudgets(t)
	db, writer := s.writes(t, "gone")
	t.Cleanup(func() { s.host(t, "mend") })
	s.wantCopies(t, 3)
	lost := s.membersOn(t, gone)
	store := lost[slices.IndexFunc(lost, func(m string) bool { return strings.Contains(m, "-tikv-") })]
	s.host(t, "crash", gone)
	if err := s.Kube.CoreV1().Nodes().Delete(t.Context(), gone, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "Kubernetes has made the lost pods again, and has no place for them", func() bool { return len(s.pending(t)) >= 2 })
	s.namedLost(t, lost)
	events := s.driven(t, 0, "failover", cluster, "run", "--now", "--yes")
	t.Log(texts(events))
	s.wantServing(t, 3, 3)
	s.discards(t, events, store)
	s.wantServing(t, 3, 4)
	if node := s.nodesOf(t)[store]; node == gone || node == "" {
		t.Errorf("%s is on the node %q, want one that is there", store, node)
	}
	s.tidb(t, 0, "failover", cluster, "recover", "--yes")
	s.wantServing(t, 3, 3)
	s.backAfterAll(t)
	s.wantRows(t, db, writer, "gone")
}

// backAfterAll starts the host again, which the next test needs. The member of PD has come back on another host already,
// because its disk could be used only on the host that was gone. Where that could not be read, a further member is there. It
// leaves when the process of the member that was removed has run for long without joining PD. A run ends before that.
func (s environment) backAfterAll(t *testing.T) {
	t.Helper()
	s.host(t, "mend")
	s.eventually(t, gone+" is a node again", func() bool {
		node, err := s.Kube.CoreV1().Nodes().Get(t.Context(), gone, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	poll(t, 5*time.Minute, "the replacement of the member of PD has left", func(context.Context) bool {
		s.tidb(t, 0, "sync", cluster)
		return len(s.podsNow(t)) == 8
	})
	s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: from})
}

// namedLost asserts that status and failover name the members that have no place, and that nothing is given up unasked.
func (s environment) namedLost(t *testing.T, lost []string) {
	t.Helper()
	status, list := s.tidb(t, 0, "status", cluster).Stdout, s.tidb(t, 0, "failover", cluster).Stdout
	t.Logf("%s\n%s", status, list)
	for _, m := range lost {
		if strings.Contains(m, "-tidb-") {
			continue // it has no data, so that it runs on another host
		}
		if !strings.Contains(list, m) || !strings.Contains(status, "waits for: "+m+" not serving: Unschedulable") {
			t.Errorf("%s is not named as one that has no place:\n%s\n%s", m, status, list)
		}
	}
	s.wantNoFailures(t)
}

// discards pastes the command that gives up the data of a store, as the run printed it. Without a person's consent it
// changes nothing.
func (s environment) discards(t *testing.T, events []event.Event, store string) {
	t.Helper()
	var line string
	for _, e := range events {
		for _, advice := range e.Remedy {
			if strings.Contains(advice.Command, "--discard "+store+" ") {
				line = advice.Command
			}
		}
	}
	if line == "" {
		t.Fatalf("no event has the command that gives up the data of %s", store)
	}
	out, code := s.paste(t, line)
	t.Logf("%s: exit %d\n%s", line, code, out)
	if code == 0 || !strings.Contains(out, "--yes") {
		t.Errorf("%s: exit %d, want a question for consent:\n%s", line, code, out)
	}
	out, code = s.paste(t, line+" --now --yes")
	t.Logf("%s --now --yes: exit %d\n%s", line, code, out)
	if code != 0 {
		t.Errorf("%s --now --yes: exit %d\n%s", line, code, out)
	}
}

// wantServing asserts that so many members of PD are healthy, and so many stores Up, by PD's account.
func (s environment) wantServing(t *testing.T, members, stores int) {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	s.eventually(t, "PD has the members and stores", func() bool {
		health, err := client.Health(t.Context())
		all, failure := client.Stores(t.Context(), pd.StoreUp)
		if err != nil || failure != nil {
			t.Log(err, failure)
			return false
		}
		sick := slices.ContainsFunc(health, func(h pd.MemberHealth) bool { return !h.Healthy })
		up := 0
		for i := range all {
			if all[i].Healthy() {
				up++
			}
		}
		return !sick && len(health) == members && up == stores
	})
}
