package facts

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// LacksSize reports whether a claim requests less than is wanted. Claims that removed members have left
// over do not count.
func (c Component) LacksSize(claim state.Claim) bool {
	want, ok := c.Want.Volume(claim.Template)
	return ok && !claim.Marked && !claim.Terminating && !claim.Holds(want.Size)
}

// HasOutgrown reports whether a claim template is smaller than wanted.
func (c Component) HasOutgrown() bool {
	for _, v := range c.Want.Volumes {
		if size, ok := c.Got.Set.Volumes[v.Name]; ok && size < v.Size {
			return true
		}
	}
	return false
}
