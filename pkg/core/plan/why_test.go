package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// unmet returns the conditions of a topic that do not hold, each with who can change that.
func unmet(t *testing.T, c *plantest.Cluster, member string, topic plan.Topic) []string {
	t.Helper()
	var all []string
	c.Decide() // it completes what was observed
	questions := c.Why(member)
	i := slices.IndexFunc(questions, func(q plan.Question) bool { return q.Topic == topic })
	if i < 0 {
		t.Fatalf("nothing is answered about %s of %s: %+v", topic, member, questions)
	}
	for _, a := range questions[i].Open() {
		all = append(all, a.Want+" | "+a.Observed+" | "+string(a.By))
	}
	return all
}

// TestWhy: all conditions that do not hold are named, not only the first one.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		member  string
		topic   plan.Topic
		want    []string
	}{
		{"nothing to roll out", plantest.New(3, 3, 2), "t-tikv-1", plan.ByRollout, []string{
			"pod is to be replaced | it has the template that is wanted, and nobody has named it | a person",
			"leaders evicted | not begun; the first step is: evict region leaders from t-tikv-1 (10 leaders) | kubectl tidb",
		}},
		{"the next one", with(func(c *plantest.Cluster) { c.Roll(tidb) }), "t-tidb-2", plan.ByRollout, nil},
		{"not the next one", with(func(c *plantest.Cluster) { c.Roll(tidb) }), "t-tidb-1", plan.ByRollout, []string{
			"member comes next | t-tidb-2 comes first | kubectl tidb",
		}},
		{"a peer is down, and leaders have not left", plantest.New(3, 3, 2).Roll(tikv).Down(time.Minute, "t-tikv-0"), "t-tikv-2", plan.ByRollout, []string{
			"all other members serving | t-tikv-0 not serving: pod is not ready | Kubernetes",
			"leaders evicted | not begun; the first step is: evict region leaders from t-tikv-2 (10 leaders) | kubectl tidb",
		}},
		{"paused", with(func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true }), "t-tidb-1", plan.AnyChange, []string{
			"cluster not paused | it is paused, and it is not known by whom | a person",
		}},
		{"paused by a person, and suspended", with(func(c *plantest.Cluster) {
			c.Wanted.Cluster.Paused, c.Wanted.Cluster.Pause = true, topology.Pause{By: "ann", Reason: "a holiday"}
			c.Want(tidb).Suspend = true
		}), "t-tidb-1", plan.AnyChange, []string{
			"cluster not paused | it is paused by ann: a holiday | a person",
			"component not suspended | suspendAction.suspendStatefulSet is true in the spec | a person",
		}},
		{"leaders leave", plantest.New(3, 3, 2).Roll(tikv).Evicting("t-tikv-2", time.Minute, 7), "t-tikv-2", plan.ByRollout, []string{
			"leaders evicted | t-tikv-2: leaders not evicted: 7 leaders left | the database",
		}},
		{"store is not to leave", plantest.New(3, 4, 2), "t-tikv-3", plan.ByScaleIn, []string{
			"member is not wanted | 4 members are wanted | a person",
			"leaders evicted | not begun; the first step is: evict region leaders from t-tikv-3 (10 leaders) | kubectl tidb",
			"store offline | not begun; the first step is: take store 4 of t-tikv-3 offline | kubectl tidb",
			"all regions moved away | asked after: leaders evicted | kubectl tidb",
			"leaders allowed | asked after: leaders evicted | kubectl tidb",
			"claims marked as left over | not begun; the first step is: mark tikv-t-tikv-3 as left over | kubectl tidb",
		}},
		{"wanted", plantest.New(3, 3, 2), "t-tidb-1", plan.ByScaleIn, []string{
			"member is not wanted | 2 members are wanted | a person",
		}},
		{"it serves", plantest.New(3, 3, 2), "t-tidb-1", plan.ByRepair, []string{
			"member is down | no observation says that it is down | Kubernetes",
			"restart due | no restart would change its template | a person",
		}},
		{"not ready, and PD hears from the store", with(func(c *plantest.Cluster) {
			c.Roll(tikv)
			c.Member("t-tikv-3").Pod.Ready, c.Member("t-tikv-3").Pod.Since = false, plantest.Now.Add(-time.Hour)
		}), "t-tikv-3", plan.ByRepair, []string{
			"leaders evicted | not begun; the first step is: evict region leaders from t-tikv-3 (10 leaders) | kubectl tidb",
		}},
		{"down, and failover is not asked for", plantest.New(3, 3, 2).Down(time.Hour, "t-tidb-1"), "t-tidb-1", plan.ByFailover, []string{
			"the run may give members up | only a run that is asked for a failover gives members up | a person",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unmet(t, c.cluster, c.member, c.topic); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestWhyReplacement: the conditions of a replacement are answered about a member that a user has named, and about no
// other one. What is before the removal of the member is said first.
func TestWhyReplacement(t *testing.T) {
	two := func() *plantest.Cluster { return replaced(plantest.New(3, 5, 2), "t-tikv-1", "t-tikv-3") }
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		member  string
		want    string // the first condition that does not hold
		number  int    // how many do not hold
	}{
		{"its turn", replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1", "leaders evicted | not begun; the first step is: evict region leaders from t-tikv-1 (10 leaders) | kubectl tidb", 5},
		{"it leaves", two().Removing("t-tikv-1", time.Minute), "t-tikv-1", "all regions moved away | t-tikv-1: regions not moved away: 30 regions left | the database", 2},
		{"not its turn", two(), "t-tikv-1", "its turn to be replaced | t-tikv-3 is replaced first | kubectl tidb", 6},
		{"another one gets new data", edit(two(), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
		}), "t-tikv-1", "no member gets new data now | t-tikv-3 gets new data | kubectl tidb", 6},
		{"another store is down", replaced(plantest.New(3, 5, 2), "t-tikv-1").Down(time.Minute, "t-tikv-0"), "t-tikv-1", "all other members serving | t-tikv-0 not serving: pod is not ready | Kubernetes", 6},
		{"its spare store is not there", spare(replaced(plantest.New(3, 3, 2), "t-tikv-1")), "t-tikv-1", "its turn to be replaced | 4 members are wanted, and the StatefulSet has 3 | kubectl tidb", 8},
		{"PD cannot be asked about it", edit(replaced(plantest.New(3, 4, 2), "t-tikv-1"), func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Database = state.Database{Presence: state.Unknown}
		}), "t-tikv-1", "the database lists the member | it is not known to list t-tikv-1 | the database", 6},
		{"PD has removed it", tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), "t-tikv-1", "", 0},
		{"a member of PD", replaced(plantest.New(3, 4, 2), "t-pd-1"), "t-pd-1", "claims marked as left over | not begun; the first step is: mark pd-t-pd-1 as left over | kubectl tidb", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := unmet(t, c.cluster, c.member, plan.ByReplacement)
			if first := append(got, "")[0]; first != c.want || len(got) != c.number {
				t.Errorf("got\n%s\nwanted %d, and first\n%s", strings.Join(got, "\n"), c.number, c.want)
			}
		})
	}
}

