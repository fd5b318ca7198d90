package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestEvictionWithoutALimit: where nobody has set a time, an eviction may take as long as leaders go on leaving,
// whenever it began. When none leaves for ten minutes, a person is asked, and the store is restarted with its leaders
// only if that was asked for.
func TestEvictionWithoutALimit(t *testing.T) {
	for name, c := range map[string]struct {
		policy  plan.Eviction
		leaders func(minute int) int
		minute  int // in which the plan is Blocked, or the store is restarted; -1 for never
		restart bool
	}{
		"none leaves":                           {plan.Eviction{}, func(int) int { return 500 }, 10, false},
		"none leaves, fail":                     {plan.Eviction{OnTimeout: plan.Fail}, func(int) int { return 500 }, 10, false},
		"none leaves, proceed":                  {plan.Eviction{OnTimeout: plan.Proceed}, func(int) int { return 500 }, 10, true},
		"none leaves, wait":                     {plan.Eviction{OnTimeout: plan.Persist}, func(int) int { return 500 }, -1, false},
		"one leaves in nine minutes":            {plan.Eviction{}, func(minute int) int { return 500 - minute/9 }, -1, false},
		"one leaves in nine minutes, proceed":   {plan.Eviction{OnTimeout: plan.Proceed}, func(minute int) int { return 500 - minute/9 }, -1, false},
		"they come and go":                      {plan.Eviction{}, func(minute int) int { return 500 + minute*7%10 }, 10, false},
		"their number grows, and is not known":  {plan.Eviction{}, func(minute int) int { return []int{500 + minute, -1}[minute%2] }, 11, false},
		"some leave, then none":                 {plan.Eviction{}, func(minute int) int { return max(400, 500-minute) }, 110, false},
		"some leave, then none, proceed":        {plan.Eviction{OnTimeout: plan.Proceed}, func(minute int) int { return max(400, 500-minute) }, 110, true},
		"a time for this run, leaders do leave": {plan.Eviction{Timeout: time.Hour}, func(minute int) int { return 500 - minute }, 0, true},
	} {
		cluster := plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", 99*time.Hour, 500)
		cluster.Want(tikv).EvictTimeout, cluster.Policy.Eviction = nil, c.policy
		at, restarted := -1, false
		for minute := range 200 {
			cluster.Member("t-tikv-3").Database.Leaders = c.leaders(minute)
			p := cluster.Decide()
			if restarted = len(p.Steps) > 0; restarted || p.Outcome == plan.Blocked {
				at = minute
				break
			}
			cluster.Policy.Waits = cluster.Policy.Waits.After(p, cluster.Seen.At)
			cluster.Seen.At = cluster.Seen.At.Add(time.Minute)
		}
		if at != c.minute || restarted != c.restart {
			t.Errorf("%s: in minute %d, restarted: %t", name, at, restarted)
		}
	}
}

// TestEvictionGoesOn: a daemon goes on when leaders leave again after they had not for long.
func TestEvictionGoesOn(t *testing.T) {
	c := plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 500)
	c.Want(tikv).EvictTimeout = nil
	if minute, p := waitFor(c, 100, func(int) {}); minute != 10 || len(p.Steps) > 0 {
		t.Fatalf("in minute %d: %s", minute, plantest.Text(p))
	}
	c.Member("t-tikv-3").Database.Leaders = 499
	if p := c.Decide(); p.Outcome != plan.Wait {
		t.Error(plantest.Text(p))
	}
}

// TestLimitLeaderMoves: PD is asked for the limit of a run before leaders leave. It is asked again as long as they
// leave or come back, and not otherwise.
func TestLimitLeaderMoves(t *testing.T) {
	begins := func() *plantest.Cluster { return plantest.New(3, 4, 2).Roll(tikv) }
	goesOn := func() *plantest.Cluster { return begins().Evicting("t-tikv-3", time.Minute, 500) }
	first, again := step.LimitLeaderMoves{Limit: 2}, step.LimitLeaderMoves{Limit: 2, Again: true}
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		limit   int
		asked   time.Duration // ago; 0 for never
		want    step.Step     // nil for none
	}{
		"an eviction begins":               {begins(), 2, 0, first},
		"one goes on, by another run":      {goesOn(), 2, 0, first},
		"PD was asked just now":            {goesOn(), 2, 29 * time.Second, nil},
		"PD was asked a while ago":         {goesOn(), 2, 30 * time.Second, again},
		"PD has forgotten it":              {goesOn(), 2, 2 * time.Minute, first},
		"the run has no limit":             {begins(), 0, 0, nil},
		"no leaders leave":                 {plantest.New(3, 4, 2).Roll(tidb), 2, 0, nil},
		"there is nothing to do":           {plantest.New(3, 4, 2), 2, 0, nil},
		"PD does not answer":               {goesOn().PDUnknown(), 2, 0, nil},
		"a scale-in, before leaders leave": {removing(), 2, 0, nil},
	} {
		c.cluster.Policy.Eviction.MaxMoves = c.limit
		if c.asked > 0 {
			c.cluster.Policy.Limited = plantest.Now.Add(-c.asked)
		}
		steps := c.cluster.Decide().Steps
		i := slices.IndexFunc(steps, func(s step.Step) bool { _, is := s.(step.LimitLeaderMoves); return is })
		if c.want == nil && i >= 0 || c.want != nil && (i != 0 || steps[0] != c.want) {
			t.Errorf("%s: %v", name, steps)
		}
	}
}
