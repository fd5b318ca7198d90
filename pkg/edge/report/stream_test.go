package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// dawn is when the streams begin.
var dawn = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// stream collects events for the tests, each at a moment after dawn.
type stream []event.Event

func (s *stream) at(after time.Duration, e event.Event) {
	e.APIVersion, e.Time = event.Version, dawn.Add(after)
	e.Context, e.Namespace, e.Cluster = "prod-eu", "tidb", "basic"
	*s = append(*s, e)
}

func (s *stream) step(after, took time.Duration, component, member, action, text string) {
	e := event.Event{Type: event.Started, Component: component, Member: member, Action: action, Step: text}
	s.at(after, e)
	e.Type, e.Seconds = event.Finished, took.Seconds()
	s.at(after+took, e)
}

func (s *stream) progress(after time.Duration, component string, ready, updated, wanted int) {
	s.at(after, event.Event{
		Type: event.Progress, Component: component, Ready: &ready, Updated: &updated, Wanted: &wanted,
	})
}

func (s *stream) gate(after time.Duration, g event.Event, observed ...string) {
	begun := dawn.Add(after)
	for i, o := range observed {
		e := g
		e.Type, e.Message, e.Observed, e.Since = event.Waiting, g.Message+": "+o, o, &begun
		if n := int64(0); strings.HasSuffix(o, " leaders left") {
			if _, err := fmt.Sscan(o, &n); err == nil {
				e.Left, e.Unit = &n, "leaders"
			}
		}
		s.at(after+time.Duration(i)*2*time.Second, e)
	}
}

func (s *stream) pass(after, waited time.Duration, g event.Event, message string) {
	g.Message, g.Type, g.Seconds, g.Remedy, g.Since = message, event.Passed, waited.Seconds(), nil, later(after-waited)
	s.at(after, g)
}

func (s *stream) done(after time.Duration, outcome string, code int, err string, help ...remedy.Advice) {
	s.at(after, event.Event{
		Type: event.Done, Outcome: outcome, ExitCode: &code, Seconds: after.Seconds(), Error: err, Remedy: help,
	})
}

var (
	podReady = event.Event{
		Component: "pd", Member: "basic-pd-2", Reason: "MemberServing", Message: "basic-pd-2 not serving", Source: event.FromKubernetes,
		Remedy: []remedy.Advice{{Text: "see why", Command: "kubectl describe pod basic-pd-2 -n tidb --context prod-eu"}},
	}
	evicted = event.Event{
		Component: "tikv", Member: "basic-tikv-2", Reason: "LeadersEvicted", Message: "basic-tikv-2: leaders not evicted", Source: event.FromDatabase,
		Deadline: later(25 * time.Hour),
		Remedy:   []remedy.Advice{{Text: "kubectl tidb status basic shows what the other stores hold; a cluster of three stores moves leaders slowly when one of them is busy"}},
	}
)

func later(d time.Duration) *time.Time {
	t := dawn.Add(d)
	return &t
}

// upgrade returns an upgrade that restarts a PD member and then waits for leaders to leave a store.
func upgrade() stream {
	var s stream
	s.at(time.Second, event.Event{Type: event.Planned, Outcome: "act"})
	s.progress(time.Second, "pd", 3, 0, 3)
	s.progress(time.Second, "tikv", 3, 0, 3)
	s.progress(time.Second, "tidb", 2, 0, 2)
	s.step(time.Second, 300*time.Millisecond, "pd", "", "Apply", "update StatefulSet basic-pd")
	s.step(2*time.Second, 3*time.Second, "pd", "basic-pd-2", "MoveLeader", "move PD leader from basic-pd-2 to basic-pd-0")
	s.step(6*time.Second, time.Second/5, "pd", "basic-pd-2", "Restart", "restart basic-pd-2")
	s.progress(7*time.Second, "pd", 2, 0, 3)
	s.gate(8*time.Second, podReady, "ContainerCreating", "image is being pulled")
	s.progress(55*time.Second, "pd", 3, 1, 3)
	s.pass(55*time.Second, 47*time.Second, podReady, "basic-pd-2 serving")
	s.at(56*time.Second, event.Event{
		Type: event.Notice, Reason: string(event.NewerTemplate), Component: "pd", Message: "pod template of PD was written by a newer version of this plugin; it is kept",
	})
	s.step(56*time.Second, time.Second/2, "tikv", "basic-tikv-2", "EvictLeaders", "evict region leaders from basic-tikv-2")
	s.gate(57*time.Second, evicted, "1200 leaders left", "1100 leaders left", "1010 leaders left", "900 leaders left", "700 leaders left", "340 leaders left")
	return s
}

