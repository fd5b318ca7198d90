package finding

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// schedulesFailed are schedules of backups whose last run has failed. Kubernetes does not tell anybody.
func schedulesFailed(l Look) []Finding {
	c := l.Wanted.Cluster
	look := remedy.Run("see what the pods of its runs say", c.Kubectl("logs", "-l", backup.LabelScheduled+"="+c.Name, "--all-containers", "--prefix"))
	return l.schedules(backup.ScheduleFailed, func(job *batchv1.CronJob) Finding {
		return Finding{
			Seen:   fmt.Sprintf("its last run, of %s, has failed; %s", ranAt(job.Status.LastScheduleTime), lastSuccess(job)),
			Remedy: remedy.Remedy{l.seeSchedules(), look},
		}
	})
}

// schedulesSuspended are schedules that a person has suspended, and may have forgotten.
func schedulesSuspended(l Look) []Finding {
	return l.schedules(backup.ScheduleSuspended, func(c *batchv1.CronJob) Finding {
		return Finding{Seen: "it is suspended; " + lastSuccess(c), Remedy: remedy.Remedy{l.seeSchedules()}}
	})
}

// schedules returns what a function finds of the schedules in a state.
func (l Look) schedules(state string, find func(*batchv1.CronJob) Finding) []Finding {
	var all []Finding
	for i := range l.Schedules {
		if c := &l.Schedules[i]; backup.StateOfSchedule(c) == state {
			f := find(c)
			f.Object = c.Name
			all = append(all, f)
		}
	}
	return all
}

func (l Look) seeSchedules() remedy.Action {
	c := l.Wanted.Cluster
	return remedy.Run("see the schedules", remedy.Plugin(c.Namespace, "backup", "schedule", c.Name))
}

func lastSuccess(c *batchv1.CronJob) string {
	if c.Status.LastSuccessfulTime == nil {
		return "no run has succeeded"
	}
	return "the last success was at " + ranAt(c.Status.LastSuccessfulTime)
}

func ranAt(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func schedulesUnknown(l Look) []Finding {
	if l.SchedulesUnread == "" {
		return nil
	}
	return []Finding{{Seen: "the schedules of backups could not be read: " + l.SchedulesUnread, Remedy: remedy.Remedy{l.rights()}}}
}
