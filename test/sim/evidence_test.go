package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A new leader of PD knows heartbeats only as they were last saved: it calls every
// store Disconnected for some seconds, and all of them serve. None is restarted with
// its leaders. (A.1)
func TestPDLeaderResignsBeforeARollout(t *testing.T) {
	for _, members := range []int{1, 3} {
		w := settled(Options{PD: members, TiKV: 3, TiDB: 1, Faults: Faults{Saved: true}})
		w.Pass(200) // the saved heartbeats are old
		w.led()
		w.Upgrade("v2", topology.TiKV)
		fine(t, w)
		inOrder(t, w, "evict region leaders from basic-tikv-2", "restart basic-tikv-2",
			"evict region leaders from basic-tikv-1", "restart basic-tikv-1", "restart basic-tikv-0")
	}
}

// The same during a rollout, just before each of its steps.
func TestPDLeaderResignsInARollout(t *testing.T) {
	for _, at := range []string{
		"update StatefulSet basic-tikv", "evict region leaders from basic-tikv-2", "restart basic-tikv-2",
		"allow region leaders on basic-tikv-2", "evict region leaders from basic-tikv-1", "restart basic-tikv-0",
	} {
		for after := range 4 {
			w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Faults: Faults{Saved: true}})
			w.Pass(200)
			w.Upgrade("v2", topology.TiKV)
			w.OnStep(at, func() {
				due := w.t + int64(4*after)
				w.When(func(w *Model) bool { return w.t >= due }, w.led)
			})
			fine(t, w)
		}
	}
}

// PD and TiKV change together: PD's own rollout changes its leader, and TiKV's begins
// within seconds of that.
func TestPDAndTiKVChangeTogether(t *testing.T) {
	for _, members := range []int{1, 3} {
		w := settled(Options{PD: members, TiKV: 3, TiDB: 1, Faults: Faults{Saved: true}})
		w.Pass(200)
		w.Upgrade("v2")
		fine(t, w)
	}
}

// A store restarts, and PD does not hear of another one that serves: to restart that
// one as well would cost regions their quorum. (A.1)
func TestSilentStoreBesideOneThatIsDown(t *testing.T) {
	for name, down := range map[string]int64{"it restarts": 60, "it is lost for an hour": 4000} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
			w.lose(w.pods[tikv][0], down)
			w.Pass(int(min(down-20, 3600)))
			w.ownStore(4).muffled = w.t + 600
			w.Pass(25)
			w.Upgrade("v2", topology.TiKV)
			_, _ = w.Drive(15 * time.Minute)
			w.Pass(4000)
			fine(t, w)
		})
	}
}

// One member of PD is lost, and PD's health check misses another one for a moment: to
// restart that one would cost PD its quorum. (A.1)
func TestMissedPingBesideALostMember(t *testing.T) {
	for _, lost := range []int{0, 2} {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
		w.lose(w.pods[pd][lost], 1200)
		w.Pass(60)
		for i := range 3 {
			w.pd.memberAt(i).unheard = w.t + 30
		}
		w.Upgrade("v2", topology.PD)
		_, _ = w.Drive(10 * time.Minute)
		w.Pass(1200)
		fine(t, w)
	}
}

// One error of a status port is no reason to restart a TiDB server that serves. (A.1)
func TestOneErrorOfAStatusPort(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	w.halt(w.pods[tidb][0], 100)
	w.pods[tidb][1].refuses = w.t + 20
	w.Upgrade("v2", topology.TiDB)
	fine(t, w)
}

// Kubernetes gets no reports from the host of one store, which serves, and another store is down.
// (A.1)
func TestOutOfSightBesideADeadStore(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
	w.lose(w.pods[tikv][0], 4000)
	w.pods[tikv][4].unseen = w.t + 900
	w.Upgrade("v2", topology.TiKV)
	_, _ = w.Drive(14 * time.Minute)
	notInTranscript(t, w, "restart basic-tikv-4")
	w.Pass(4000)
	fine(t, w)
}

// PD was away for longer than max-store-down-time. When it is back it reports every store as Down
// for some seconds, and those that are really down for only a minute.
func TestPDWasAwayForLong(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true, Faults: Faults{Saved: true}})
	w.lose(w.pods[pd][1], 3000)
	w.lose(w.pods[pd][2], 3000)
	w.Pass(2960)
	w.lose(w.pods[tikv][3], 200)
	w.Pass(20)
	_, _ = w.Drive(10 * time.Minute)
	notInTranscript(t, w, "give up basic-tikv")
	fine(t, w)
}

// A suspended cluster comes back hours later. Stores whose pods Kubernetes has yet to
// make are not given up for the time of the suspension. (A.2)
func TestResumedAfterHours(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true, Ordered: [components]bool{tikv: inOrder}})
		w.Suspend(kinds[:]...)
		_, _ = w.Drive(10 * time.Minute)
		w.Pass(8 * 3600)
		w.Suspend()
		fine(t, w)
		notInTranscript(t, w, "give up")
	}
}

// A quota keeps the pod of a store from being made for a while, long after its last
// one was deleted. (A.2)
func TestPodHeldBackAfterSuspension(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true})
	w.Suspend(topology.TiKV, topology.TiDB)
	_, _ = w.Drive(10 * time.Minute)
	w.Pass(8 * 3600)
	w.Upgrade("v1-refused", topology.TiKV)
	w.Suspend()
	_, _ = w.Drive(2 * time.Minute)
	notInTranscript(t, w, "give up")
	w.Upgrade("v1", topology.TiKV)
	fine(t, w)
	notInTranscript(t, w, "give up")
}

// The new template breaks the status port of TiDB. The rollout can be taken back, and
// it can go on with another template. (A.3)
func TestTemplateWithoutStatusPort(t *testing.T) {
	for _, next := range []string{"v1", "v3"} {
		for _, servers := range []int{1, 3} {
			w := settled(Options{PD: 3, TiKV: 3, TiDB: servers})
			w.Upgrade("v2-statusless", topology.TiDB)
			_, _ = w.Drive(30 * time.Minute)
			if !inTranscript(w, "blocked: basic-tidb-") {
				t.Errorf("no gate is blocked\n%s", w.Transcript())
			}
			w.Upgrade(next, topology.TiDB)
			fine(t, w)
		}
	}
}

// The connection through the kubelet fails, so that the server cannot be asked. It may serve, and
// is not restarted.
func TestTunnelFailsForAWhile(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	for _, p := range w.pods[tidb] {
		if p != nil {
			p.unreachable = w.t + 120
		}
	}
	w.Upgrade("v2", topology.TiDB)
	_, _ = w.Drive(100 * time.Second)
	notInTranscript(t, w, "restart basic-tidb")
	fine(t, w)
}