// TestWhyReplacementHelp: a condition says how the regions get room, and how the replacement is called off. It is not
// called off after PD has removed the member.
func TestWhyReplacementHelp(t *testing.T) {
	for condition, c := range map[string]struct {
		cluster *plantest.Cluster
		want    string
	}{
		"PD has enough other stores": {replaced(plantest.New(3, 3, 2), "t-tikv-1"), "add a store until it is replaced: kubectl tidb replace t t-tikv-1 --spare -n ns; " +
			"or ask for more replicas; or lower max-replicas in PD first; or to call its replacement off: kubectl tidb replace t t-tikv-1 --cancel -n ns"},
		"claims marked as left over": {edit(tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Claims[0].Marked = false
		}), ""},
	} {
		c.cluster.Decide()
		questions := c.cluster.Why("t-tikv-1")
		open := questions[len(questions)-1].Open()
		i := slices.IndexFunc(open, func(a plan.Answer) bool { return a.Want == condition })
		if i < 0 {
			t.Errorf("nothing is said about %q: %+v", condition, open)
		} else if got := open[i].Remedy.Line(""); got != c.want {
			t.Errorf("got\n%s\nwanted\n%s", got, c.want)
		}
	}
}

// TestWhyOfTopics: each topic is answered, with conditions that hold as well.
func TestWhyOfTopics(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(tikv)
	var topics []plan.Topic
	for _, q := range c.Why("t-tikv-2") {
		topics = append(topics, q.Topic)
		if len(q.Open()) == len(q.Answers) {
			t.Errorf("%s: no condition holds: %+v", q.Topic, q.Answers)
		}
		for _, a := range q.Answers {
			if a.Want == "" || a.Because == "" || !a.Met && (a.Observed == "" || a.By == "") {
				t.Errorf("%s: something is not said: %+v", q.Topic, a)
			}
		}
	}
	if want := []plan.Topic{plan.AnyChange, plan.ByRollout, plan.ByRepair, plan.ByScaleIn, plan.ByFailover}; !slices.Equal(topics, want) {
		t.Errorf("topics %v, wanted %v", topics, want)
	}
	if got := c.Why("t-tikv-9"); got != nil {
		t.Errorf("about a member that does not exist: %+v", got)
	}
}

