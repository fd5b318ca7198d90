package partlock

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// world is a PD with two parts, at a time that the test moves.
type world struct {
	pd  *pd.Fake
	now time.Time
}

func (w *world) part(name string) *Lock {
	c := topology.Cluster{Namespace: "db", Name: name, UID: types.UID(name)}
	l := New(func() pd.Client { return w.pd }, c, "ann@desk")
	l.now = func() time.Time { return w.now }
	return l
}

// take takes the lock, and fails the test where the answer is another one.
func take(t *testing.T, when string, l *Lock, had bool) {
	t.Helper()
	if got, err := l.Take(t.Context()); err != nil || got != had {
		t.Fatalf("%s: had %t, want %t: %v", when, got, had, err)
	}
}

func TestLock(t *testing.T) {
	w := &world{pd.NewFake(3, 3), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a, b := w.part("a"), w.part("b")
	take(t, "at first", a, false)
	take(t, "again", a, true)
	take(t, "of the other", b, false)
	if !a.Held() || b.Held() {
		t.Fatalf("held by a: %t, by b: %t", a.Held(), b.Held())
	}
	again := w.part("a")
	take(t, "by a new process of the same part", again, false)
	a.Release(t.Context())
	take(t, "of the other, after the release by the old process", b, false)
	take(t, "by the new process", again, true)
	again.Release(t.Context())
	take(t, "after the release", b, false)
	if !b.Held() {
		t.Error("nobody has it after the release")
	}
}

// TestLockLost: a lock that PD has ended, or that was not renewed in time, does not count as held any more. Another part
// may have taken members away since.
func TestLockLost(t *testing.T) {
	w := &world{pd.NewFake(3, 3), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a, b := w.part("a"), w.part("b")
	take(t, "at first", a, false)
	w.pd.Update(func(s *pd.FakeState) { s.Lock = nil })
	take(t, "of the other", b, false)
	take(t, "after PD has ended it", a, false)
	if a.Held() {
		t.Error("both have it")
	}

	w.now = w.now.Add(lasts)
	ctx, over := b.Guard(t.Context())
	defer over()
	if ctx.Err() == nil {
		t.Error("work goes on after the time of the lock")
	}
	take(t, "after a sleep", b, false)
	if ctx, over := b.Guard(t.Context()); ctx.Err() != nil {
		t.Error("no work with the lock")
	} else {
		over()
	}
}

// TestNoPD: where PD does not answer, nobody has the lock.
func TestNoPD(t *testing.T) {
	w := &world{pd.NewFake(3, 3), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := w.part("a")
	w.pd.Update(func(s *pd.FakeState) { s.Leader = "" })
	if had, err := a.Take(t.Context()); had || !errors.Is(err, pd.ErrNoLeader) {
		t.Errorf("had %t: %v", had, err)
	}
	if had, err := New(func() pd.Client { return nil }, topology.Cluster{UID: "a"}, "").Take(t.Context()); had || err == nil {
		t.Errorf("without PD: had %t: %v", had, err)
	}
}

// TestReplacedLock: a process whose lock another process of the same part has replaced does not go on with it. The other
// process may have released the lock since, and another part may have it.
func TestReplacedLock(t *testing.T) {
	w := &world{pd.NewFake(3, 3), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	daemon, command, other := w.part("a"), w.part("a"), w.part("b")
	take(t, "by the daemon", daemon, false)
	take(t, "by the command", command, false)
	command.Release(t.Context())
	take(t, "by the other part", other, false)
	take(t, "by the daemon again", daemon, false)
	if daemon.Held() || !other.Held() {
		t.Errorf("held by the daemon: %t, by the other part: %t", daemon.Held(), other.Held())
	}
}
