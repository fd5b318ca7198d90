package backup

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/schedule"
)

// scheduleView is the JSON form of a schedule.
type scheduleView struct {
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	Cluster     string `json:"cluster"`
	Schedule    string `json:"schedule"`
	TimeZone    string `json:"timeZone,omitempty"`
	In          string `json:"in,omitempty"`
	Keeps       string `json:"keeps,omitempty"`
	State       string `json:"state"`
	LastRun     string `json:"lastRun,omitempty"`
	LastSuccess string `json:"lastSuccess,omitempty"`
	NextRun     string `json:"nextRun,omitempty"`
}

func viewOf(c *batchv1.CronJob, now time.Time) scheduleView {
	at := func(t *metav1.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	v := scheduleView{
		Name: c.Name, Namespace: c.Namespace, Cluster: c.Labels[backup.LabelScheduled], Schedule: c.Spec.Schedule,
		In: c.Annotations[annPrefix], Keeps: c.Annotations[annKeeps], State: backup.StateOfSchedule(c),
		LastRun: at(c.Status.LastScheduleTime), LastSuccess: at(c.Status.LastSuccessfulTime),
	}
	if c.Spec.TimeZone != nil {
		v.TimeZone = *c.Spec.TimeZone
	}
	suspended := c.Spec.Suspend != nil && *c.Spec.Suspend
	if next := nextRun(v.Schedule, v.TimeZone, now); !suspended && !next.IsZero() {
		v.NextRun = next.UTC().Format(time.RFC3339)
	}
	return v
}

// show prints the schedules of a cluster.
func (o *scheduleOptions) show(ctx context.Context, f *factory.Factory, shown *output.Objects) error {
	on, err := connect(ctx, f, o.cluster)
	if err != nil {
		return err
	}
	defer on.session.Close()
	client := schedule.Client{Dynamic: on.dyn, Kube: on.session.Kube, Namespace: on.cluster.Namespace}
	all, err := client.List(ctx, on.cluster.Name)
	if err != nil {
		return deniedSchedule(err, on.cluster, true)
	}
	return printSchedules(f, shown, on.cluster, all)
}

func printSchedules(f *factory.Factory, shown *output.Objects, c topology.Cluster, all []batchv1.CronJob) error {
	var items []unstructured.Unstructured
	var rows [][]string
	for i := range all {
		v := viewOf(&all[i], time.Now())
		object, err := output.Object("BackupScheduleSummary", v.Namespace, v.Name, v)
		if err != nil {
			return err
		}
		items = append(items, *object)
		rows = append(rows, []string{v.Name, v.Schedule, dash(v.TimeZone), v.State, dash(v.LastRun), dash(v.LastSuccess), dash(v.NextRun), dash(v.Keeps), dash(strings.SplitN(v.In, "?", 2)[0])})
	}
	switch {
	case !shown.Table():
		return shown.Print(f.Streams.Out, output.List("BackupScheduleSummary", items))
	case len(rows) == 0:
		fmt.Fprintf(f.Streams.ErrOut, "%s has no schedule of backups\n", target.Title(c))
		return nil
	}
	return report.Table(f.Streams.Out, []string{"NAME", "SCHEDULE", "ZONE", "STATE", "LAST RUN", "LAST SUCCESS", "NEXT RUN", "KEEPS", "IN"}, rows)
}
