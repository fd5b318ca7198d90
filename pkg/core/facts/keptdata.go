package facts

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// KeptData is data in claims that exist before the component's StatefulSet, so that its members
// start on the data. The data is from a cluster that was deleted or suspended.
type KeptData struct {
	Component topology.Kind
	Claims    []string
	// Ran is the highest release that is recorded to have run on it, or a version that
	// is no release, "" where nothing is recorded. Wanted is the version that is to run on
	// it now.
	Ran, Wanted string
}

// Newer reports whether the wanted version is lower than a version that has run on the data. The
// data may then be in a format that the wanted version cannot read.
func (d KeptData) Newer() bool {
	down, err := topology.IsDowngrade(d.Ran, d.Wanted)
	return err == nil && down
}

// Known reports whether the versions can be compared.
func (d KeptData) Known() bool {
	_, err := topology.IsDowngrade(d.Ran, d.Wanted)
	return err == nil || d.Ran == d.Wanted
}

// Some returns the names of the claims, only the first ones if there are many.
func (d KeptData) Some() string {
	switch n := len(d.Claims); n {
	case 1:
		return "claim " + d.Claims[0]
	case 2:
		return "claims " + d.Claims[0] + " and " + d.Claims[1]
	default:
		return fmt.Sprintf("claims %s and %d others", d.Claims[0], n-1)
	}
}

// Kept returns the data on which components would start. For each component the list has one entry for data on which
// releases have run. Each version that is no release has an entry of its own, and so has data of which no version is
// recorded.
func Kept(w desired.State, s state.Snapshot) []KeptData {
	var all []KeptData
	for _, c := range Of(&w, &s) {
		all = append(all, c.KeptData()...)
	}
	return all
}

// KeptData leaves out pods that run without a StatefulSet, and marked claims. Such pods get a
// StatefulSet around them whatever their version is. The members of marked claims were removed.
func (c Component) KeptData() []KeptData {
	if c.Want.Kind.Data() == topology.None || c.Want.Suspend || c.Got.Set.Exists || len(c.Got.Staying()) > 0 {
		return nil
	}
	var all []KeptData
	for _, m := range c.Got.Members {
		for _, claim := range m.Claims {
			if claim.Marked || claim.Terminating {
				continue
			}
			for _, v := range ranOn(claim).versions(c.Want.Version) {
				d := KeptData{Component: c.Want.Kind, Claims: []string{claim.Name}, Ran: v, Wanted: c.Want.Version}
				all = d.addTo(all)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b KeptData) int { return a.record() - b.record() })
	return all
}

// addTo joins the data with other data that can be judged together. A release and a version that is
// no release cannot be compared, and neither must hide the other.
func (d KeptData) addTo(all []KeptData) []KeptData {
	for i, o := range all {
		if o.Ran == d.Ran || o.record() == release && d.record() == release {
			all[i].Claims = append(o.Claims, d.Claims...)
			if lower, err := topology.IsDowngrade(d.Ran, o.Ran); err == nil && lower {
				all[i].Ran = d.Ran
			}
			return all
		}
	}
	return append(all, d)
}

// The kinds of records on a claim, in the order in which they are shown.
const (
	release = iota
	noRelease
	noRecord
)

func (d KeptData) record() int {
	_, err := topology.ParseVersion(d.Ran)
	switch {
	case d.Ran == "":
		return noRecord
	case err != nil:
		return noRelease
	}
	return release
}