// TestWhyInOwnWords: no two conditions of a topic are called the same, whatever the component of the member.
func TestWhyInOwnWords(t *testing.T) {
	for _, c := range []*plantest.Cluster{
		plantest.New(3, 3, 2), plantest.NewFlash(3, 3, 2, 2), plantest.NewProxies(3, 3, 2, 2), plantest.NewPumps(3, 3, 2, 2), plantest.NewCaptures(3, 3, 2, 2),
	} {
		for _, g := range c.Wanted.Groups {
			for _, m := range c.Seen.Groups[g.Kind].Members {
				for _, q := range c.Why(m.Name) {
					said := map[string]bool{}
					for _, a := range q.Answers {
						if said[a.Want] {
							t.Errorf("%s of %s: two conditions are called %q", q.Topic, m.Name, a.Want)
						}
						said[a.Want] = true
					}
				}
			}
		}
	}
}

// TestWhySince: the wait for a member that is down says since when, and until when nobody is asked.
func TestWhySince(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(tikv).Down(time.Minute, "t-tikv-0")
	c.Decide()
	for _, q := range c.Why("t-tikv-2") {
		for _, a := range q.Open() {
			if q.Topic != plan.ByRollout || a.Reason != plan.MemberServing {
				continue
			}
			if since := plantest.Now.Add(-time.Minute); !a.Since.Equal(since) || !a.Deadline.Equal(since.Add(10*time.Minute)) {
				t.Errorf("since %s until %s", a.Since, a.Deadline)
			}
			return
		}
	}
	t.Error("nothing waits for the member that is down")
}

// TestWhyWithoutPod: conditions are also asked where one before them does not hold, so that a member may have no pod.
func TestWhyWithoutPod(t *testing.T) {
	c := plantest.New(3, 3, 3)
	c.Want(tidb).MinReady = 30 * time.Second
	c.Member("t-tidb-0").Pod = nil
	if all := c.Why("t-tidb-2"); len(all) == 0 {
		t.Error("no answers")
	}
}

