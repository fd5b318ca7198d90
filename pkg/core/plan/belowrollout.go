package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// failingBelow adds what a person can do about members that fail with an old revision below members
// that may serve. A partition reaches them only after those above, and restarting those would take
// a second member away. So a wait for such a member would last for ever.
func (sc Scope) failingBelow(h hold, v verdict) verdict {
	next, ok := sc.candidate()
	if !ok || !mayServe(next) || h.rolling || sc.Got.Set.Manual {
		return v
	}
	for i, g := range v.gates {
		m, ok := sc.Got.Member(g.Member)
		if _, queued := sc.before(m); !ok || g.Reason != MemberServing || queued || m.Ordinal >= next.Ordinal || !sc.Got.Outdated(m) || !next.Up() && mayServe(m) {
			continue
		}
		v.gates[i].Remedy = append(sc.recreateAdvice(m, next), g.Remedy...)
	}
	return v
}

// mayServe reports whether a member is not restarted as one that is down: its pod is Ready.
// What the database reports may be wrong.
func mayServe(m state.Member) bool { return m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating }

// recreateAdvice is what a person can do about such a member. A StatefulSet that is
// recreated around its pods makes each missing pod with the new template.
func (sc Scope) recreateAdvice(m, next state.Member) remedy.Remedy {
	has, what := "Kubernetes makes its pod with", "the StatefulSet without its pods"
	commands := []remedy.Command{sc.Cluster.Kubectl("delete", "statefulset", sc.Cluster.SetName(m.Kind), "--cascade=orphan")}
	if m.Pod != nil {
		has, what = "it has", what+", then its pod"
		commands = append(commands, sc.Cluster.Kubectl("delete", "pod", m.Name))
	}
	return remedy.Remedy{remedy.Run(fmt.Sprintf("%s the old pod template, and the new one reaches it only after %s, "+
		"which is not restarted as long as a peer is down; if the new template is what it needs, delete %s, and go on", has, next.Name, what),
		append(commands, sc.Cluster.Plugin("sync"))...)}
}
