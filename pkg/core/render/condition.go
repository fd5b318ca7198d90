package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Reasons of the condition Ready that an operator does not have. All members are healthy, but the
// cluster is not what the user wants.
const (
	reasonProgressing = "Progressing"
	reasonBlocked     = "Blocked"
	reasonPaused      = "Paused"
	reasonCanary      = "CanaryNotPromoted"
	reasonSuspended   = "Suspended"
)

// conditions returns the condition Ready. For an operator a cluster is ready as soon as its parts
// are; here it is ready when nothing is left to do.
func (r projection) conditions(status v1alpha1.TidbClusterStatus, p plan.Plan) []v1alpha1.TidbClusterCondition {
	ready := v1alpha1.TidbClusterCondition{
		Type:               v1alpha1.TidbClusterReady,
		Status:             corev1.ConditionFalse,
		LastUpdateTime:     r.at,
		LastTransitionTime: r.at,
	}
	ready.Reason, ready.Message = r.reason(status, p)
	switch suspended := r.wanted.Cluster.Suspended(); {
	case p.Outcome == plan.Converged && len(suspended) > 0:
		// The cluster is what the spec asks for, but serves no clients.
		ready.Reason, ready.Message = reasonSuspended, fmt.Sprintf("%s suspended, as the spec asks for; the data is kept", titles(suspended))
	case p.Outcome == plan.Converged && r.serving():
		ready.Status = corev1.ConditionTrue
		ready.Reason, ready.Message = "Ready", "The cluster is what the spec asks for"+r.replaced()+older(p)
	}

	all := slices.Clone(status.Conditions)
	i := slices.IndexFunc(all, func(c v1alpha1.TidbClusterCondition) bool { return c.Type == ready.Type })
	if i < 0 {
		return append(all, ready)
	}
	before := all[i]
	if before.Status == ready.Status {
		ready.LastTransitionTime = before.LastTransitionTime
		if before.Reason == ready.Reason && before.Message == ready.Message {
			ready.LastUpdateTime = before.LastUpdateTime
		}
	}
	all[i] = ready
	return all
}

// serving reports whether as many members of each component serve as the user asks for. A member
// that was given up may be down besides: it was replaced. Any other member that is down is missing.
func (r projection) serving() bool {
	for _, want := range r.wanted.Groups {
		up := 0
		for _, m := range r.snap.Groups[want.Kind].InSet() {
			_, given := want.Failure(m.Name)
			switch {
			case m.Up():
				up++
			case !given:
				return false
			}
		}
		if up < want.Replicas {
			return false
		}
	}
	return true
}

// replaced names the members that were given up and are down. Nothing else shows these members in a
// cluster that is Ready.
func (r projection) replaced() string {
	var names []string
	for _, want := range r.wanted.Groups {
		for _, m := range r.snap.Groups[want.Kind].InSet() {
			if _, given := want.Failure(m.Name); given && !m.Up() {
				names = append(names, m.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; given up, replaced and still down: " + strings.Join(names, ", ")
}

// older names the members that run without the current configuration, as configUpdateStrategy
// InPlace asks for. Members for which that is unknown are left out: otherwise the condition would
// depend on what each driver can reach.
func older(p plan.Plan) string {
	var names []string
	for _, u := range p.Unapplied {
		names = append(names, u.Older...)
	}
	if len(names) == 0 {
		return ""
	}
	return "; started before their configuration was written: " + strings.Join(names, ", ")
}

// titles returns the names of components, as the beginning of a sentence.
func titles(kinds []topology.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Title())
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
	}
	return names[0] + " is"
}

// reason returns the first rule that is broken, in the operator's order. Scripts may wait for one
// of the operator's reasons.
func (r projection) reason(status v1alpha1.TidbClusterStatus, p plan.Plan) (reason, message string) {
	for _, d := range descriptions {
		if set := d.kind.Status(&status).GetStatefulSet(); set != nil && set.CurrentRevision != set.UpdateRevision {
			return "StatefulSetNotUpToDate", r.message(p, "Not all pods are of the newest revision")
		}
	}
	for _, d := range descriptions {
		if want, ok := r.wanted.Group(d.kind); ok && healthy(d.status.health(&status)) != want.Active() {
			return d.status.unhealthy, r.message(p, d.status.message)
		}
	}
	switch p.Outcome {
	case plan.Blocked:
		return reasonBlocked, r.message(p, "The cluster does not come on by itself")
	case plan.Paused:
		return reasonPaused, r.message(p, "The cluster is "+p.Pause.String())
	case plan.Canary:
		return reasonCanary, r.message(p, "A canary waits to be promoted")
	}
	return reasonProgressing, r.message(p, "The cluster is being changed")
}

// message returns what the cluster waits for, without the observed number. The number changes in
// each observation, and each change would be a write.
func (r projection) message(p plan.Plan, otherwise string) string {
	if len(p.Gates) == 0 {
		return otherwise
	}
	gate := p.Gates[0]
	gate.Observed = ""
	return gate.String()
}

// healthy returns how many members are shown, or -1 if one of them is not healthy.
func healthy(members []bool) int {
	if slices.Contains(members, false) {
		return -1
	}
	return len(members)
}
