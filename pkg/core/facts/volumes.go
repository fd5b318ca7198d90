package facts

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// LacksSize reports whether a claim is to be made larger. Claims that removed members have left over are not, nor are
// claims in whose place the user has asked for new ones.
func (c Component) LacksSize(claim state.Claim) bool {
	want, ok := c.Want.Volume(claim.Template)
	return ok && !claim.Marked && !claim.Terminating && !c.Want.ReplacesClaim(claim.UID) && !claim.Holds(want.Size)
}

// TemplatesDiffer reports whether Kubernetes makes claims for new members that are not as wanted. A claim template
// becomes smaller only where members are replaced, because the claims that there are keep their size.
func (c Component) TemplatesDiffer() bool {
	for _, v := range c.Want.Volumes {
		have, ok := c.Got.Set.Volumes[v.Name]
		if ok && (have.Size < v.Size || v.Class != "" && v.Class != have.Class || have.Size > v.Size && c.Want.ReplacesAny(*c.Got)) {
			return true
		}
	}
	return false
}
