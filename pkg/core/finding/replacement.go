package finding

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// replacementsPending are members for which a user has asked for new volumes, and that have the old ones. In a paused
// cluster they wait because somebody wants that. A canary holds no replacement.
func replacementsPending(l Look) []Finding {
	c := l.Wanted.Cluster
	if c.Paused {
		return nil
	}
	var all []Finding
	for _, g := range l.Wanted.Groups {
		var asked []string
		for _, m := range l.Snapshot.Groups[g.Kind].InSet() {
			if g.Replaces(m) {
				asked = append(asked, fmt.Sprintf("%s, %s ago", m.Name, state.Age(l.Snapshot.At.Sub(g.Replacements[m.Name].At))))
			}
		}
		if len(asked) == 0 || g.Suspend {
			continue
		}
		all = append(all, Finding{
			Component: g.Kind, Seen: "asked to replace: " + some(asked),
			Remedy: remedy.Remedy{
				l.drive("replace what was asked for"),
				remedy.Run("begin no further replacement", c.Plugin("replace", "--cancel")),
			},
		})
	}
	return all
}
