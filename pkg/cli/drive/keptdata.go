package drive

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// readable refuses to start a version on data of a higher version. Such data is left of a cluster of that name that
// was deleted or suspended. It returns warnings about data of which nobody knows which versions have run on that
// data.
func (r Request) readable(c topology.Cluster, kept []facts.KeptData) (warnings []warning, err error) {
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
	return nil, remedy.For(
		exit.Refusef("%s would start a lower version on data that it may not be able to read, so nothing was changed: %s",
			title(c), strings.Join(newer, ", ")),
		r.withVersion(c, needed),
		remedy.Run("delete the data, and then run the same command again, which starts with empty volumes", c.Plugin("delete", "--delete-pvcs")))
}

// withVersion returns the command for the same request with another version.
func (r Request) withVersion(c topology.Cluster, version string) remedy.Action {
	if r.With != nil {
		return r.With(version)
	}
	return remedy.Run("go on with the data", c.Plugin("upgrade", version))
}

// unrecorded says that versions cannot be compared.
func unrecorded(d facts.KeptData) warning {
	known := "it is not known which version has run on it"
	if d.Ran != "" {
		known = d.Ran + " has run on it"
	}
	if _, err := topology.ParseVersion(d.Ran); d.Ran != "" && err != nil {
		known += ", which is no release"
	}
	return warn("%s: %s is there already with its data, and %s; if that was higher than %s, the data may not be readable",
		d.Component.Title(), d.Some(), known, d.Wanted)
}
