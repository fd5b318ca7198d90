package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
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
func (d *decision) volumes() verdict {
	var v verdict
	if d.Want.Suspend {
		return v // a StatefulSet that is being deleted is not recreated; the volumes grow when it is back
	}
	for _, m := range d.Got.Members {
		if !d.Got.Set.Has(m.Ordinal) && (m.Pod == nil || m.Pod.Terminating) {
			continue
		}
		for _, c := range m.Claims {
			v = v.plus(d.grow(m, c)).plus(d.modify(m, c))
		}
	}
	return v.plus(d.recreate())
}

// grow requests a larger volume, or waits for one that was requested.
func (sc Scope) grow(m state.Member, c state.Claim) verdict {
	want, ok := sc.Want.Volume(c.Template)
	if !ok || sc.Goes(m, c) || sc.KeepsSize(c) {
		return verdict{}
	}
	if !sc.LacksSize(m, c) && (c.Capacity >= want.Size || !c.Bound) {
		return verdict{} // a claim that is not bound yet gets a volume of the requested size
	}
	g := Gate{
		Component: m.Kind, Member: m.Name, Object: c.Name, Reason: VolumeResized, Want: fmt.Sprintf("volume of %s resized to %s", c.Name, want.Size),
		Remedy: sc.describe("pvc", c.Name), patience: growing,
	}
	switch {
	case !sc.LacksSize(m, c):
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
		g.Remedy = append(remedy.Remedy{remedy.Say("set " + want.Field + " back")}, sc.newVolumes()...)
		return wait(g)
	case !c.Bound:
		g.Observed = c.Name + " is not bound"
		return wait(g)
	}
	return act(step.ResizeClaim{
		Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, Going: c.Terminating,
		From: c.Requested, Size: want.Size,
	})
}

// modify has a claim ask for another VolumeAttributesClass, or waits until its volume has that class.
func (sc Scope) modify(m state.Member, c state.Claim) verdict {
	want, ok := sc.Want.Volume(c.Template)
	switch {
	case sc.LacksAttributes(m, c):
		return act(step.ModifyClaim{
			Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, Going: c.Terminating,
			From: c.Attributes, Class: want.Attributes,
		})
	case !ok || want.Attributes == "" || c.Modified == c.Attributes || !c.Bound, sc.Goes(m, c), sc.Want.ReplacesClaim(c.UID):
		return verdict{}
	}
	g := Gate{
		Component: m.Kind, Member: m.Name, Object: c.Name, Reason: VolumeModified, Want: fmt.Sprintf("volume of %s with VolumeAttributesClass %s", c.Name, want.Attributes),
		Observed: c.Name + " has class " + cmp.Or(c.Modified, "none"), Blocked: c.Infeasible, Remedy: sc.describe("pvc", c.Name), patience: growing,
	}
	if c.Modifying != "" {
		g.Observed += "; " + c.Modifying
	}
	if c.Infeasible {
		g.Remedy = append(g.Remedy, remedy.Say("set volumeAttributesClassName to a class that the storage accepts, such as the one before"))
	}
	return wait(g)
}

