package finding

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// logBehind is more than a log backup is behind in ordinary use, which is some minutes.
const logBehind = 15 * time.Minute

func logBackupsPaused(l Look) []Finding {
	var all []Finding
	for _, b := range l.LogBackups {
		if b.Paused {
			all = append(all, Finding{
				Component: topology.TiKV, Object: b.Task, Seen: fmt.Sprintf("log backup %s is paused", b.Task) + reaches(b.Behind),
				Remedy: remedy.Remedy{remedy.Say("see why, and resume it: br log status, then br log resume, or the logSubcommand of its Backup")},
			})
		}
	}
	return all
}

func logBackupsBehind(l Look) []Finding {
	var all []Finding
	for _, b := range l.LogBackups {
		if !b.Paused && b.Behind >= logBehind {
			all = append(all, Finding{
				Component: topology.TiKV, Object: b.Task, Seen: fmt.Sprintf("log backup %s is behind", b.Task) + reaches(b.Behind),
				Remedy: remedy.Remedy{remedy.Say("see which store it waits for, and its errors: br log status")},
			})
		}
	}
	return all
}

func reaches(behind time.Duration) string {
	if behind <= 0 {
		return ""
	}
	return ", and reaches to " + duration.HumanDuration(behind) + " ago"
}
