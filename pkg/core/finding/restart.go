package finding

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// restartsPending are members that a user has named to be restarted, and that have not restarted yet. In a
// paused cluster they wait because somebody wants that.
func restartsPending(l Look) []Finding {
	c := l.Wanted.Cluster
	if c.Paused {
		return nil
	}
	var all []Finding
	for _, g := range l.Wanted.Groups {
		var asked []string
		for _, m := range l.Snapshot.Groups[g.Kind].InSet() {
			if g.Named(m) && !m.Pod.Terminating {
				asked = append(asked, fmt.Sprintf("%s, %s ago", m.Name, state.Age(l.Snapshot.At.Sub(g.Restarts[m.Name].At))))
			}
		}
		if len(asked) == 0 || g.Suspend {
			continue
		}
		all = append(all, Finding{
			Component: g.Kind, Seen: "asked to restart: " + some(asked),
			Remedy: remedy.Remedy{
				l.drive("restart what was asked for"),
				remedy.Run("do not restart any of them", c.Plugin("restart", "--cancel")),
			},
		})
	}
	return all
}

// restart returns how a person has members restarted that no run restarts by itself. In a paused cluster a
// run does nothing.
func (l Look) restart(members []string) remedy.Remedy {
	c := l.Wanted.Cluster
	command := c.Plugin("restart", members...)
	if c.Paused {
		return remedy.Remedy{remedy.Run("end the pause, and restart them one after another", c.Plugin("resume"), command)}
	}
	return remedy.Remedy{remedy.Run("restart them one after another", command)}
}
