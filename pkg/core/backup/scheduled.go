package backup

import batchv1 "k8s.io/api/batch/v1"

// LabelScheduled is on the objects of schedules and on their pods. It has the name of the cluster.
const LabelScheduled = "kubectl-tidb/scheduled-cluster"

// How the last run of a schedule has ended, or why there is none.
const (
	ScheduleRunning   = "Running"
	ScheduleSuspended = "Suspended"
	ScheduleWaiting   = "Waiting" // no run has begun
	ScheduleFailed    = "Failed"
	ScheduleSucceeded = "Succeeded"
)

// StateOfSchedule says how the last run of a schedule has ended, or that a run is under way.
func StateOfSchedule(c *batchv1.CronJob) string {
	last, success := c.Status.LastScheduleTime, c.Status.LastSuccessfulTime
	switch {
	case len(c.Status.Active) > 0:
		return ScheduleRunning
	case c.Spec.Suspend != nil && *c.Spec.Suspend:
		return ScheduleSuspended
	case last == nil:
		return ScheduleWaiting
	case success == nil || success.Before(last):
		return ScheduleFailed
	}
	return ScheduleSucceeded
}
