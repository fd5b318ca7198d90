package act

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestRestartAsksPDOnceMore: just before a member of PD is restarted, PD says that it can spare the member, or the
// member is known not to serve. Else nothing is done.
func TestRestartAsksPDOnceMore(t *testing.T) {
	name := cluster.PDName
	silent := func(s *pd.FakeState, ordinals ...int) {
		s.Silent = map[string]bool{}
		for _, n := range ordinals {
			s.Silent[name(n)] = true
		}
	}
	for what, c := range map[string]struct {
		set        func(*pd.FakeState)
		leaderless bool // when the step was decided
		committed  uint64
		stopped    bool // the member's container does not run
		addressed  bool // by its status only, which may be old
		refused    string
	}{
		"all serve":                  {set: func(*pd.FakeState) {}},
		"it does not serve itself":   {set: func(s *pd.FakeState) { s.Unhealthy[name(2)] = true }},
		"another one does not serve": {set: func(s *pd.FakeState) { s.Unhealthy[name(1)] = true }, refused: "no quorum without"},
		"another one does not answer, PD says that it is healthy": {set: func(s *pd.FakeState) { silent(s, 1) }},
		"another one lags, PD says that it is healthy":            {set: func(s *pd.FakeState) { s.Lagging = map[string]bool{name(1): true} }},
		"PD's leader cannot be reached":                           {set: func(s *pd.FakeState) { silent(s, 0) }, refused: "no quorum without"},
		"the same, and the member does not run":                   {set: func(s *pd.FakeState) { silent(s, 0, 2) }, stopped: true},
		"PD's leader, the member itself, cannot be reached":       {set: func(s *pd.FakeState) { s.Leader = name(2); silent(s, 2) }},
		"nobody answers": {set: func(s *pd.FakeState) { silent(s, 0, 1, 2) }, refused: "cannot be asked"},
		"nobody answers, and the member does not run":                            {set: func(s *pd.FakeState) { silent(s, 0, 1, 2) }, stopped: true},
		"nobody answers, and by a report of its kubelet the member does not run": {set: func(s *pd.FakeState) { silent(s, 0, 1, 2) }, stopped: true, addressed: true, refused: "cannot be asked"},
		"nobody answers, and nothing listens on its port": {set: func(s *pd.FakeState) {
			silent(s, 0, 1)
			s.Refusing = map[string]bool{name(2): true}
		}},
		"nobody answers, and nothing listens on another's port": {set: func(s *pd.FakeState) {
			silent(s, 0, 2)
			s.Refusing = map[string]bool{name(1): true}
		}, refused: "cannot be asked"},
		"an election":                      {set: func(s *pd.FakeState) { s.Leader = "" }, refused: "does not say"},
		"PD has no leader, as decided for": {set: func(s *pd.FakeState) { s.Leader = "" }, leaderless: true, committed: 9},
		"it had none, and has one now":     {set: func(s *pd.FakeState) {}, leaderless: true, committed: 9, refused: "has a leader now"},
		"it had none, has one now, and the member does not run": {
			set: func(s *pd.FakeState) { silent(s, 2) }, leaderless: true, committed: 9, stopped: true,
		},
		"it had none, has had one since, and elects another one": {
			set: func(s *pd.FakeState) { s.Leader = "" }, leaderless: true, committed: 8, refused: "has had a leader since",
		},
		"it had none, and most of its members do not answer now": {set: func(s *pd.FakeState) {
			s.Leader = ""
			silent(s, 1, 2)
		}, leaderless: true, committed: 9, refused: "does not say"},
		"only the member answers, and follows none": {set: func(s *pd.FakeState) {
			s.Leader = ""
			silent(s, 0, 1)
		}, leaderless: true, committed: 9},
		"PD has removed the member": {set: func(s *pd.FakeState) { s.Members = s.Members[:2] }},
		"PD of two":                 {set: func(s *pd.FakeState) { s.Members = s.Members[1:]; s.Leader = name(1) }},
	} {
		t.Run(what, func(t *testing.T) {
			p := pod(topology.PD, 2)
			if !c.stopped {
				running(p)
			}
			if c.addressed {
				p.Spec.NodeName, p.Status.PodIP = "lost", "10.0.0.1"
			}
			objects := []runtime.Object{set(topology.PD, 3, 3), p}
			for i := range 2 {
				objects = append(objects, running(pod(topology.PD, i)))
			}
			w := newFixture(t, objects...)
			w.pd.Update(c.set)
			next := step.Restart{Component: topology.PD, Basis: of(topology.PD), Member: p.Name, Ordinal: 2, From: 3, PodUID: string(p.UID), Leaderless: c.leaderless, Committed: c.committed}
			if c.refused == "" {
				w.do(t, next)
				if len(w.writes()) != 1 {
					t.Errorf("wrote %q", w.writes())
				}
				return
			}
			w.isStale(t, next)
			var s *Stale
			if err := w.Do(t.Context(), next); !errors.As(err, &s) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v", err)
			}
		})
	}
}

// running gives a pod a container of PD that runs, and a node.
func running(p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName = "node"
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return p
}