// converged returns the same upgrade until it has converged.
func converged() stream {
	s := upgrade()
	s.pass(110*time.Second, 53*time.Second, evicted, "basic-tikv-2: leaders evicted")
	s.step(111*time.Second, time.Second, "tikv", "basic-tikv-2", "Restart", "restart basic-tikv-2")
	s.progress(115*time.Second, "pd", 3, 3, 3)
	s.progress(116*time.Second, "tikv", 3, 3, 3)
	s.progress(117*time.Second, "tidb", 2, 2, 2)
	s.done(118*time.Second, event.OutcomeConverged, 0, "")
	return s
}

// timedOut returns one that ends while leaders still leave.
func timedOut() stream {
	s := upgrade()
	s.done(5*time.Minute, event.OutcomeTimedOut, 4, "")
	return s
}

// blocked returns one that needs a person, after a step that fails for a while.
func blocked() stream {
	var s stream
	s.at(time.Second, event.Event{Type: event.Planned, Outcome: "act"})
	s.progress(time.Second, "tikv", 3, 3, 3)
	e := event.Event{Component: "tikv", Action: "Apply", Step: "update StatefulSet basic-tikv"}
	for i := range 4 {
		at := time.Duration(2+3*i) * time.Second
		e.Type, e.Error = event.Started, ""
		s.at(at, e)
		e.Type, e.Error = event.Failed, "Internal error occurred:\n\tetcdserver: \x1b[31mrequest timed out"
		s.at(at+time.Second, e)
	}
	s.step(14*time.Second, time.Second, "tikv", "", "Apply", "update StatefulSet basic-tikv")
	g := event.Event{
		Type: event.Blocked, Component: "tikv", Member: "basic-tikv-0", Reason: "VolumeResized", Message: "basic-tikv-0: volume not resized: StorageClass standard does not allow it", Source: event.FromKubernetes,
		Observed: "StorageClass standard does not allow it", Remedy: []remedy.Advice{
			{Text: "let volumes of StorageClass standard grow, if its driver can do that", Command: `kubectl patch storageclass standard --type merge -p '{"allowVolumeExpansion":true}' --context prod-eu`},
			{Text: "ask for the size that they have", Command: "kubectl tidb edit basic -n tidb --context prod-eu"},
		},
	}
	s.at(16*time.Second, g)
	s.done(17*time.Second, event.OutcomeBlocked, 3, "")
	return s
}

// unread returns one in which PD stops answering while leaders leave, and then the API server.
func unread() stream {
	s := upgrade()
	n := func(after time.Duration, component string, ready, unknown, updated, wanted int) {
		s.progress(after, component, ready, updated, wanted)
		s[len(s)-1].Unknown = unknown
	}
	n(70*time.Second, "pd", 0, 2, 1, 3)
	n(70*time.Second, "tikv", 0, 3, 0, 3)
	s.pass(70*time.Second, 13*time.Second, evicted, "basic-tikv-2: leaders evicted")
	s[len(s)-1].Outcome = event.OutcomeDropped
	s.gate(70*time.Second, event.Event{
		Component: "tikv", Reason: "PDServing", Message: "TiKV: PD not serving", Source: event.FromDatabase,
	}, "PD has no leader")
	for i := range 4 {
		at := time.Duration(80+10*i) * time.Second
		s.at(at, event.Event{Type: event.Failed, Step: "observe the cluster", Error: "Get \"https://prod-eu.example.com:6443/api/v1/namespaces/tidb/pods\": dial tcp 10.0.0.1:6443: connect: connection refused"})
	}
	n(130*time.Second, "pd", 2, 1, 1, 3)
	n(130*time.Second, "tikv", 3, 0, 0, 3)
	return s
}

// crowd returns one of 300 stores, of which most start and a few wait for something else.
func crowd() stream {
	var s stream
	s.progress(time.Second, "pd", 3, 3, 3)
	s.progress(time.Second, "tikv", 0, 0, 300)
	s.progress(time.Second, "tidb", 2, 2, 2)
	for i := range 300 {
		member, observed := fmt.Sprintf("basic-tikv-%d", i), "0/12 nodes are available"
		if i%100 == 7 {
			observed = fmt.Sprintf("node-%d.eu-central-1.compute.internal has disk pressure", i)
		}
		s.gate(2*time.Second, event.Event{
			Component: "tikv", Member: member, Reason: "MemberServing", Message: member + " not serving",
			Source: event.FromKubernetes, Remedy: []remedy.Advice{{Text: "add nodes with 8 free cores"}},
		}, observed)
	}
	s.done(5*time.Minute, event.OutcomeTimedOut, 4, "")
	return s
}

// many returns one with more gates than fit on a screen, since each waits for something else.
func many() stream {
	var s stream
	s.progress(time.Second, "tikv", 0, 0, 26)
	for _, n := range "abcdefghijklmnopqrstuvwxyz" {
		s.gate(2*time.Second, event.Event{
			Component: "tikv", Member: "basic-tikv-" + string(n), Reason: "MemberServing", Message: "basic-tikv-" + string(n) + " not serving",
			Source: event.FromKubernetes,
		}, "node-"+string(n)+" has disk pressure")
	}
	return s
}
