package plan_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// waitFor decides once a minute on the same cluster. It says after how many minutes the decision is
// Blocked; -1 when it never is.
func waitFor(c *plantest.Cluster, minutes int, each func(minute int)) (int, plan.Plan) {
	c.Policy.Waits = nil
	for minute := range minutes {
		each(minute)
		p := c.Decide()
		if p.Outcome == plan.Blocked {
			return minute, p
		}
		c.Policy.Waits = c.Policy.Waits.After(p, c.Seen.At)
		c.Seen.At = c.Seen.At.Add(time.Minute)
	}
	return -1, plan.Plan{}
}

// TestEveryGateEnds: a wait for which the cluster has no time ends as well. The gate then says what
// to do.
func TestEveryGateEnds(t *testing.T) {
	replacing := plantest.New(3, 4, 2).Roll(tidb).Set(tidb, func(s *state.Set) { s.Partition = 1 })
	finished := plantest.New(3, 4, 2).Set(tidb, func(s *state.Set) { s.UpdateRevision = "v2" }).Rolled(tidb, 0, 1)
	elsewhere := plantest.New(2, 3, 1).Roll(pd) // PD has three members in another Kubernetes cluster
	elsewhere.Seen.PD.Members, elsewhere.Seen.PD.Healthy = 5, 3
	leaderless := plantest.New(3, 3, 1) // its members are reported healthy
	leaderless.Seen.PD.Members, leaderless.Seen.PD.Healthy, leaderless.Seen.PD.Leader = 7, 3, ""
	going := plantest.New(3, 3, 1)
	going.Want(tikv).Replicas = 4
	going.Add(tikv).Claims[0].Terminating = true
	leaving := plantest.New(3, 3, 1).Set(tidb, func(s *state.Set) { s.Terminating = true })
	suspended := plantest.New(3, 3, 0).Evicting("t-tikv-2", time.Minute, 0)
	suspended.Want(tikv).Suspend = true
	suspended.Seen.PD.Leader = ""
	silent := plantest.New(3, 4, 1)
	silent.Want(tikv).Replicas, silent.Seen.PD.Placement.Unread = 3, "404"
	crowded := removing()
	crowded.Seen.PD.MaxReplicas = 4
	needed := plantest.New(3, 4, 1) // a store came back whose data was given up, and its claim is marked
	replacement(needed, tikv)
	grown(needed)
	given(needed, "t-tikv-1", time.Hour, discarded)
	needed.Member("t-tikv-1").Claims[0].Marked = true
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		after   int
		want    string
	}{
		"the controller does not see the spec":            {plantest.New(3, 3, 2).Set(tidb, func(s *state.Set) { s.Observed = false }), 10, "kubectl describe statefulset t-tidb -n ns; or see whether the controllers of Kubernetes run: kubectl get pods -n kube-system"},
		"the controller does not replace a pod":           {replacing, 10, "kubectl describe pod t-tidb-1 -n ns; or see whether the controllers of Kubernetes run: kubectl get pods -n kube-system"},
		"the controller does not finish":                  {finished, 10, "kubectl describe statefulset t-tidb"},
		"the StatefulSet does not go":                     {leaving, 10, "kubectl describe statefulset t-tidb"},
		"PD would lose its quorum":                        {elsewhere, 10, "bring the other members of PD up first"},
		"members here do not know what PD lacks":          {leaderless, 10, "health"},
		"a claim does not go":                             {going, 10, "kubectl describe pvc"},
		"PD does not end evictions":                       {suspended, 10, "health"},
		"PD does not return its rules":                    {silent, 10, "placement-rules show"},
		"a StatefulSet that is needed is needed for ever": {needed, 10, "kubectl describe statefulset t-tikv"},
		"regions do not leave":                            {removing(), 60, "to call it off"},
		"no store is left for regions":                    {crowded, 10, "to call it off"},
		"regions do not leave what others took":           {offline(), 60, "store cancel-delete 4"},
	} {
		minute, p := waitFor(c.cluster, 200, func(int) {})
		var help []string
		for _, g := range p.Gates {
			help = append(help, g.Remedy.Line(""))
		}
		if minute != c.after || !strings.Contains(strings.Join(help, "\n"), c.want) {
			t.Errorf("%s: after %d minutes, %s, %q", name, minute, plantest.Text(p), help)
		}
	}
}

func removing() *plantest.Cluster {
	c := plantest.New(3, 4, 1).Removing("t-tikv-3", time.Minute)
	c.Want(tikv).Replicas = 3
	return c
}

