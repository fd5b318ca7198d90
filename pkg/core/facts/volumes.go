package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// LacksSize reports whether a claim of a member is to be made larger. Claims that go are not, nor are claims that keep
// their size.
func (c Component) LacksSize(m state.Member, claim state.Claim) bool {
	want, ok := c.Want.Volume(claim.Template)
	return ok && !c.Goes(m, claim) && !c.KeepsSize(claim) && !claim.Holds(want.Size)
}

// Goes reports whether a claim of a member stays as it is because the member does without the claim. A removed member has
// left the claim over, or the claim is being deleted, and the member gets a new claim. A member without data gets a new
// claim only when its pod is deleted for another reason, perhaps after months. Until then the member uses the old claim.
func (c Component) Goes(m state.Member, claim state.Claim) bool {
	used := c.Want.Kind.Data() == topology.None && m.Pod != nil && !m.Pod.Terminating
	return claim.Marked || claim.Terminating && !used
}

// KeepsSize reports whether a claim does not grow because the user has asked for a new claim in its place. But a claim
// that can grow does so when its disk is nearly full, and regions leave another store or are to leave. Some
// of the regions may have no other place, and then neither replacement goes on.
func (c Component) KeepsSize(claim state.Claim) bool {
	return c.Want.ReplacesClaim(claim.UID) && (claim.Growth != state.Growable || !claim.Bound || !c.makesRoom(claim))
}

// makesRoom reports whether a claim has the data of a store whose disk is nearly full, and regions of another store need
// a place.
func (c Component) makesRoom(claim state.Claim) bool {
	if claim.Template != c.Want.Kind.DataVolume() {
		return false
	}
	at := slices.IndexFunc(c.Got.Members, func(m state.Member) bool {
		return slices.ContainsFunc(m.Claims, func(o state.Claim) bool { return o.UID == claim.UID })
	})
	if at < 0 {
		return false
	}
	m := c.Got.Members[at]
	return m.Database.State != state.StoreOffline && c.All.PD.LowSpace(m.Store()) && c.regionsNeedPlace(m)
}

// regionsNeedPlace reports whether regions leave another store than that of a member. Or such a store is the next to
// leave, and cannot be taken offline because the disks of all other stores are nearly full.
func (c Component) regionsNeedPlace(m state.Member) bool {
	next, _ := c.NextToReplace()
	return slices.ContainsFunc(c.Got.Members, func(o state.Member) bool {
		switch {
		case o.Ordinal == m.Ordinal || o.Database.Regions <= 0:
			return false
		case o.Database.State == state.StoreOffline:
			return true
		}
		leaves := !c.Kept(o) || o.Name == next.Name
		return leaves && scheduling.NoRoom(c.All.PD, o.Database.ID, c.All.PD.Placement.Stores)
	})
}

// LacksAttributes reports whether a claim of a member is to ask for another VolumeAttributesClass.
func (c Component) LacksAttributes(m state.Member, claim state.Claim) bool {
	want, ok := c.Want.Volume(claim.Template)
	differs := ok && want.Attributes != "" && claim.Attributes != want.Attributes
	return differs && !c.Goes(m, claim) && !c.Want.ReplacesClaim(claim.UID)
}

// AnyIsToChange reports whether a claim of a member that stays is to be larger, or to ask for another
// VolumeAttributesClass.
func (c Component) AnyIsToChange() bool {
	for _, m := range c.Got.Members {
		changes := func(claim state.Claim) bool { return c.LacksSize(m, claim) || c.LacksAttributes(m, claim) }
		if (c.Got.Set.Has(m.Ordinal) || m.Pod != nil && !m.Pod.Terminating) && slices.ContainsFunc(m.Claims, changes) {
			return true
		}
	}
	return false
}

// TemplatesDiffer reports whether Kubernetes makes claims for new members that are not as wanted. A claim template
// becomes smaller only where members are replaced, because the claims that there are keep their size.
func (c Component) TemplatesDiffer() bool {
	if c.Want.OtherVolumes {
		return true
	}
	for _, v := range c.Want.Volumes {
		have, ok := c.Got.Set.Volumes[v.Name]
		if ok && v.Attributes != "" && v.Attributes != have.Attributes {
			return true
		}
		if ok && (have.Size < v.Size || v.Class != "" && v.Class != have.Class || have.Size > v.Size && c.Want.ReplacesAny(*c.Got)) {
			return true
		}
	}
	return false
}

// TemplatesUnfit reports whether claims that Kubernetes makes for new members cannot follow the spec. Members with such
// claims are replaced.
func (c Component) TemplatesUnfit() bool {
	return c.Want.OtherVolumes || c.Want.ReplacesAny(*c.Got) && c.TemplatesDiffer()
}

// KeepsOldVolumes reports whether the pod of a member with data has other volumes than are wanted. A restart would have
// the member look for its data on volumes that have none, so that only a replacement helps. With a member that the
// database does not list, a restart takes nothing away, and the member may need it to join.
func (c Component) KeepsOldVolumes(m state.Member) bool {
	return c.lacksVolumes(m) && m.Database.Presence != state.Absent
}

// MayGetOtherVolumes reports whether a restart may give a member with data other volumes, only because the database does
// not list the member. It must not be listed when the pod is taken away either.
func (c Component) MayGetOtherVolumes(m state.Member) bool {
	return c.lacksVolumes(m) && m.Database.Presence == state.Absent
}

func (c Component) lacksVolumes(m state.Member) bool {
	return c.Want.Kind.Data() != topology.None && !c.Want.HasVolumes(m)
}

// ClaimsReplaced returns the UIDs of claims of members that are still to get new ones.
func (c Component) ClaimsReplaced() []string {
	var all []string
	for _, m := range c.Got.Members {
		for _, claim := range m.Claims {
			if c.Want.Replaces(m) && c.Want.ReplacesClaim(claim.UID) {
				all = append(all, claim.UID)
			}
		}
	}
	return all
}
