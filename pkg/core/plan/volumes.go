package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// growing is how long a volume may take to grow before a person is asked to look. Some storage
// moves data for that.
const growing = 30 * time.Minute

// volumes resizes volumes to the wanted size. It is independent of the phases. No member has to be
// healthy for it, and no phase waits for it. Full disks may be the reason why all members are down,
// and then every phase waits.
//
// The claims come first. Then the StatefulSet is recreated, since Kubernetes does not let its claim
// templates be changed. Until then each new member would get a claim of the old size.
func (sc Scope) volumes() verdict {
	var v verdict
	if sc.Want.Suspend {
		return v // a StatefulSet that is being deleted is not recreated; the volumes grow when it is back
	}
	asked := true
	for _, m := range sc.Got.Members {
		if !sc.Got.Set.Has(m.Ordinal) && (m.Pod == nil || m.Pod.Terminating) {
			continue
		}
		for _, c := range m.Claims {
			got := sc.grow(m, c)
			asked = asked && !sc.LacksSize(c)
			v.steps, v.gates = append(v.steps, got.steps...), append(v.gates, got.gates...)
		}
	}
	if asked {
		got := sc.recreate()
		v.steps, v.gates = append(v.steps, got.steps...), append(v.gates, got.gates...)
	}
	return v
}

// grow requests a larger volume, or waits for one that was requested.
func (sc Scope) grow(m state.Member, c state.Claim) verdict {
	want, ok := sc.Want.Volume(c.Template)
	if !ok || c.Marked || c.Terminating || sc.Want.ReplacesClaim(c.UID) {
		return verdict{}
	}
	if !sc.LacksSize(c) && (c.Capacity >= want.Size || !c.Bound) {
		return verdict{} // a claim that is not bound yet gets a volume of the requested size
	}
	g := Gate{
		Component: m.Kind, Member: m.Name, Object: c.Name, Reason: VolumeResized, Want: fmt.Sprintf("volume of %s resized to %s", c.Name, want.Size),
		Remedy: sc.describe("pvc", c.Name), patience: growing,
	}
	switch {
	case !sc.LacksSize(c):
		g.Observed = fmt.Sprintf("%s has %s, %s requested", c.Name, c.Capacity, c.Requested)
		g.Left = Quantity{Number: int64(max(want.Size-c.Capacity, 0)), Unit: Bytes}
		if c.Resizing != "" {
			g.Observed += "; " + c.Resizing
		}
		g.Remedy = append(g.Remedy, remedy.Run("where storage grows only when a pod starts", sc.Cluster.Delete("pod", m.Name)))
		if g.Since = c.Since; !g.Since.IsZero() {
			g.Deadline = g.Since.Add(growing)
			g.Blocked = !sc.All.At.Before(g.Deadline)
		}
		return wait(g)
	case c.Growth == state.NotGrowable:
		g.Observed, g.Blocked = fmt.Sprintf("%s has %s, %s requested, and %s", c.Name, max(c.Requested, c.Capacity), want.Size, Rigid(c)), true
		g.Remedy = remedy.Remedy{remedy.Say("set " + want.Field + " back"), remedy.Say("move the data to a member with a larger volume")}
		return wait(g)
	case !c.Bound:
		g.Observed = c.Name + " is not bound"
		return wait(g)
	}
	return act(step.ResizeClaim{Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, From: c.Requested, Size: want.Size})
}

// Rigid returns why a claim cannot grow.
func Rigid(c state.Claim) string {
	if c.Class == "" {
		return "it has no storage class that could let it grow"
	}
	return fmt.Sprintf("storage class %s does not let volumes grow", c.Class)
}

// recreate recreates the StatefulSet if its claim templates are not as wanted. Only members that are replaced get claims
// of another class or of a smaller size. The spec is refused if the user has not asked for the replacement of a member
// with such a claim.
func (sc Scope) recreate() verdict {
	set := sc.Got.Set
	if set.Terminating || !sc.TemplatesDiffer() {
		return verdict{}
	}
	if busy := sc.busy(); busy != "" {
		return wait(Gate{
			Component: sc.Want.Kind, Reason: StatefulSetRecreated, Want: "StatefulSet recreated with other claim templates",
			Observed: "queued behind " + busy, waitsForOthers: true,
		})
	}
	return act(step.RecreateSet{Component: sc.Want.Kind, Name: sc.Want.Set.Name, Basis: sc.basis(), Replicas: set.Replicas, Object: sc.Want.Set})
}

// busy returns what the StatefulSet is needed for, "" for nothing. A new StatefulSet does not know
// which revision was the current one. So a rollout under way could not be taken back, and a member
// that is about to be removed would be brought back.
func (sc Scope) busy() string {
	set := sc.Got.Set
	_, outdated := sc.Highest(sc.IsToRestart)
	switch {
	case !set.Observed, sc.Want.PutBack.Drift != desired.None:
		return "its last change"
	case sc.IsDrifted(), !set.Manual && (outdated || !set.Completed() || !set.Closed()):
		return "the rollout"
	case !set.Ordinals().Same(sc.Want.Ordinals()), len(sc.Got.Staying()) > set.Replicas:
		return "scaling"
	}
	for _, m := range sc.Got.InSet() {
		if !sc.Want.Replaces(m) && (m.Marked() || m.RemovalIrreversible() || m.Database.State == state.StoreOffline) {
			return "the removal of " + m.Name
		}
	}
	return ""
}
