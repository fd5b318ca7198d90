package wire

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestLeaderOutOfReach: PD's leader cannot be reached from here while PD serves everybody else. A rollout of PD is due,
// and no member of PD is restarted, because PD has a leader although the command cannot ask that leader.
func TestLeaderOutOfReach(t *testing.T) {
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Must(t, 0, "create", "basic", "--version", "v8.1.0", "--storage", "1Gi", "--tidb", "1")
		w.leaveDue(t, "upgrade", "basic", "v8.1.1")
		w.Cut(topology.PD, w.leader())
		before, restarts := len(w.requests), w.Model.Soft.Restarts
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r := w.Command(ctx, "sync", "basic", "--yes")
		if r.Code == 0 {
			t.Error("the rollout has ended without PD's leader")
		}
		for _, q := range w.requests[before:] {
			if strings.HasPrefix(q.What, "DELETE ") && strings.Contains(q.What, "/pods/") {
				t.Errorf("a pod was deleted: %v", q)
			}
		}
		if n := w.Model.Soft.Restarts - restarts; n > 0 {
			t.Errorf("%d members that served were restarted", n)
		}
		w.wantUnbroken(t)
		w.Mend()
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantUnbroken(t)
	})
}

// leaveDue runs a command for a second, so that its rollout is due.
func (w *World) leaveDue(t *testing.T, args ...string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	w.Command(ctx, append(args, "--yes")...)
}

// leader returns the ordinal of PD's leader.
func (w *World) leader() int {
	for _, m := range w.Model.PDMembers() {
		if m.ID == w.Model.PDLeader() {
			return m.Ordinal
		}
	}
	return -1
}

// TestOldReportOfVoters: by old reports of their kubelets two of three members of PD do not run, and nothing reaches the
// members through these kubelets. They vote, so that each restart would take PD's quorum for all that is known.
func TestOldReportOfVoters(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.MovePDLeader(w.cluster.PodName(topology.PD, 0))
		w.Model.ReportOld(topology.PD, 1, 300)
		w.Model.ReportOld(topology.PD, 2, 300)
		_, writes := w.attempt(t, 4*time.Minute, "restart", "basic", "pd", "--yes")
		wantNone(t, writes, "DELETE", pods)
		w.Sleep(3 * time.Minute)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

// TestVoterUnderAnotherName: PD knows a member under a name that is the name of no pod. The member is known by its
// address, so that PD's leader moves and PD keeps its quorum.
func TestVoterUnderAnotherName(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.members.PDNames = map[int]string{1: "by-hand"}
		w.Must(t, 0, "restart", "basic", "pd", "--yes")
	})
}

// TestVoterUnderAnotherAddress: PD lists a member under a name and an address of no pod. The member votes, so the pod is
// not restarted as one that is no member of PD, and no other one is restarted beside it.
func TestVoterUnderAnotherAddress(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		for _, n := range []int{(w.leader() + 1) % 3, w.leader()} {
			w.members.PDNames, w.members.PDHosts = map[int]string{n: "by-hand"}, map[int]string{n: "by-hand.db.svc"}
			text, writes := w.attempt(t, time.Minute, "restart", "basic", "pd", "--yes")
			wantText(t, text, "PD lists no member at the address of its pod, and the process itself follows a leader")
			wantNone(t, writes, "DELETE", pods)
			wantNone(t, writes, "DELETE", "/members/")
			w.members.PDNames, w.members.PDHosts = nil, nil
			w.Must(t, 0, "sync", "basic", "--yes")
		}
	})
}