// offline returns a cluster with a store that was taken offline by another user.
func offline() *plantest.Cluster { return plantest.New(3, 4, 1).Offline("t-tikv-3") }

// TestProgressIsNoStandstill: a new value starts the time again, and a value that was seen before
// does not.
func TestProgressIsNoStandstill(t *testing.T) {
	for _, c := range []*plantest.Cluster{removing(), offline()} {
		if minute, p := waitFor(c, 300, func(minute int) {
			if minute%50 == 0 {
				c.Member("t-tikv-3").Database.Regions = 1000 - minute
			}
		}); minute >= 0 {
			t.Errorf("blocked after %d minutes, though regions leave: %s", minute, plantest.Text(p))
		}
	}
	c := plantest.New(2, 3, 1).Roll(pd)
	c.Seen.PD.Members = 7
	if minute, _ := waitFor(c, 30, func(minute int) { c.Seen.PD.Healthy = 3 + minute%2 }); minute != 11 {
		t.Errorf("a value that alternates: got %d", minute)
	}
	for repeats, want := range map[int]int{8: 17, 9: -1} { // eight values are remembered
		c.Seen.At = plantest.Now
		if minute, _ := waitFor(c, 40, func(minute int) { c.Seen.PD.Members = 7 + 2*(minute%repeats) }); minute != want {
			t.Errorf("%d values that repeat: got %d, want %d", repeats, minute, want)
		}
	}
	c.Seen.At = plantest.Now
	if minute, _ := waitFor(c, 12, func(minute int) { c.Seen.PD.Members = 7 + 2*(minute/10) }); minute >= 0 {
		t.Errorf("a value that is new when the time ends: %d", minute)
	}
	c.Seen.At = plantest.Now
	if minute, _ := waitFor(c, 30, func(minute int) { c.Seen.PD.Healthy = 3; c.Seen.PD.Members = 7 + 2*(minute/5) }); minute >= 0 {
		t.Errorf("a value that is new each time: %d", minute)
	}
}

// TestRegionsThatSplitAreNoProgress: regions that cannot leave are split, so their number
// is new each time, and grows.
func TestRegionsThatSplitAreNoProgress(t *testing.T) {
	for _, c := range []*plantest.Cluster{removing(), offline()} {
		if minute, p := waitFor(c, 200, func(minute int) { c.Member("t-tikv-3").Database.Regions = 1000 + minute }); minute != 60 {
			t.Errorf("blocked after %d minutes: %s", minute, plantest.Text(p))
		}
	}
}

// TestWaitSurvivesASilentTurn: if PD does not answer in a turn, its gates are absent. The time of
// these gates does not start again.
func TestWaitSurvivesASilentTurn(t *testing.T) {
	c := removing()
	seen := c.Seen.PD
	if minute, _ := waitFor(c, 200, func(minute int) {
		c.Seen.PD = seen
		if minute%30 == 29 {
			c.Seen.PD = state.PD{Problem: "timeout"}
		}
	}); minute != 60 {
		t.Errorf("blocked after %d minutes", minute)
	}
}

// TestQueuedBehindARollout: a component waits for the rollout of an earlier component. It is not
// Blocked in turns in which the earlier component has only a step and no gate.
func TestQueuedBehindARollout(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(pd).Roll(tidb)
	queued := func(p plan.Plan) (found, blocked bool) {
		for _, g := range p.Gates {
			found, blocked = found || g.Reason == plan.RolloutQueued, blocked || g.Blocked
		}
		return found, blocked
	}
	for range 20 {
		p := c.Decide()
		if found, blocked := queued(p); !found || blocked || len(p.Steps) == 0 {
			t.Fatalf("%s", plantest.Text(p))
		}
		c.Policy.Waits = c.Policy.Waits.After(p, c.Seen.At)
		c.Seen.At = c.Seen.At.Add(time.Minute)
	}
}

// TestPatienceWithoutEnd: with --on-evict-timeout=wait a run waits for leaders without a limit.
func TestPatienceWithoutEnd(t *testing.T) {
	c := plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 5)
	c.Policy.Eviction.OnTimeout = plan.Persist
	if minute, p := waitFor(c, 3000, func(int) {}); minute >= 0 {
		t.Errorf("after %d minutes: %s", minute, plantest.Text(p))
	}
}

