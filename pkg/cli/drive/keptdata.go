package drive

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// readable refuses to start a version on data of a higher one, which is there since
// a cluster of that name was deleted or suspended. It tells of data of which nobody
// knows which versions have run on it.
func (r Request) readable(c topology.Cluster, kept []plan.KeptData) (warnings []string, err error) {
	var newer []string
	needed := ""
	for _, d := range kept {
		switch {
		case d.Newer():
			newer = append(newer, fmt.Sprintf("%s has run on %s of %s", d.Ran, d.Some(), d.Component.Title()))
			if down, err := topology.IsDowngrade(needed, d.Ran); err != nil || !down {
				needed = d.Ran
			}
		case !d.Known():
			warnings = append(warnings, unrecorded(d))
		}
	}
	if len(newer) == 0 {
		return warnings, nil
	}
	return nil, exit.Refusef("%s would start a lower version on data that it may not be able to read, so nothing was changed: %s; "+
		"to go on with the data: %s; to start with empty volumes instead, and lose the data: kubectl tidb delete %s -n %s --delete-pvcs, and then the same command again",
		title(c), strings.Join(newer, ", "), r.with(c, needed), c.Name, c.Namespace)
}

// with is how to ask for the same with another version.
func (r Request) with(c topology.Cluster, version string) string {
	if r.With != nil {
		return r.With(version)
	}
	return fmt.Sprintf("kubectl tidb upgrade %s %s -n %s", c.Name, version, c.Namespace)
}

// unrecorded says that versions cannot be compared.
func unrecorded(d plan.KeptData) string {
	known := "it is not known which version has run on it"
	if d.Ran != "" {
		known = d.Ran + " has run on it"
	}
	if _, err := topology.ParseVersion(d.Ran); d.Ran != "" && err != nil {
		known += ", which is no release"
	}
	return fmt.Sprintf("%s: %s is there already with its data, and %s; if that was higher than %s, the data may not be readable",
		d.Component.Title(), d.Some(), known, d.Wanted)
}
