package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
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
			"leaders evicted | t-tikv-1: leaders not evicted: 10 leaders left | kubectl tidb",
		}},
		{"the next one", with(func(c *plantest.Cluster) { c.Roll(tidb) }), "t-tidb-2", plan.ByRollout, nil},
		{"not the next one", with(func(c *plantest.Cluster) { c.Roll(tidb) }), "t-tidb-1", plan.ByRollout, []string{
			"member comes next | t-tidb-2 comes first | kubectl tidb",
		}},
		{"a peer is down, and leaders have not left", plantest.New(3, 3, 2).Roll(tikv).Down(time.Minute, "t-tikv-0"), "t-tikv-2", plan.ByRollout, []string{
			"all other members serving | t-tikv-0 not serving: pod is not ready | Kubernetes",
			"leaders evicted | t-tikv-2: leaders not evicted: 10 leaders left | kubectl tidb",
		}},
		{"paused", with(func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true }), "t-tidb-1", plan.AnyChange, []string{
			"cluster not paused | it is paused | a person",
		}},
		{"wanted", plantest.New(3, 3, 2), "t-tidb-1", plan.ByScaleIn, []string{
			"member is not wanted | 2 members are wanted | a person",
		}},
		{"it serves", plantest.New(3, 3, 2), "t-tidb-1", plan.ByRepair, []string{
			"member is down | no observation says that it is down | Kubernetes",
			"wanted template not tried yet | no restart would change its template | a person",
		}},
		{"down, and failover is not asked for", plantest.New(3, 3, 2).Down(time.Hour, "t-tidb-1"), "t-tidb-1", plan.ByFailover, []string{
			"the run may give members up | only a run that is asked for it does that, such as: kubectl tidb failover NAME run | a person",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unmet(t, c.cluster, c.member, c.topic); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
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
