package backup

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/parent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// ofLogBackup is what "-o name" prints. Kubernetes has no such objects.
var ofLogBackup = schema.GroupVersionKind{Group: "kubectl-tidb", Version: "v1", Kind: "LogBackup"}

func newLog(f *factory.Factory) *cobra.Command {
	return parent.New(&cobra.Command{
		Use:   "log status NAME",
		Short: "Show log backups (point-in-time recovery)",
		Long: `Show the log backups of a cluster. A log backup saves each change as it is made, so that the
cluster can be restored to any time since.`,
		SuggestFor: []string{"pitr", "stream"},
	}, newLogStatus(f))
}

func newLogStatus(f *factory.Factory) *cobra.Command {
	o := output.Objects{About: ofLogBackup}
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show how far log backups reach, and what holds them up",
		Long: `Show the log backups of a cluster: whether each one runs, since when, up to which time the
cluster can be restored with it, how long ago that is, and where it is. Below are who has
paused it and why, and the last error of each store. It is read from PD's etcd, where BR and
TiDB keep it, and nothing is changed.`,
		Example: `  kubectl tidb backup log status basic

  # How many seconds is it behind?
  kubectl tidb backup log status basic -o json | jq '.items[].behindSeconds'`,
		SuggestFor:        []string{"show", "list", "get"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return logStatus(cmd.Context(), f, &o, args)
		},
	}
	o.Bind(cmd)
	return cmd
}

func logStatus(ctx context.Context, f *factory.Factory, o *output.Objects, name []string) error {
	s, err := target.Open(ctx, f, name)
	if err != nil {
		return err
	}
	defer s.Close()
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	if !seen.Snapshot.PD.Known() {
		return remedy.For(fmt.Errorf("the log backups of %s are not known: %s", target.Title(seen.Cluster), seen.Snapshot.PD.Problem),
			remedy.Run("see what PD lacks", seen.Cluster.Plugin("doctor")))
	}
	tasks, err := s.Observer.PD().LogBackups(ctx)
	if err != nil {
		return fmt.Errorf("read the log backups of %s from PD: %w", target.Title(seen.Cluster), err)
	}
	return printLogs(f, o, s.Namespace, target.Title(seen.Cluster), tasks)
}

// logView is the JSON form of a log backup.
type logView struct {
	Task          string       `json:"task"`
	State         string       `json:"state"`             // Running, Paused, or Error
	Start         string       `json:"start,omitempty"`   // from when changes are in it
	Reaches       string       `json:"reaches,omitempty"` // to when the cluster can be restored
	BehindSeconds *int64       `json:"behindSeconds,omitempty"`
	Storage       string       `json:"storage,omitempty"`
	TableFilters  []string     `json:"tableFilters,omitempty"`
	Paused        *pauseView   `json:"paused,omitempty"`
	Errors        []storeError `json:"errors,omitempty"`
}

type pauseView struct {
	At   string `json:"at,omitempty"`
	Host string `json:"host,omitempty"`
	Why  string `json:"why,omitempty"`
}

type storeError struct {
	Store uint64 `json:"store"`
	At    string `json:"at,omitempty"`
	Code  string `json:"code,omitempty"`
	Text  string `json:"text"`
}

// stateOf returns the state of a log backup, which BR calls NORMAL, PAUSE or ERROR. A pause of an old version does not say
// whether a person has made it.
func stateOf(b pd.LogBackup) string {
	switch {
	case b.Paused && (b.Pause.Severity == "ERROR" || len(b.Errors) > 0):
		return "Error"
	case b.Paused:
		return "Paused"
	}
	return "Running"
}

func viewOfLog(b pd.LogBackup) logView {
	v := logView{Task: b.Task, State: stateOf(b), Start: written(b.Start), Reaches: written(b.Checkpoint), Storage: b.Storage, TableFilters: b.Filters}
	if now := b.Answered; !b.Checkpoint.IsZero() && !now.IsZero() {
		v.BehindSeconds = new(int64(max(now.Sub(b.Checkpoint), 0).Seconds()))
	}
	if b.Paused {
		v.Paused = &pauseView{written(b.Pause.At), b.Pause.Host, b.Pause.Why}
	}
	for _, e := range b.Errors {
		v.Errors = append(v.Errors, storeError{e.Store, written(e.At), e.Code, e.Text})
	}
	return v
}

func written(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func printLogs(f *factory.Factory, o *output.Objects, namespace, title string, tasks []pd.LogBackup) error {
	var items []unstructured.Unstructured
	var rows [][]string
	var below []string
	for _, b := range tasks {
		v := viewOfLog(b)
		object, err := output.Object("LogBackupStatus", namespace, b.Task, v)
		if err != nil {
			return err
		}
		behind := "-"
		if v.BehindSeconds != nil {
			behind = state.Age(time.Duration(*v.BehindSeconds) * time.Second)
		}
		items = append(items, *object)
		rows = append(rows, []string{v.Task, v.State, dash(v.Start), dash(v.Reaches), behind, dash(v.Storage)})
		below = append(below, troubles(v)...)
	}
	switch {
	case !o.Table():
		return o.Print(f.Streams.Out, output.List("LogBackupStatus", items))
	case len(rows) == 0:
		fmt.Fprintf(f.Streams.ErrOut, "%s has no log backup\n", title)
		return nil
	}
	if err := report.Table(f.Streams.Out, []string{"TASK", "STATUS", "FROM", "REACHES", "BEHIND", "WHERE"}, rows); err != nil {
		return err
	}
	if len(below) > 0 {
		fmt.Fprintf(f.Streams.Out, "\n%s\n", strings.Join(below, "\n"))
	}
	return nil
}

// troubles returns a line about a pause, and one about the last error of each store.
func troubles(v logView) (lines []string) {
	if p := v.Paused; p != nil {
		line := "log backup " + v.Task + " is paused"
		for _, of := range []struct{ word, value string }{{" since ", p.At}, {" by ", p.Host}, {": ", p.Why}} {
			if of.value != "" {
				line += of.word + of.value
			}
		}
		lines = append(lines, line)
	}
	for _, e := range v.Errors {
		lines = append(lines, fmt.Sprintf("log backup %s, store %d at %s: %s", v.Task, e.Store, cmp.Or(e.At, "an unknown time"), strings.TrimSpace(e.Code+" "+e.Text)))
	}
	return lines
}
