package drive

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Request is what a verb wants.
type Request struct {
	// Action is what is done, in a user's words, e.g. "upgrade to v8.1.1".
	Action string
	// Change is what is to become of the TidbCluster.
	intent.Change
	// Refusal is why the verb itself refuses, nil when it does not. Want may
	// then be nil.
	Refusal error
	// With is how to ask for the same with another version; nil where that is an
	// upgrade.
	With func(version string) string
	// Policy is what the run may do by itself.
	Policy plan.Policy
	// Warnings are what the verb itself has noticed that is no reason to refuse.
	Warnings []string
	// Keep: write what is wanted even if the cluster is paused, for whoever goes
	// on when it is not. Nothing else is done then.
	Keep bool
	// Blind: do it even when PD cannot be asked whether it is safe.
	Blind bool
}

// proposal is a request as it is judged: with the defaults of both TidbClusters, which
// are filled in here and nowhere else in this package.
type proposal struct {
	Request
	now  *topology.Cluster // nil: there is none
	want topology.Cluster
}

func propose(r Request) proposal {
	p := proposal{Request: r}
	if r.Now != nil {
		now := topology.New(r.Now)
		p.now = &now
	}
	switch r.Want {
	case nil: // the verb refuses
	case r.Now:
		p.want = *p.now
	default:
		p.want = topology.New(r.Want)
	}
	return p
}

// admit refuses what the two TidbClusters alone tell cannot or must not be done:
// everything that is wrong at once, so that nobody has to come back for the next
// error.
func (p proposal) admit() error {
	if p.Refusal != nil {
		return p.Refusal
	}
	want := p.want
	problems, verdict := topology.Validate(want), "not valid"
	if len(problems) == 0 {
		verdict = "update rejected"
	}
	problems = append(problems, topology.ValidateUpdate(p.now, want)...)
	switch {
	case want.Deleting:
		return exit.Refusef("%s is being deleted, so nothing was changed", title(want))
	case len(problems) > 0:
		return refuse(want, verdict, lines(problems))
	case want.Paused && !p.Keep:
		return exit.With(exit.Paused, fmt.Errorf(`%s is paused, so nothing was changed; %s`, title(want), unpause(want)))
	}
	return nil
}

// kept is the end of a request that was written to a paused cluster.
func (p proposal) kept() error {
	return exit.With(exit.Paused, fmt.Errorf("%s is paused: what is wanted was written, and nothing else was done; %s",
		title(p.want), unpause(p.want)))
}

func unpause(c topology.Cluster) string {
	return fmt.Sprintf(`go on with: kubectl patch tc %s -n %s --type merge -p '{"spec":{"paused":false}}'`, c.Name, c.Namespace)
}

// allow refuses what the state of the cluster tells must not be done.
func (p proposal) allow(w plan.Wanted, snap state.Snapshot) error {
	var problems []string
	for _, g := range plan.Refusals(component.Profiles(), w, snap) {
		problems = append(problems, g.String()+"; "+g.Remedy.Line(""))
	}
	if reason := p.shrinks(w, snap); reason != "" {
		problems = append(problems, reason)
	}
	if len(problems) > 0 {
		return refuse(w.Cluster, "update rejected", problems)
	}
	return p.seeing(w.Cluster, snap)
}

// shrinks says what speaks against taking a volume's size back, "" when nothing
// does: a volume that was asked to grow, by a run that did not get as far as the
// StatefulSet, cannot become smaller again. One that nobody has asked can.
func (p proposal) shrinks(w plan.Wanted, snap state.Snapshot) string {
	if p.now == nil {
		return ""
	}
	for _, g := range w.Groups {
		before, _ := p.now.Group(g.Kind)
		for _, m := range snap.Groups[g.Kind].Running() {
			for _, c := range m.Claims {
				old, _ := before.Volume(c.Template)
				want, ok := g.Volume(c.Template)
				if ok && want.Size < old.Size && want.Size < c.Requested && !c.Marked {
					return fmt.Sprintf("%s: claim %s has been asked to have %s, and volumes can not shrink to %s",
						want.Field, c.Name, c.Requested, want.Size)
				}
			}
		}
	}
	return ""
}

// seeing refuses to change a cluster whose PD runs but does not answer: what is
// safe is for PD to say. Going on with what is wanted already needs no leave.
func (p proposal) seeing(c topology.Cluster, snap state.Snapshot) error {
	if snap.PD.Known() || p.now == nil || p.Now.Status.ClusterID == "" || p.Write == nil || p.Blind {
		return nil
	}
	if p.now.PDSuspended() && asleep(snap) {
		return nil // nobody is there to harm
	}
	return exit.Refusef("PD of %s cannot be asked whether this is safe (%s), so nothing was changed; "+
		"see what is wrong with: kubectl tidb status %s -n %s; if the change is what will cure it, give --force",
		title(c), snap.PD.Problem, c.Name, c.Namespace)
}

// asleep: PD is suspended, down to its last pod.
func asleep(snap state.Snapshot) bool {
	for k, g := range snap.Groups {
		runs := g.Set.Exists || slices.ContainsFunc(g.Members, func(m state.Member) bool { return m.Pod != nil })
		if k.Data() == topology.Raft && runs {
			return false
		}
	}
	return true
}

// refuse says all that stands against a request, one problem a line where there
// are several.
func refuse(c topology.Cluster, verdict string, problems []string) error {
	if len(problems) == 1 {
		return exit.Refusef("%s: %s; nothing was changed: %s", title(c), verdict, problems[0])
	}
	return exit.Refusef("%s: %s; nothing was changed; there are %d reasons:\n  %s",
		title(c), verdict, len(problems), strings.Join(problems, "\n  "))
}

// lines are errors in the order of their fields, each once: two rules may have
// come to the same.
func lines(errs field.ErrorList) []string {
	var all []string
	for _, e := range errs {
		all = append(all, e.Error())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func title(c topology.Cluster) string {
	return fmt.Sprintf("cluster %s/%s", c.Namespace, c.Name)
}