// newVolumes returns how members get new claims where the present claims cannot follow the spec.
func (sc Scope) newVolumes() remedy.Remedy {
	return remedy.Remedy{remedy.Run("give members new volumes, one after another", sc.Cluster.Plugin("replace", "--all-of", string(sc.Want.Kind)))}
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
// with such a claim. With other volumes the pod template changes as well, so that what this names is written before.
func (d *decision) recreate() verdict {
	set := d.Got.Set
	if set.Terminating || !d.TemplatesDiffer() || d.AnyIsToChange() {
		return verdict{}
	}
	if busy := d.busy(); busy != "" {
		return wait(Gate{
			Component: d.Want.Kind, Reason: StatefulSetRecreated, Want: "StatefulSet recreated with other claim templates",
			Observed: "queued behind " + busy, waitsForOthers: true,
		})
	}
	if steps := applies(d.Want.Kind, d.Want.Config); d.Want.OtherVolumes && len(steps) > 0 {
		return verdict{steps: steps}
	}
	return act(step.RecreateSet{
		Component: d.Want.Kind, Name: d.Want.Set.Name, Basis: d.basis(), Replicas: set.Replicas, Object: d.Want.Set, OtherVolumes: d.Want.OtherVolumes,
		Replaced: d.ClaimsReplaced(),
	})
}

// recreatedFirst waits for new claim templates before members are added whose claims could not follow the spec. The
// storage class that there is may have no room for one more claim. It reports whether it waits. Where the StatefulSet
// waits for a rollout, members to add do so too. A member in place of a lost one is added: the rollout may wait for it.
// So are members while another one holds the rollout up, see needsOthers, or is to be removed. A rollout comes after
// removals, and a member may leave only when another one has joined.
func (d *decision) recreatedFirst() (verdict, bool) {
	switch {
	case !d.TemplatesUnfit():
		return verdict{}, false
	case len(d.recreate().steps) > 0:
		return wait(Gate{
			Component: d.Want.Kind, Reason: StatefulSetRecreated, Want: "StatefulSet recreated with other claim templates",
			Observed: "members are added after that", waitsForOthers: true,
		}), true
	}
	return verdict{}, !d.Want.OtherVolumes && len(d.Want.Failures) == 0 && len(d.Surplus()) == 0 && !slices.ContainsFunc(d.Got.Members, d.needsOthers) && d.rolls()
}

// needsOthers reports whether a member holds a rollout up until members are added. The data of the member is being
// deleted, its store is offline, or the member is replaced for other volumes. Or the member itself is to be added: the
// database counts on the member, and the StatefulSet has too few replicas.
func (d *decision) needsOthers(m state.Member) bool {
	if !d.Got.Set.Has(m.Ordinal) {
		return d.Kept(m) && m.CountedOn()
	}
	return m.DataBeingDeleted() || m.Database.State == state.StoreOffline || d.KeepsOldVolumes(m)
}

// busy returns what the StatefulSet is needed for, "" for nothing. A new StatefulSet does not know which revision was the
// current one, so a rollout under way could not be taken back. Members that are to be added wait for the new StatefulSet,
// and so does a rollout that comes after them. A scale-in that has not begun waits as well, and replicas are kept. All
// members have to serve before a scale-in, and one of them may need the new claim templates for that. For the same reason
// nothing waits for the removal or for the pod of a member with which nothing is lost. The new StatefulSet deletes the
// same surplus pods.
func (d *decision) busy() string {
	set := d.Got.Set
	switch {
	case !set.Observed, d.Want.PutBack.Drift != desired.None:
		return "its last change"
	case d.Want.OtherVolumes && d.queue.by != "":
		return "the rollout of " + d.queue.by.Title()
	case !d.Want.OtherVolumes && d.rolls():
		return "the rollout"
	case !d.Want.Ordinals().Within(set.Ordinals()) && !d.addsFirst(), slices.ContainsFunc(d.Got.OutsideSet(), d.leavesWithLoss):
		return "scaling"
	}
	for _, m := range d.Got.InSet() {
		switch {
		case d.NothingLost(m): // it may wait for a member that needs the new StatefulSet
		case !d.Want.Replaces(m) && d.leaves(m):
			return "the removal of " + m.Name
		case d.Want.OtherVolumes && d.Want.Kind.Data() != topology.None && awaitsPod(m):
			return "the pod of " + m.Name
		}
	}
	return ""
}

// leaves reports whether the removal of a member is under way. The mark on the claims of a voter comes first, and can
// be taken off. A marked member may still wait for others to serve, one of which may need the new StatefulSet.
func (sc Scope) leaves(m state.Member) bool {
	waits := m.CountedOn() && len(sc.StayersMissing(m)) > 0
	return m.RemovalIrreversible() || m.Database.State == state.StoreOffline || m.Marked() && !waits
}

// leavesWithLoss reports whether Kubernetes is to delete the pod of a member with which something may be lost.
func (sc Scope) leavesWithLoss(m state.Member) bool {
	return m.Pod != nil && !m.Pod.Terminating && !sc.NothingLost(m)
}

// awaitsPod reports whether Kubernetes is to make the pod of a member. From a new StatefulSet the pod would have the new
// volumes, and the member's data is on the old ones. A member without claims has no data. With OrderedReady its pod may
// wait for a member that needs the new StatefulSet.
func awaitsPod(m state.Member) bool {
	if m.Pod == nil {
		return len(m.Claims) > 0
	}
	return m.Pod.Terminating
}

// rolls reports whether a rollout is under way, or comes next. With other volumes members are replaced, and no rollout
// restarts them. Such members wait for claim templates, so that claim templates do not wait for such members. A rollout in
// batches in which only such members are outdated counts as ended.
func (sc Scope) rolls() bool {
	set := sc.Got.Set
	_, outdated := sc.Highest(func(m state.Member) bool { return sc.IsToRestart(m) && !sc.KeepsOldVolumes(m) })
	_, replaced := sc.Highest(func(m state.Member) bool { return sc.Got.Outdated(m) && sc.KeepsOldVolumes(m) })
	ended := set.Completed() && set.Closed() || set.InBatches && replaced
	return sc.IsDrifted() && !sc.addsFirst() || !set.Manual && (outdated || !ended)
}

// addsFirst reports whether members are to be added, which wait for new claim templates. With slots, other members may
// have to be removed, which leave after that.
func (sc Scope) addsFirst() bool { return sc.TemplatesUnfit() && len(sc.MembersToAdd(1)) > 0 }
