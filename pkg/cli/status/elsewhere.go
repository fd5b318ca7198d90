package status

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// elsewhere is a member of another TidbCluster in the lists of PD, such as a store of another part.
type elsewhere struct {
	Component string `json:"component"`
	Name      string `json:"name"` // of a store the host, by which PD lists it
	Up        bool   `json:"up"`
	ID        uint64 `json:"id,string"`
	State     string `json:"state"`
}

// membersElsewhere returns the members that PD lists and that are no members of this TidbCluster, in the order of the components.
func (l sight) membersElsewhere() (all []elsewhere) {
	for _, k := range topology.Kinds() {
		if k.Votes() {
			for _, v := range l.snapshot.PD.OtherVoters {
				e := elsewhere{Component: string(k), Name: v.Name, Up: v.Healthy, ID: v.ID, State: "Down"}
				switch {
				case v.Unasked:
					e.State = "Unknown"
				case v.Healthy && v.Name == l.snapshot.PD.Leader:
					e.State = "Leader"
				case v.Healthy:
					e.State = "Up"
				}
				all = append(all, e)
			}
		}
		for _, s := range l.snapshot.PD.OtherStores {
			if s.Component == k {
				all = append(all, elsewhere{Component: string(k), Name: s.Host, Up: s.State == state.StoreUp, ID: s.ID, State: string(s.State)})
			}
		}
	}
	return all
}

// summary says how many members of each component are elsewhere and up, and which are not up.
func summary(all []elsewhere) string {
	var texts []string
	for _, k := range topology.Kinds() {
		n, up := 0, 0
		var down []string
		for _, e := range all {
			if e.Component != string(k) {
				continue
			}
			if n++; e.Up {
				up++
			} else {
				down = append(down, e.Name+" "+e.State)
			}
		}
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%s %d of %d up", k.Title(), up, n)
		if len(down) > 0 {
			text += " (" + remedy.FirstFew(down, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