// TestWhySinceWithoutGate: where no gate waits, the answer says since when what is observed lasts, and what a person
// can do.
func TestWhySinceWithoutGate(t *testing.T) {
	ago := func(d time.Duration) time.Time { return plantest.Now.Add(-d) }
	paused := with(func(c *plantest.Cluster) {
		c.Wanted.Cluster.Paused, c.Wanted.Cluster.Pause = true, topology.Pause{Since: ago(time.Hour), Until: ago(-time.Hour)}
	})
	down := func() *plantest.Cluster { return plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-2") }
	ending, leaving := down(), down().Removing("t-tikv-2", time.Hour)
	ending.Member("t-tikv-2").Pod.Terminating = true
	given, silent := down(), down()
	silent.Member("t-tikv-2").Database.Since = ago(2 * time.Minute)
	given.Want(tikv).Failures = []topology.Failure{{Member: "t-tikv-2", Created: ago(time.Second)}}
	for _, c := range []struct {
		cluster      *plantest.Cluster
		topic        plan.Topic
		want         string
		since, until time.Time
		help         string
	}{
		{paused, plan.AnyChange, "cluster not paused", ago(time.Hour), ago(-time.Hour), "end the pause: kubectl tidb resume t -n ns"},
		{plantest.New(3, 3, 2), plan.ByRepair, "member is down", time.Time{}, time.Time{}, ""},
		{down(), plan.ByRepair, "member is down", ago(time.Minute), time.Time{}, ""},
		{down(), plan.ByRepair, "pod not being deleted", time.Time{}, time.Time{}, ""},
		{ending, plan.ByRepair, "pod not being deleted", ago(time.Minute), time.Time{}, ""},
		{down(), plan.ByFailover, "member does not serve", ago(time.Minute), time.Time{}, ""},
		{down(), plan.ByFailover, "member not given up yet", time.Time{}, time.Time{}, ""},
		{given, plan.ByFailover, "member not given up yet", ago(time.Second), time.Time{}, ""},
		{down(), plan.ByFailover, "member not being removed", time.Time{}, time.Time{}, ""},
		{leaving, plan.ByFailover, "member not being removed", ago(time.Hour), time.Time{}, ""},
		{silent, plan.ByFailover, "the database has lost the member", ago(2 * time.Minute), time.Time{}, ""},
		{down(), plan.ByFailover, "Kubernetes and the database agree", ago(time.Minute), time.Time{}, ""},
		{down(), plan.ByFailover, "the run may give members up", time.Time{}, time.Time{}, "have members given up that are lost: kubectl tidb failover t run -n ns"},
		{given, plan.ByFailover, "the run may give members up", time.Time{}, time.Time{}, ""}, // not asked before the others hold
	} {
		c.cluster.Decide()
		questions := c.cluster.Why("t-tikv-2")
		q := questions[slices.IndexFunc(questions, func(q plan.Question) bool { return q.Topic == c.topic })]
		i := slices.IndexFunc(q.Answers, func(a plan.Answer) bool { return a.Want == c.want })
		if i < 0 {
			t.Errorf("%s: nothing is said of %q", c.topic, c.want)
			continue
		}
		a := q.Answers[i]
		if help := a.Remedy.Line(""); !a.Since.Equal(c.since) || !a.Deadline.Equal(c.until) || help != c.help {
			t.Errorf("%s: since %s until %s, %q; wanted %s, %s, %q", c.want, a.Since, a.Deadline, help, c.since, c.until, c.help)
		}
	}
}

// TestWhyRemedies: as long as nobody restarts a store, nobody has to do anything about the leaders on it.
func TestWhyRemedies(t *testing.T) {
	remedies := func(c *plantest.Cluster) int {
		c.Decide()
		n := 0
		for _, q := range c.Why("t-tikv-2") {
			for _, a := range q.Open() {
				if q.Topic == plan.ByRollout && a.Want == "leaders evicted" && len(a.Remedy) > 0 {
					n++
				}
			}
		}
		return n
	}
	if n := remedies(plantest.New(3, 3, 2)); n != 0 {
		t.Errorf("%d remedies, and nobody restarts the store", n)
	}
	if n := remedies(plantest.New(3, 3, 2).Roll(tikv)); n != 1 {
		t.Errorf("%d remedies while the store is to be restarted, wanted 1", n)
	}
}
