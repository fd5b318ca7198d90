package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
)

// lastLines is how much is repeated of what a command has printed.
const lastLines = 20

// failedCommands has the commands and the assertions of a test that failed, and the containers of the test that ended. All
// of these are logged again at the end of the test, because a log that is cut has only its end.
type failedCommands struct{ all, asserted, crashes []string }

// errorf fails a test as t.Errorf does, and notes why.
func (s environment) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	if s.failed != nil {
		s.failed.asserted = append(s.failed.asserted, t.Name()+": "+fmt.Sprintf(format, args...))
	}
}

// note adds a command that did not end with the code that is wanted, with the end of what it has printed.
func (f *failedCommands) note(args []string, want int, r plugin.Result, printed string) {
	if f == nil || r.Code == want {
		return
	}
	lines := strings.Split(strings.TrimSpace(printed+"\n"+r.Stderr), "\n")
	lines = lines[max(len(lines)-lastLines, 0):]
	f.all = append(f.all, "kubectl tidb "+strings.Join(args, " ")+"\n"+strings.Join(lines, "\n"))
}

// causeLines and causeLength are how much is repeated of what a container has printed before it ended.
const causeLines, causeLength = 3, 500

// noteCrash adds a container that ended, with the last lines that it printed. Lines of a fatal error come first, since
// a stack or the end of other work may follow them.
func (f *failedCommands) noteCrash(container, printed string) {
	if f == nil {
		return
	}
	var fatal, last []string
	for line := range strings.Lines(strings.TrimSpace(printed)) {
		line = strings.TrimSpace(line)
		line = line[:min(len(line), causeLength)]
		if strings.Contains(line, "[FATAL]") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			fatal = append(fatal, line)
		}
		last = append(last, line)
	}
	if fatal == nil {
		fatal = last
	}
	fatal = fatal[max(len(fatal)-causeLines, 0):]
	f.crashes = append(f.crashes, container+"\n"+strings.Join(fatal, "\n"))
}

// log logs them if the test has failed.
func (f *failedCommands) log(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, text := range f.all {
		t.Logf("did not end as wanted: %s", text)
	}
	for _, text := range f.asserted {
		t.Logf("assertion failed: %s", text)
	}
	for _, text := range f.crashes {
		t.Logf("ended before: %s", text)
	}
}