// TestStandDown: a store that cannot be restarted gets its leaders back. Its eviction is not begun
// and taken back again and again.
func TestStandDown(t *testing.T) {
	next := func() *plantest.Cluster { return plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 0) }
	pdDown := next().Roll(pd).Down(time.Hour, "t-pd-0")
	failing := next()
	failing.Member("t-tikv-3").Database.Leaders = 5
	failing.Policy.Eviction = plan.Eviction{OnTimeout: plan.Fail, Timeout: time.Second}
	silent := next().Down(time.Hour, "t-tikv-0")
	silent.Seen.PD.Leader = ""
	needed := plantest.New(3, 4, 2).Evicting("t-tikv-3", time.Minute, 0)
	needed.Want(tikv).Replicas, needed.Seen.PD.MaxReplicas = 3, 4
	leaving := removing().Evicting("t-tikv-3", time.Minute, 0).Down(time.Hour, "t-pd-0")
	leaving.Seen.PD.UpStores = 2
	replaced := next().Down(time.Hour, "t-pd-0")
	lost(replaced, time.Hour, "t-tikv-0")
	replaced.Policy.Failover = plan.Failing{Members: true, Only: []topology.Kind{tikv}}
	ended := next().Down(time.Hour, "t-tikv-0")
	ended.Seen.Evictions[0].Ended, ended.Member("t-tikv-3").Database.Evicting = plantest.Now.Add(-time.Second), false
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    bool
	}{
		"a peer is given up just now":         {replaced, false},
		"it was restarted, and does not come": {next().Rolled(tikv, 3).Down(time.Hour, "t-tikv-3"), false},
		"its eviction has ended already":      {ended, false},
		"PD comes first, and may still come":  {next().Roll(pd).Down(time.Minute, "t-pd-0"), false},
		"a peer may still come":               {next().Down(time.Minute, "t-tikv-0"), false},
		"a peer does not come":                {next().Down(time.Hour, "t-tikv-0"), true},
		"PD comes first, and does not come":   {pdDown, true},
		"its own leaders do not leave":        {failing, false},
		"PD cannot be asked":                  {silent, false},
		"it cannot be removed":                {needed, true},
		"its regions do not leave":            {leaving, false},
	} {
		text := c.cluster.Text()
		if got := strings.Contains(text, "allow region leaders on t-tikv-3"); got != c.want {
			t.Errorf("%s: %s", name, text)
		}
		if !c.want {
			continue
		}
		c.cluster.Seen.Evictions = nil
		c.cluster.Member("t-tikv-3").Database.Evicting, c.cluster.Member("t-tikv-3").Database.Leaders = false, 100
		if p := c.cluster.Decide(); p.Outcome != plan.Blocked {
			t.Errorf("%s: it is begun again: %s", name, plantest.Text(p))
		}
	}
}

// TestStandDownBesideAnother: a store that needs a person gets its leaders back. It does also while
// an earlier component waits for something that may come by itself.
func TestStandDownBesideAnother(t *testing.T) {
	c := plantest.New(3, 4, 2).Evicting("t-tikv-3", time.Minute, 0).Down(time.Minute, "t-pd-0")
	c.Want(tikv).Replicas, c.Seen.PD.MaxReplicas = 3, 4
	if text := c.Text(); !strings.Contains(text, "allow region leaders on t-tikv-3") || !strings.Contains(text, "? t-pd-0") {
		t.Error(text)
	}
}

// TestNoStandDownBeforeThePodIsReplaced: Kubernetes may still delete the pod, and then its store must
// have no leaders.
func TestNoStandDownBeforeThePodIsReplaced(t *testing.T) {
	c := plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 0).Set(tikv, func(s *state.Set) { s.Partition = 3 })
	minute, p := waitFor(c, 20, func(int) {})
	if text := plantest.Text(p); minute != 10 || !strings.Contains(text, "! t-tikv-3: pod not replaced") || strings.Contains(text, "allow region leaders") {
		t.Errorf("after %d minutes: %s", minute, text)
	}
}

// TestQueuedGatesHaveNoEnd: what only waits for another one is not reported as the cause.
func TestQueuedGatesHaveNoEnd(t *testing.T) {
	c := removing().Roll(tidb)
	c.Seen.PD.MaxReplicas = 4
	c.Volumes(tikv, 10*gi, 20*gi)
	claims(c, tikv, func(c *state.Claim) { c.Requested, c.Capacity = 20*gi, 20*gi })
	minute, p := waitFor(c, 20, func(int) {})
	blocked := map[plan.Reason]bool{}
	for _, g := range p.Gates {
		blocked[g.Reason] = g.Blocked
	}
	want := map[plan.Reason]bool{plan.RegionsMoved: true, plan.RolloutQueued: false, plan.StatefulSetRecreated: false}
	if minute != 10 || !maps.Equal(blocked, want) {
		t.Errorf("after %d minutes: %s", minute, plantest.Text(p))
	}
}

