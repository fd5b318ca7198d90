package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const (
	labelPD = "label pod t-pd-1: tidb.pingcap.com/cluster-id=7, tidb.pingcap.com/member-id=102"
	labelDB = "label pod t-tidb-0: tidb.pingcap.com/cluster-id=7"
)

// untidy removes labels from two pods.
func untidy(c *plantest.Cluster) *plantest.Cluster {
	for _, name := range []string{"t-pd-1", "t-tidb-0"} {
		c.Member(name).Pod.Identity = state.Identity{}
	}
	return c
}

// tidying returns an engine that does upkeep as well, one step after the other.
func (s *fakes) tidying(now func() time.Time) Engine {
	e := s.engine()
	e.Upkeep = NewUpkeep(1, now)
	return e
}

func frozen() time.Time { return plantest.Now }

func notices(s *fakes) []event.Event {
	return slices.DeleteFunc(slices.Clone(s.events), func(e event.Event) bool { return e.Type != event.Notice })
}

// Upkeep is done after all other steps of a turn, however the turn ends.
func TestUpkeep(t *testing.T) {
	broken := "scale TiDB from 2 to 3"
	blocked := rest().Down(time.Hour, "t-tikv-0")
	paused := untidy(rest())
	paused.Wanted.Cluster.Paused = true
	for name, tc := range map[string]struct {
		c    *plantest.Cluster
		fail map[string][]error
		want []string
	}{
		"acts":      {c: untidy(out()), want: []string{"look", broken, labelPD, labelDB, "record"}},
		"waits":     {c: untidy(waiting4()), want: []string{"look", labelPD, labelDB, "record"}},
		"blocked":   {c: untidy(blocked), want: []string{"look", "look live", labelPD, labelDB, "record"}},
		"converged": {c: untidy(rest()), want: []string{"look", "look live", labelPD, labelDB, "record"}},
		"paused":    {c: paused, want: []string{"look", "look live", "record"}},
		"tidb-S11 tikv-11-46: a step of it fails": {
			c: untidy(rest()), fail: map[string][]error{labelPD: {errBroken}},
			want: []string{"look", "look live", labelPD, labelDB, "record"},
		},
		"a step for the user fails": {
			c: untidy(out()), fail: map[string][]error{broken: {errBroken}},
			want: []string{"look", broken, labelPD, labelDB, "record"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakes{turns: []fakeTurn{{c: tc.c}}, fail: tc.fail}
			_, err := s.tidying(frozen).Once(context.Background())
			if !slices.Equal(s.log, tc.want) {
				t.Errorf("got %q, want %q", s.log, tc.want)
			}
			if failed := err != nil; failed != (name == "a step for the user fails") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A run that has converged does its upkeep before it ends.
func TestUpkeepOfConvergedRun(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{c: untidy(rest())}}, fail: map[string][]error{labelPD: {errBroken}}}
	p, err := Run(context.Background(), s.tidying(frozen), s)
	if err != nil || p.Outcome != plan.Converged || !slices.Contains(s.log, labelDB) {
		t.Errorf("got %s, %v, %q", p.Outcome, err, s.log)
	}
}

func TestFollowersDoNoUpkeep(t *testing.T) {
	s := &fakes{turns: []fakeTurn{{c: untidy(rest())}}}
	e := s.tidying(frozen)
	e.Actor, e.Recorder = nil, nil
	if _, err := Run(context.Background(), e, s); err != nil || !slices.Equal(s.log, []string{"look", "look live"}) {
		t.Errorf("got %v, %q", err, s.log)
	}
}

// A step of upkeep that fails is reported once, and not tried again for some minutes.
func TestUpkeepFails(t *testing.T) {
	now := plantest.Now
	forbidden := func(name string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, errors.New("no"))
	}
	s := &fakes{turns: []fakeTurn{{c: untidy(waiting4())}}, fail: map[string][]error{
		labelPD: {forbidden("t-pd-1"), forbidden("t-pd-1"), forbidden("t-pd-1")},
		labelDB: {forbidden("t-tidb-0"), forbidden("t-tidb-0")},
	}}
	e := s.tidying(func() time.Time { return now })
	turn := func() int {
		t.Helper()
		s.log = nil
		if _, err := e.Once(context.Background()); err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(s.log, func(l string) bool { return !strings.HasPrefix(l, "label") }))
	}
	if n := turn(); n != 2 {
		t.Errorf("%d steps, want 2", n)
	}
	got := notices(s)
	if len(got) != 1 || !strings.Contains(got[0].Message, "not permitted for pods") || got[0].Member != "" {
		t.Errorf("want one notice of what is missing for all: %+v", got)
	}
	if n := turn(); n != 0 {
		t.Errorf("%d steps at once after they failed", n)
	}
	now = now.Add(upkeepPause)
	if n := turn(); n != 2 {
		t.Errorf("%d steps later, want 2", n)
	}
	if n := len(notices(s)); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

type tooLate struct{}

func (tooLate) Error() string { return "has just changed" }
func (tooLate) Stale() bool   { return true }

// A step that was outdated is not reported.
func TestUpkeepOutdated(t *testing.T) {
	now := plantest.Now
	s := &fakes{turns: []fakeTurn{{c: untidy(waiting4())}}, fail: map[string][]error{labelPD: {tooLate{}}}}
	e := s.tidying(func() time.Time { return now })
	for range 2 {
		if _, err := e.Once(context.Background()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(stalePause)
	}
	if n := strings.Count(strings.Join(s.log, "\n"), labelPD); n != 2 || len(notices(s)) > 0 {
		t.Errorf("got %d attempts and notices %v", n, notices(s))
	}
}

// Upkeep that an interrupt cuts short has not failed.
func TestUpkeepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &fakes{turns: []fakeTurn{{c: untidy(waiting4())}}, fail: map[string][]error{labelPD: {context.Canceled}}}
	s.did = func(step.Step) { cancel(errBroken) }
	if _, err := Run(ctx, s.tidying(frozen), s); !errors.Is(err, errBroken) || len(notices(s)) > 0 {
		t.Errorf("got %v, notices %v", err, notices(s))
	}
}

// forgetting is an Observer that remembers reads.
type forgetting struct {
	*fakes
	forgot []string
}

func (f *forgetting) Forget(s step.Step) { f.forgot = append(f.forgot, s.String()) }

// The observer is called after every step, so that it reads again what was written.
func TestUpkeepIsForgotten(t *testing.T) {
	f := &forgetting{fakes: &fakes{turns: []fakeTurn{{c: untidy(waiting4())}}, fail: map[string][]error{labelPD: {errBroken}}}}
	e := f.tidying(frozen)
	e.Observer = f
	if _, err := e.Once(context.Background()); err != nil || !slices.Equal(f.forgot, []string{labelPD, labelDB}) {
		t.Errorf("got %v, %q", err, f.forgot)
	}
}

// New labels are not reported; a pod that is recreated is.
func TestUpkeepIsQuiet(t *testing.T) {
	c := untidy(waiting4())
	m := c.Member("t-tikv-2")
	m.Pod.Node, m.Claims = "", nil
	c.Down(time.Minute, "t-tikv-2")
	c.Set(topology.TiKV, func(s *state.Set) { s.Observed = false })
	s := &fakes{turns: []fakeTurn{{c: c}}}
	if _, err := s.tidying(frozen).Once(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range s.events {
		if e.Type == event.Finished {
			got = append(got, e.Step)
		}
	}
	if !slices.Equal(got, []string{"recreate t-tikv-2, claim tikv-t-tikv-2 is missing"}) {
		t.Errorf("got %q", got)
	}
}

// What upkeep needs and cannot read is reported once.
func TestGaps(t *testing.T) {
	c := waiting4()
	c.Seen.Gaps = []state.Gap{{What: "the labels of nodes", Problem: "forbidden", Remedy: remedy.Remedy{remedy.Say("ask for it")}}}
	s := &fakes{turns: []fakeTurn{{c: c}}}
	e := s.tidying(frozen)
	for range 3 {
		if _, err := e.Once(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := notices(s); len(got) != 1 || got[0].Message != "cannot read the labels of nodes: forbidden" || got[0].Help() != "ask for it" {
		t.Errorf("got %+v", got)
	}
}

// Several steps of upkeep are taken at the same time, since a new cluster has many.
func TestUpkeepAtOnce(t *testing.T) {
	together := make(chan struct{})
	a := actor(func(ctx context.Context) error {
		select { // each waits for the other
		case together <- struct{}{}:
		case <-together:
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	})
	s := &fakes{turns: []fakeTurn{{c: untidy(waiting4())}}}
	e := s.engine()
	e.Actor, e.Upkeep = a, NewUpkeep(2, frozen)
	if _, err := e.Once(context.Background()); err != nil || len(notices(s)) > 0 {
		t.Errorf("got %v, %v", err, notices(s))
	}
}

type actor func(context.Context) error

func (a actor) Do(ctx context.Context, _ step.Step) error { return a(ctx) }
