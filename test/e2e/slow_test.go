package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// slowWaits are what the commands of a test have waited for longer than usual, and how clients felt that. A test logs
// them at its end, after all else: where a client waited too long, the cause is in a command that has succeeded.
type slowWaits struct {
	mu  sync.Mutex
	all []string
}

// usual is how long a wait of a command may take on a node with nothing else to do. The longest is that for a TiDB
// server, whose probe begins late.
const usual = 20 * time.Second

// waited is the end of a line about a wait that is over.
var waited = regexp.MustCompile(`\((\w+)\)$`)

// note notes the slow waits of a command. It is safe for concurrent use.
func (w *slowWaits) note(args []string, r plugin.Result) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(r.Stderr) {
		found := waited.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil || !strings.Contains(line, " passed: ") {
			continue
		}
		if took, err := time.ParseDuration(found[1]); err == nil && took > usual {
			w.all = append(w.all, fmt.Sprintf("%v: %s", args, line))
		}
	}
}

// client notes how the writes of a client went, if one failed or took long.
func (w *slowWaits) client(table string, a workload.Account) {
	if w == nil || len(a.Failed) == 0 && a.Longest < usual/2 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf("%s: %v; %v; failed: %v\n", table, a, a.Stalls, a.Failed))
}

func (w *slowWaits) log(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		return
	}
	t.Logf("waits of more than %v:\n%s", usual, strings.Join(w.all, ""))
}
