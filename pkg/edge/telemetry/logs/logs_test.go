package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

var _ reconcile.Reporter = (*Log)(nil)

func of(e event.Event) event.Event {
	e.Namespace, e.Cluster = "tidb", "basic"
	return e
}

// all returns events that have every key.
func all() []event.Event {
	one := 1
	step := event.Event{Component: "tikv", Member: "basic-tikv-2", Action: "Restart", Step: "restart basic-tikv-2"}
	failed := step
	step.Type, step.Seconds = event.Finished, 1.5
	failed.Type, failed.Error = event.Failed, "no leader"
	return []event.Event{
		of(step), of(failed),
		of(event.Event{Type: event.Blocked, Component: "tikv", Reason: "VolumeResized", Message: "TiKV: volume not resized: not allowed", Observed: "not allowed", Remedy: []remedy.Advice{{Text: "allow it"}}}),
		of(event.Event{Type: event.Progress, Component: "tikv", Ready: &one, Unknown: 1, Updated: &one, Wanted: &one}),
		of(event.Event{Type: event.Done, Outcome: event.OutcomeConverged, Seconds: 60}),
	}
}

func logged(t *testing.T, format string, events ...event.Event) string {
	t.Helper()
	var out bytes.Buffer
	l, err := New(format, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		l.Report(e)
	}
	l.Close()
	return regexp.MustCompile(`time=\S+ `).ReplaceAllString(out.String(), "")
}

func TestText(t *testing.T) {
	want := `level=INFO msg="step finished" cluster=tidb/basic component=tikv member=basic-tikv-2 action=Restart step="restart basic-tikv-2" seconds=1.5
level=ERROR msg="step failed" cluster=tidb/basic component=tikv member=basic-tikv-2 action=Restart step="restart basic-tikv-2" error="no leader" seconds=0
level=WARN msg=blocked cluster=tidb/basic component=tikv reason=VolumeResized message="TiKV: volume not resized: not allowed" observed="not allowed" remedy="allow it"
level=INFO msg=progress cluster=tidb/basic component=tikv ready=1 unknown=1 updated=1 wanted=1
level=INFO msg=done cluster=tidb/basic outcome=converged seconds=60
`
	if got := logged(t, "text", all()...); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestKeys holds docs/logs.md to the keys and the messages.
func TestKeys(t *testing.T) {
	keys := map[string]bool{}
	for line := range strings.Lines(logged(t, "json", all()...)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for key := range fields {
			keys[key] = true
		}
	}
	page, err := os.ReadFile("../../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = true
	}
	if !maps.Equal(keys, documented) {
		t.Errorf("documented are %v, and there are %v", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(keys)))
	}
	for _, typ := range event.Types() {
		if msg := messages[typ]; msg == "" || !strings.Contains(string(page), "`"+msg+"`") {
			t.Errorf("%s: message %q is not documented", typ, msg)
		}
	}
}

// TestNumbers: a number that changes in each observation is not logged each time, and the first
// number of a new wait always is.
func TestNumbers(t *testing.T) {
	var out bytes.Buffer
	l, err := New("text", &out)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	l.now = func() time.Time { return now }
	waiting := of(event.Event{Type: event.Waiting, Component: "tikv", Member: "m", Reason: "LeadersEvicted", Message: "m: leaders not evicted"})
	other := waiting
	other.Cluster = "other"
	end := func(e event.Event, typ event.Type) event.Event { e.Type = typ; return e }
	for _, turn := range []struct {
		e     event.Event
		after time.Duration
		due   bool
	}{
		{waiting, 0, true}, {waiting, time.Second, false}, {other, 0, true}, {waiting, numberEvery, true},
		{end(waiting, event.Passed), 0, true}, {waiting, 0, true}, {waiting, 0, false},
		{end(waiting, event.Blocked), 0, true}, {waiting, 0, true}, {waiting, 0, false},
		{of(event.Event{Type: event.Done}), 0, true}, {waiting, 0, true}, {other, time.Second, true}, {other, time.Second, false},
	} {
		now = now.Add(turn.after)
		if got := l.due(turn.e); got != turn.due {
			t.Errorf("%s of %s at %s: due %t", turn.e.Type, turn.e.Cluster, now.UTC().Format(time.TimeOnly), got)
		}
	}
	l.Close()
}

// TestTakeOver: client-go's log is in the same format.
func TestTakeOver(t *testing.T) {
	var out bytes.Buffer
	l, err := New("json", &out)
	if err != nil {
		t.Fatal(err)
	}
	l.TakeOver()
	defer klog.ClearLogger()
	klog.ErrorS(errors.New("refused"), "Failed to watch", "type", "Pod")
	l.Close()
	var line struct{ Level, Msg, Err, Type string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "ERROR" || line.Msg != "Failed to watch" || line.Err != "refused" || line.Type != "Pod" {
		t.Errorf("got %s: %v", out.String(), err)
	}
}

func TestFormat(t *testing.T) {
	if _, err := New("yaml", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "text, json") {
		t.Errorf("got %v", err)
	}
}

// stuck is a writer whose Write does not return before the test allows it.
type stuck struct {
	free chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

// TestStuck: a reader that does not read blocks no process. A later line says how many lines were
// dropped.
func TestStuck(t *testing.T) {
	w := &stuck{free: make(chan struct{})}
	l, err := New("text", w)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * kept {
		l.Report(of(event.Event{Type: event.Notice, Message: "x"}))
	}
	close(w.free)
	l.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Count(w.out.String(), "msg=notice")
	if lines < kept || lines > kept+1 || !strings.Contains(w.out.String(), "lines of the log were dropped") {
		t.Errorf("%d lines:\n%.300s", lines, w.out.String())
	}
	l.Report(of(event.Event{Type: event.Notice})) // is no error after the end
}
