package finding

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// logBehind is more than a log backup is behind in ordinary use, which is some minutes.
const logBehind = 15 * time.Minute

// LogBackups returns what is wrong with the tasks of log backup, for "status" and "plan" as well. There is a notice for
// each task that is paused or behind.
func LogBackups(c topology.Cluster, tasks []state.LogBackup) []desired.Notice {
	look := func(text string) remedy.Action {
		return remedy.Run(text, remedy.Plugin(c.Namespace, "backup", "log", "status", c.Name))
	}
	var all []desired.Notice
	for _, b := range tasks {
		f := desired.Notice{Component: topology.TiKV, Object: b.Task}
		switch {
		case b.Paused:
			f.Reason, f.Text = event.LogBackupPaused, fmt.Sprintf("log backup %s is paused", b.Task)
			f.Remedy = remedy.Remedy{look("see why"), remedy.Say("resume it: br log resume, or the logSubcommand of its Backup")}
		case b.Behind >= logBehind:
			f.Reason, f.Text = event.LogBackupBehind, fmt.Sprintf("log backup %s is behind", b.Task)
			f.Remedy = remedy.Remedy{look("see the last errors of its stores")}
		default:
			continue
		}
		f.Text += reaches(b.Behind)
		all = append(all, f)
	}
	return all
}

func reaches(behind time.Duration) string {
	if behind <= 0 {
		return ""
	}
	return ", and reaches to " + state.Age(behind) + " ago"
}
