package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

var notice1 = event.Event{Type: event.Notice, Message: "one"}

// slow is a writer whose Write does not return before the test allows it.
type slow struct {
	mu   sync.Mutex
	b    bytes.Buffer
	hold chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	<-s.hold
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *slow) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestSlowReaderDelaysNoReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slow{hold: make(chan struct{})}
		p := New(Options{Out: w, Mode: JSON, Cluster: "basic"})
		begun := time.Now()
		for range 1000 {
			p.Report(wait("basic-pd-0", "ContainerCreating"))
		}
		step := event.Event{Type: event.Started, Step: "restart basic-pd-0"}
		for range 1000 {
			p.Report(step)
		}
		p.Report(event.Event{Type: event.Done})
		if d := time.Since(begun); d != 0 {
			t.Errorf("reporting took %s", d)
		}
		time.AfterFunc(10*time.Second, func() { close(w.hold) })
		p.Close()
		got := strings.Split(strings.TrimSpace(w.String()), "\n")
		// One waiting event may be in Write while the queue fills.
		if n := strings.Count(w.String(), `"waiting"`); n > 2 {
			t.Errorf("%d numbers in between were kept", n)
		}
		if n := strings.Count(w.String(), `"started"`); n != 1000 {
			t.Errorf("got %d of 1000 steps", n)
		}
		var last event.Event
		if err := json.Unmarshal([]byte(got[len(got)-1]), &last); err != nil || last.Type != event.Done {
			t.Errorf("last is %q: %v", got[len(got)-1], err)
		}
	})
}

func TestCloseIsBounded(t *testing.T) {
	for mode, bound := range map[Mode]time.Duration{
		Plain: 2 * time.Second, TTY: 2 * time.Second, JSON: time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &slow{hold: make(chan struct{})}
			p := New(Options{Out: w, ErrOut: w, Mode: mode})
			p.Report(notice1)
			begun := time.Now()
			p.Close()
			if d := time.Since(begun); d != bound {
				t.Errorf("%s: closing took %s", mode, d)
			}
			close(w.hold)
			synctest.Wait()
			p.Report(notice1) // is ignored after Close
			p.Close()
		})
	}
}

// broken is a pipe whose reader has closed it.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}

func TestNoWritesToAClosedPipe(t *testing.T) {
	for _, mode := range []Mode{Plain, TTY, JSON} {
		synctest.Test(t, func(t *testing.T) {
			w := &broken{}
			p := New(Options{Out: w, ErrOut: w, Mode: mode})
			for range 10 {
				p.Report(notice1)
				time.Sleep(time.Minute)
			}
			p.Close()
			if w.writes != 1 {
				t.Errorf("%s: %d writes to a closed pipe", mode, w.writes)
			}
		})
	}
}

// TestClosedStdout runs itself with a closed stdout, which by default kills a Go program.
func TestClosedStdout(t *testing.T) {
	if os.Getenv("REPORT_TO_NOBODY") != "" {
		p := New(Options{Out: os.Stdout, Mode: JSON}) // only the process's own stdout has this effect
		p.Report(notice1)
		p.Close()
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer func() { _ = w.Close() }()
	cmd := exec.Command(os.Args[0], "-test.run=^TestClosedStdout$")
	cmd.Env = append(os.Environ(), "REPORT_TO_NOBODY=1")
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}

func TestNilPrinter(*testing.T) {
	var p *Printer
	p.Report(notice1)
	p.Close()
}

func TestManyReporters(t *testing.T) {
	var b bytes.Buffer
	p := New(Options{ErrOut: &b, Cluster: "basic"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				p.Report(notice1)
			}
		})
	}
	all.Wait()
	p.Close()
	if n := strings.Count(b.String(), "notice: one"); n != 800 {
		t.Errorf("%d of 800 lines", n)
	}
}

// TestHeartbeat runs the printer on a simulated clock: the gates are written again after each half
// minute without output.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var plain, lines bytes.Buffer
		p := New(Options{ErrOut: &plain, Cluster: "basic"})
		j := New(Options{Out: &lines, Mode: JSON, Cluster: "basic"})
		for _, r := range []*Printer{p, j} {
			r.Report(wait("basic-tikv-2", "340 left"))
		}
		time.Sleep(95 * time.Second)
		p.Close()
		j.Close()
		if n := strings.Count(plain.String(), "still waiting: basic-tikv-2 not serving: 340 left ("); n != 3 {
			t.Errorf("%d heartbeats:\n%s", n, plain.String())
		}
		if n := strings.Count(lines.String(), "\n"); n != 4 {
			t.Errorf("%d lines:\n%s", n, lines.String())
		}
	})
}

// TestSilenceFromTheStart: a run that cannot observe the cluster still writes heartbeats.
func TestSilenceFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := New(Options{ErrOut: &b, Context: "prod-eu", Namespace: "tidb", Cluster: "basic"})
		time.Sleep(31 * time.Second)
		p.Close()
		if s := b.String(); !strings.Contains(s, "prod-eu / tidb / basic\n") || !strings.Contains(s, "nothing changed for 30s") {
			t.Errorf("got %s", s)
		}
	})
}
