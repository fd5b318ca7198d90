package backup

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestLogStatus: a row for each log backup, and a line for what holds it up.
func TestLogStatus(t *testing.T) {
	at := time.Date(2026, 3, 10, 2, 0, 0, 0, time.UTC)
	all := []pd.LogBackup{
		{Task: "daily", Start: at, Checkpoint: at.Add(time.Hour), Answered: at.Add(2 * time.Hour), Storage: "s3://logs/basic"},
		{Task: "moved", Paused: true, Pause: pd.LogBackupPause{Host: "br-0", At: at, Why: "a move"}},
		{
			Task: "pitr", Paused: true, Pause: pd.LogBackupPause{Severity: "ERROR"},
			Errors: []pd.LogBackupError{{Store: 4, At: at, Code: "KV:LogBackup:Other", Text: "no space"}},
		},
	}
	var out, errOut bytes.Buffer
	f := factory.New(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, func(string) string { return "" }, "")
	var table output.Objects
	if err := printLogs(f, &table, "db", "cluster db/basic", all); err != nil {
		t.Fatal(err)
	}
	want := `TASK    STATUS    FROM                   REACHES                BEHIND   WHERE
daily   Running   2026-03-10T02:00:00Z   2026-03-10T03:00:00Z   60m      s3://logs/basic
moved   Paused    -                      -                      -        -
pitr    Error     -                      -                      -        -

log backup moved is paused since 2026-03-10T02:00:00Z by br-0: a move
log backup pitr is paused
log backup pitr, store 4 at 2026-03-10T02:00:00Z: KV:LogBackup:Other no space
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
	out.Reset()
	if err := printLogs(f, &table, "db", "cluster db/basic", nil); err != nil || out.Len() > 0 || !strings.Contains(errOut.String(), "cluster db/basic has no log backup") {
		t.Errorf("%v: %q, %q", err, out.String(), errOut.String())
	}
}
