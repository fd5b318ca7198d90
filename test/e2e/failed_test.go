package e2e

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
)

// lastLines is how much is repeated of what a command has printed.
const lastLines = 20

// failedCommands are the commands of a test that did not end as wanted. They are logged again at the very end of the
// test, below the state of the cluster, because a log that was cut has only its end.
type failedCommands struct{ all []string }

// note adds a command that did not end with the code that is wanted, with the end of what it has printed.
func (f *failedCommands) note(args []string, want int, r plugin.Result, printed string) {
	if f == nil || r.Code == want {
		return
	}
	lines := strings.Split(strings.TrimSpace(printed+"\n"+r.Stderr), "\n")
	lines = lines[max(len(lines)-lastLines, 0):]
	f.all = append(f.all, "kubectl tidb "+strings.Join(args, " ")+"\n"+strings.Join(lines, "\n"))
}

// log logs them if the test has failed.
func (f *failedCommands) log(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, text := range f.all {
		t.Logf("did not end as wanted: %s", text)
	}
}
