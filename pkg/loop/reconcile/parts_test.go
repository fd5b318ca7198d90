package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// parts is a Parts that a test sets.
type parts struct {
	had, held bool
	err       error
	away      []plan.Away
	log       []string
}

func (p *parts) Held() bool { return p.held }

func (p *parts) Note(away []plan.Away) { p.away = append(p.away, away...) }

func (p *parts) Away() []plan.Away { return p.away }

func (p *parts) Take(context.Context) (bool, error) {
	p.log = append(p.log, "take")
	return p.had, p.err
}

func (p *parts) Release(context.Context) { p.log = append(p.log, "release") }

func (p *parts) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// TestParts: a member of a database with other parts is taken away only by a decision that was made with the lock. The
// lock is given up when all members serve again.
func TestParts(t *testing.T) {
	rolling := func() *plantest.Cluster { return plantest.New(3, 4, 3).Roll(topology.PD) }
	missing := func() *plantest.Cluster {
		c := rolling()
		c.Member("t-pd-2").Pod.Terminating, c.Member("t-pd-2").Pod.Ready = true, false
		return c
	}
	for name, tt := range map[string]struct {
		c     *plantest.Cluster
		lock  parts
		alone bool
		want  []string // what is done with the lock
		acts  bool     // a member is taken away
		fails bool
	}{
		"the only part":        {c: rolling(), alone: true, acts: true},
		"new":                  {c: rolling(), want: []string{"take"}},
		"held":                 {c: rolling(), lock: parts{had: true, held: true}, want: []string{"take"}, acts: true},
		"PD fails":             {c: rolling(), lock: parts{err: errors.New("no leader")}, want: []string{"take"}, fails: true},
		"all serve":            {c: plantest.New(3, 4, 3), lock: parts{had: true, held: true}, want: []string{"release"}},
		"a member is away":     {c: missing(), lock: parts{had: true, held: true, away: []plan.Away{{Kind: topology.PD, Member: "t-pd-2"}}}, want: []string{"take"}},
		"only another is away": {c: missing(), lock: parts{had: true, held: true}, want: []string{"release"}},
		"nothing is held":      {c: missing()},
	} {
		t.Run(name, func(t *testing.T) {
			tt.c.Seen.PD.Shared = !tt.alone
			s := &fakes{turns: []fakeTurn{{c: tt.c}}}
			e := s.engine()
			e.Parts = &tt.lock
			_, err := e.Once(t.Context())
			if (err != nil) != tt.fails || !slices.Equal(tt.lock.log, tt.want) {
				t.Errorf("lock %v, want %v: %v", tt.lock.log, tt.want, err)
			}
			acts := slices.ContainsFunc(s.log, func(line string) bool { return line == "restart t-pd-2" })
			if acts != tt.acts {
				t.Errorf("log %v", s.log)
			}
			if noted := len(tt.lock.away) > 0 && tt.lock.away[0].PodUID != ""; noted != (tt.acts && !tt.alone) {
				t.Errorf("noted %v", tt.lock.away)
			}
		})
	}
}
