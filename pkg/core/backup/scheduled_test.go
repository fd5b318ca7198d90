package backup

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStateOfSchedule(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-ago)} }
	for want, c := range map[string]*batchv1.CronJob{
		ScheduleWaiting:   {},
		ScheduleRunning:   {Status: batchv1.CronJobStatus{Active: []corev1.ObjectReference{{}}, LastScheduleTime: at(0)}},
		ScheduleSuspended: {Spec: batchv1.CronJobSpec{Suspend: new(true)}, Status: batchv1.CronJobStatus{LastScheduleTime: at(0)}},
		ScheduleFailed:    {Status: batchv1.CronJobStatus{LastScheduleTime: at(time.Hour), LastSuccessfulTime: at(24 * time.Hour)}},
		ScheduleSucceeded: {Status: batchv1.CronJobStatus{LastScheduleTime: at(time.Hour), LastSuccessfulTime: at(time.Minute)}},
	} {
		if got := StateOfSchedule(c); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