// TestWaitsForget: a wait is remembered once, for two minutes after its gate was there last. It is
// not remembered over a step, which may have caused the wait again.
func TestWaitsForget(t *testing.T) {
	p := plan.Plan{Gates: []plan.Gate{{Component: tikv, Reason: plan.RegionsMoved}}}
	ws := plan.Waits(nil).After(p, plantest.Now)
	for name, c := range map[string]struct {
		p     plan.Plan
		after time.Duration
		want  int
	}{
		"the gate is there":      {p, time.Minute, 1},
		"the gate is absent":     {plan.Plan{}, 2 * time.Minute, 1},
		"it was absent for long": {plan.Plan{}, 2*time.Minute + 1, 0},
		"it is there after long": {p, time.Hour, 1},
		"a step is taken":        {plan.Plan{Steps: []step.Step{step.AllowLeaders{}}}, time.Minute, 0},
		"another gate is there":  {plan.Plan{Gates: []plan.Gate{{Component: pd, Reason: plan.RegionsMoved}}}, time.Minute, 2},
	} {
		if got := len(ws.After(c.p, plantest.Now.Add(c.after))); got != c.want {
			t.Errorf("%s: %d are remembered, want %d", name, got, c.want)
		}
	}
}

// TestStandDownAfterStandstill: a store gets its leaders back also where the gate has no time from
// the cluster. Only this process has seen then that nothing moves.
func TestStandDownAfterStandstill(t *testing.T) {
	c := plantest.New(3, 4, 1).Evicting("t-tikv-3", time.Minute, 0)
	c.Want(tikv).Replicas, c.Seen.PD.Placement.Unread = 3, "404"
	for minute := range 12 {
		p := c.Decide()
		if got, want := strings.Contains(plantest.Text(p), "allow region leaders on t-tikv-3"), minute >= 10; got != want {
			t.Fatalf("after %d minutes: %s", minute, plantest.Text(p))
		}
		c.Policy.Waits = c.Policy.Waits.After(p, c.Seen.At)
		c.Seen.At = c.Seen.At.Add(time.Minute)
	}
}

// TestUnseenTimeIsNoStandstill: a process may not have observed the cluster for long, for example
// while the API server was away. It does not know what happened in that time, so the time does not
// count for a wait.
func TestUnseenTimeIsNoStandstill(t *testing.T) {
	for away, want := range map[time.Duration]plan.Outcome{
		2 * time.Minute:             plan.Blocked,
		2*time.Minute + time.Second: plan.Wait,
		time.Hour:                   plan.Wait,
	} {
		c := plantest.New(3, 3, 2).Set(tidb, func(s *state.Set) { s.Observed = false })
		for range 9 { // eight minutes
			c.Policy.Waits = c.Policy.Waits.After(c.Decide(), c.Seen.At)
			c.Seen.At = c.Seen.At.Add(time.Minute)
		}
		c.Seen.At = c.Seen.At.Add(away - time.Minute)
		if p := c.Decide(); p.Outcome != want {
			t.Errorf("not observed for %s: %s", away, plantest.Text(p))
		}
	}
}

// TestOwnDeadline: a gate with a deadline of its own has that time, also without progress.
// Otherwise a person would be asked for help while leaders still have time to leave a store.
func TestOwnDeadline(t *testing.T) {
	c := plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 5)
	if minute, p := waitFor(c, 30, func(int) {}); minute >= 0 {
		t.Errorf("after %d minutes: %s", minute, plantest.Text(p))
	}
}

// TestProgressHidesNoOther: the progress of one member does not start the time of others again.
func TestProgressHidesNoOther(t *testing.T) {
	c := plantest.New(3, 6, 2).Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 4, 4 })
	c.Want(tikv).Replicas = 4
	for _, name := range []string{"t-tikv-4", "t-tikv-5"} { // removed, and their pods are still there
		m := c.Member(name)
		m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
	}
	waitFor(c, 12, func(minute int) {
		c.Member("t-tikv-4").Pod.Ready, c.Member("t-tikv-4").Pod.Problem = false, time.Duration(minute).String()
	})
	got := map[string]bool{}
	for _, g := range c.Decide().Gates {
		got[g.Member] = g.Blocked
	}
	if len(got) != 2 || got["t-tikv-4"] || !got["t-tikv-5"] {
		t.Errorf("blocked: %v: %s", got, c.Text())
	}
}
