package component_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// capture returns what TiCDC says of the capture with an ordinal.
func capture(c *plantest.Cluster, i int) *state.Capture {
	return &c.Member(c.Wanted.Cluster.PodName(topology.TiCDC, i)).Database.Capture
}

// old makes all captures of a version that does not list them.
func old(c *plantest.Cluster, version string) {
	for i := range c.Seen.Groups[topology.TiCDC].Members {
		m := &c.Seen.Groups[topology.TiCDC].Members[i]
		m.Database.Version, m.Database.Capture = version, state.Capture{ID: plantest.Capture(i), Drains: state.CannotDrain, Feeds: state.FeedsUnknown}
	}
}

// alone leaves TiCDC one capture, with a number of changefeeds.
func alone(c *plantest.Cluster, feeds int) {
	capture(c, 0).Others, capture(c, 0).Feeds = 0, feeds
}

// silent makes TiCDC say nothing of its captures to the one with an ordinal.
func silent(c *plantest.Cluster, i int) {
	*capture(c, i) = state.Capture{ID: plantest.Capture(i), Feeds: state.FeedsUnknown}
}

// TestTiCDC: a capture is restarted without tables, and not as the owner, unless that is not possible.
func TestTiCDC(t *testing.T) {
	const first, second = "t-ticdc-0", "t-ticdc-1"
	deletes := func(c *plantest.Cluster) {
		c.Want(topology.TiCDC).Manual = true
		c.Set(topology.TiCDC, func(s *state.Set) { s.Manual = true })
	}
	owns := func(c *plantest.Cluster, i int) {
		for n := range 2 {
			capture(c, n).Owner, capture(c, n).Leads = n == i, plantest.Capture(i)
		}
	}
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		step   string // none is expected where it is ""
		gate   string
	}{
		"tables leave first": {func(*plantest.Cluster) {}, "move tables off " + second, "does not say how many are left"},
		"they are counted":   {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 7) }, "", "7 tables left"},
		"it is asked again": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 7).Asked = plantest.Now.Add(-5 * time.Second)
		}, "move tables off " + second, "7 tables left"},
		"none are left": {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 0) }, "restart " + second, ""},
		"none were left a while ago": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 0).Asked = plantest.Now.Add(-30 * time.Second)
		}, "move tables off " + second, ""},
		"none are left, by one answer": {func(c *plantest.Cluster) { c.Draining(second, time.Second, 0) }, "", "0 tables left"},
		"by one answer some seconds ago": {func(c *plantest.Cluster) {
			d := c.Draining(second, 3*time.Second, 0)
			d.Asked = d.Empty
		}, "move tables off " + second, "0 tables left"},
		"an older version has not recorded since when": {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 0).Empty = time.Time{} }, "", "0 tables left"},
		"its new architecture answers at once": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v8.5.5"
			c.Draining(second, time.Minute, 0).Most = 0
		}, "restart " + second + " without: all tables moved to other captures (TiCDC v8.5.5 does not drain in its new architecture)", ""},
		"so it does with a suffix": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v8.5.4-release.1"
			c.Draining(second, time.Minute, 0).Most = 0
		}, "restart " + second + " without: all tables moved to other captures (TiCDC v8.5.4-release.1 does not drain in its new architecture)", ""},
		"and in a beta of v9.0": {func(c *plantest.Cluster) {
			c.Want(topology.TiCDC).Version, c.Member(second).Database.Version = "v9.0.0-beta.1", "v9.0.0-beta.1"
			c.Draining(second, time.Minute, 0).Most = 0
		}, "restart " + second + " without: all tables moved to other captures (TiCDC v9.0.0-beta.1 does not drain in its new architecture)", ""},
		"that version has moved tables": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v8.5.5"
			c.Draining(second, time.Minute, 0)
		}, "restart " + second, ""},
		"a later version had no tables": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v8.5.7"
			c.Draining(second, time.Minute, 0).Most = 0
		}, "restart " + second, ""},
		"another capture was asked": {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 0).Of = "another" }, "move tables off " + second, ""},
		"it was another capture":    {func(c *plantest.Cluster) { c.Draining(second, time.Hour, 0).Capture = "another" }, "move tables off " + second, ""},
		"it was in another pod":     {func(c *plantest.Cluster) { c.Draining(second, time.Hour, 0).PodUID = "another" }, "conclude the drain of " + second + ", move tables off " + second, ""},
		"the time is over":          {func(c *plantest.Cluster) { c.Draining(second, 10*time.Minute, 7) }, "restart " + second + " without: all tables moved to other captures (7 tables left after 10m0s)", ""},
		"tidb-S17: the time of a drain that nobody continued does not count": {func(c *plantest.Cluster) {
			c.Draining(second, time.Hour, 7).Asked = plantest.Now.Add(-5 * time.Minute)
		}, "move tables off " + second, ""},
		"the owner resigns first": {func(c *plantest.Cluster) { owns(c, 1) }, "have another capture own TiCDC than " + second, "it is the owner"},
		"it has resigned":         {func(c *plantest.Cluster) { owns(c, 1); c.Draining(second, time.Second, state.TablesUnknown) }, "", "it is the owner"},
		"there is no owner":       {func(c *plantest.Cluster) { capture(c, 1).Leads = "" }, "move tables off " + second, "there is no owner"},
		"TiCDC does not answer":   {func(c *plantest.Cluster) { silent(c, 1) }, "wait for TiCDC to move tables off " + second, "does not say which one is"},
		"it still does not answer": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 7).Asked = plantest.Now.Add(-59 * time.Second)
			silent(c, 1)
		}, "", "does not say which one is"},
		"it still does not answer a minute later": {func(c *plantest.Cluster) {
			c.Draining(second, 2*time.Minute, 7).Asked = plantest.Now.Add(-time.Minute)
			silent(c, 1)
		}, "wait for TiCDC to move tables off " + second, "does not say which one is"},
		"it did not answer for too long": {func(c *plantest.Cluster) {
			c.Draining(second, 10*time.Minute, 7)
			silent(c, 1)
		}, "restart " + second + " without: another capture the owner of TiCDC (TiCDC does not say which one is after 10m0s), " +
			"all tables moved to other captures (TiCDC does not say how many are left after 10m0s)", ""},
		"it did not answer for too long, and there was no owner before": {func(c *plantest.Cluster) {
			c.Draining(second, 10*time.Minute, 7).Of = ""
			silent(c, 1)
		}, "restart " + second + " without: another capture the owner of TiCDC (TiCDC does not say which one is after 10m0s), " +
			"all tables moved to other captures (TiCDC does not say how many are left after 10m0s)", ""},
		"it does not run":            {func(c *plantest.Cluster) { c.Down(time.Minute, second) }, "restart " + second, ""},
		"another one does not serve": {func(c *plantest.Cluster) { c.Down(0, first) }, "", first},
		"it cannot drain":            {func(c *plantest.Cluster) { old(c, "v5.0.0") }, "restart " + second + " without: another capture the owner of TiCDC (TiCDC v5.0.0 cannot drain a capture), ", ""},
		"it lists and does not drain": {func(c *plantest.Cluster) { c.Member(second).Database.Version = "v6.2.0" },
			"restart " + second + " without: all tables moved to other captures (TiCDC v6.2.0 cannot drain a capture)", ""},
		"it lists and does not drain, and is of the next major version": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v6.2.0"
			c.Want(topology.TiCDC).Version = "v7.5.0"
		}, "restart " + second + " without: all tables moved to other captures (TiCDC v6.2.0 cannot drain a capture)", ""},
		"a version of its own cannot drain": {func(c *plantest.Cluster) { old(c, "nightly") },
			"restart " + second + " without: another capture the owner of TiCDC (TiCDC nightly cannot drain a capture), ", ""},
		"the time began while the capture was not known": {func(c *plantest.Cluster) { c.Draining(second, 10*time.Minute, state.TablesUnknown).Capture = "" },
			"restart " + second + " without: all tables moved to other captures (TiCDC does not say how many are left after 10m0s)", ""},

		"it drains since": {func(c *plantest.Cluster) {
			c.Member(second).Database.Version = "v6.3.0"
			c.Want(topology.TiCDC).Version = "v7.5.0"
		}, "move tables off " + second, ""},
		"it has said that it does not": {func(c *plantest.Cluster) { c.Draining(second, time.Second, state.TablesUnknown).Refused = true }, "restart " + second + " without: ", ""},
		"a version of its own drains":  {func(c *plantest.Cluster) { c.Member(second).Database.Version = "nightly" }, "move tables off " + second, ""},
		"two major versions": {func(c *plantest.Cluster) { c.Member(second).Database.Version = "v6.5.0" },
			"restart " + second + " without: all tables moved to other captures (captures of v6.5.0 and v8.1.0 do not share tables)", ""},
		"TiDB comes before":               {func(c *plantest.Cluster) { c.Roll(topology.TiDB) }, "restart t-tidb-1", "TiCDC"},
		"tidb-B5: the user deletes pods":  {deletes, "", second},
		"a drain that is not needed ends": {func(c *plantest.Cluster) { c.Draining(first, time.Minute, 0); deletes(c) }, "conclude the drain of " + first, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewCaptures(3, 3, 2, 2).Roll(topology.TiCDC)
			tt.change(c)
			expect(t, c.Decide(), tt.step, tt.gate)
		})
	}
}

// TestCaptureWithNewVolumes: tables leave a capture that a user has named for new volumes, before its claim is deleted.
func TestCaptureWithNewVolumes(t *testing.T) {
	const second = "t-ticdc-1"
	claim := func(c *plantest.Cluster) *state.Claim { return &c.Member(second).Claims[0] }
	for name, tt := range map[string]struct {
		change     func(*plantest.Cluster)
		step, gate string
	}{
		"tables leave first": {func(*plantest.Cluster) {}, "move tables off " + second, "does not say how many are left"},
		"they are counted":   {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 7) }, "", "7 tables left"},
		"none are left":      {func(c *plantest.Cluster) { c.Draining(second, time.Minute, 0) }, "mark ticdc-log-" + second + " as left over", ""},
		"its claim is marked": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 0)
			claim(c).Marked = true
		}, "delete left-over claim ticdc-log-" + second, ""},
		"its claim is deleted": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 0)
			claim(c).Marked, claim(c).Terminating = true, true
		}, "restart " + second, ""},
		"it is called off": {func(c *plantest.Cluster) {
			c.Draining(second, time.Minute, 7)
			c.Want(topology.TiCDC).Replacements = nil
		}, "conclude the drain of " + second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewCaptures(3, 3, 2, 2)
			c.Member(second).Claims = []state.Claim{{Name: "ticdc-log-" + second, UID: "log", Template: "ticdc-log"}}
			c.Want(topology.TiCDC).Replacements = map[string]topology.MemberReplacement{second: {Claims: []string{"log"}}}
			tt.change(c)
			expect(t, c.Decide(), tt.step, tt.gate)
		})
	}
}

// TestAdoptedDrain: a drain that tidb-operator began goes on with its time, unless it may have ended since.
func TestAdoptedDrain(t *testing.T) {
	const second = "t-ticdc-1"
	began := func(ago time.Duration) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Member(second).Pod.DrainBegun = plantest.Now.Add(-ago) }
	}
	const over, off = "take over tidb-operator's drain of " + second, "take tidb-operator's mark of a drain off pod " + second
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		rolls  bool
		want   []string
	}{
		"it goes on":                 {began(time.Minute), true, []string{over}},
		"nothing is to be restarted": {began(time.Minute), false, []string{over}},
		"it may have ended":          {began(5 * time.Minute), true, []string{off}},
		"its mark cannot be read":    {func(c *plantest.Cluster) { c.Member(second).Pod.DrainBegun = state.LongAgo }, true, []string{off}},
		"it is ours now":             {func(c *plantest.Cluster) { began(time.Minute)(c); c.Draining(second, 2*time.Minute, 7) }, true, []string{off}},
		"ours was of another pod": {func(c *plantest.Cluster) {
			began(time.Minute)(c)
			c.Draining(second, 2*time.Minute, 7).PodUID = "former"
		}, true, []string{over, "conclude the drain of " + second}},
		"the pod is being deleted":      {func(c *plantest.Cluster) { began(time.Minute)(c); c.Member(second).Pod.Terminating = true }, true, nil},
		"the cluster is paused":         {func(c *plantest.Cluster) { began(time.Minute)(c); c.Wanted.Cluster.Paused = true }, true, nil},
		"a capture that does not run":   {func(c *plantest.Cluster) { began(time.Minute)(c); c.Down(time.Minute, second) }, true, []string{over}},
		"there is no mark, as is usual": {func(*plantest.Cluster) {}, true, []string{"move tables off " + second}},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewCaptures(3, 3, 2, 2)
			if tt.rolls {
				c.Roll(topology.TiCDC)
			}
			tt.change(c)
			var got []string
			for _, s := range c.Decide().Steps {
				got = append(got, s.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("steps %q, want %q", got, tt.want)
			}
		})
	}
}

// expect holds a plan to the beginning of its steps, and to a gate.
func expect(t *testing.T, p plan.Plan, next, gate string) {
	t.Helper()
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, s.String())
	}
	if got := strings.Join(steps, ", "); next == "" && got != "" || !strings.HasPrefix(got, next) {
		t.Errorf("steps %q, want %q", got, next)
	}
	for _, g := range p.Gates {
		if gate != "" && strings.Contains(g.String(), gate) {
			return
		}
	}
	if gate != "" {
		t.Errorf("gates %v, want %q", p.Gates, gate)
	}
}

// TestOneCapture: there is nowhere to move tables to. The user is told if there are any.
func TestOneCapture(t *testing.T) {
	for feeds, s := range map[int]string{
		0:                  "restart t-ticdc-0",
		1:                  "restart t-ticdc-0 without: another capture the owner of TiCDC (there is no other capture), all tables moved",
		state.FeedsUnknown: "restart t-ticdc-0 without: ",
	} {
		c := plantest.NewCaptures(3, 3, 2, 1).Roll(topology.TiCDC)
		alone(c, feeds)
		expect(t, c.Decide(), s, "")
		if feeds == 0 && strings.Contains(c.Decide().Steps[0].String(), "without") {
			t.Error("nothing is lost")
		}
	}
}

// TestTiCDCScaleIn: a capture leaves without tables, and the last one only if no changefeed needs it.
func TestTiCDCScaleIn(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to int
		change   func(*plantest.Cluster)
		step     string
		gate     string
	}{
		"tables leave":     {2, 1, func(*plantest.Cluster) {}, "move tables off t-ticdc-1", "t-ticdc-1"},
		"they have left":   {2, 1, func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 0) }, "scale TiCDC from 2 to 1", ""},
		"the time is over": {2, 1, func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Hour, 3) }, "scale TiCDC from 2 to 1 without: all tables moved to other captures (3 tables left after 10m0s)", ""},
		"two leave, and the time is over for the lower one": {3, 1, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-2", time.Minute, 0)
			c.Draining("t-ticdc-1", time.Hour, 3)
			c.Want(topology.TiCDC).ScaleIn = 2
		}, "scale TiCDC from 3 to 1 without: all tables moved to other captures (3 tables left after 10m0s)", ""},
		"it cannot drain":  {2, 1, func(c *plantest.Cluster) { old(c, "v5.0.0") }, "scale TiCDC from 2 to 1 without: ", ""},
		"it is of any age": {2, 1, func(c *plantest.Cluster) { c.Member("t-ticdc-1").Database.Version = "v6.5.0" }, "move tables off t-ticdc-1", ""},
		"it does not answer, and changefeeds may stop": {2, 1, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 7)
			c.Member("t-ticdc-1").Database = state.Database{Answer: state.NoAnswer}
			c.Policy.Eviction.StopFeeds = true
		}, "", "does not say which one is"},
		"it does not answer for too long, and changefeeds may stop": {2, 1, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", 10*time.Minute, 7)
			c.Member("t-ticdc-1").Database = state.Database{Answer: state.NoAnswer}
			c.Policy.Eviction.StopFeeds = true
		}, "scale TiCDC from 2 to 1", ""},
		"a drained one whose pod is gone": {2, 1, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 3)
			c.Member("t-ticdc-1").Pod = nil
		}, "conclude the drain of t-ticdc-1", ""},
		"its port refuses connections, and its pod is not ready": {2, 1, func(c *plantest.Cluster) {
			m := c.Down(2*time.Minute, "t-ticdc-1").Member("t-ticdc-1")
			m.Pod.Started, m.Database = plantest.Now.Add(-time.Hour), state.Database{Presence: state.Present, Answer: state.Refused}
		}, "scale TiCDC from 2 to 1", ""},
		"the same, for less than two minutes": {2, 1, func(c *plantest.Cluster) {
			m := c.Down(2*time.Minute-time.Second, "t-ticdc-1").Member("t-ticdc-1")
			m.Pod.Started, m.Database = plantest.Now.Add(-time.Hour), state.Database{Presence: state.Present, Answer: state.Refused}
		}, "", "does not say whether changefeeds run"},
		"all leave, and one of them is down": {2, 0, func(c *plantest.Cluster) {
			c.Down(time.Second, "t-ticdc-0")
			capture(c, 1).Others = 0
		}, "", "it is the last capture, and 1 changefeed runs"},
		"its claims stay": {2, 1, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 0)
			c.Member("t-ticdc-1").Claims = []state.Claim{{Name: "log", UID: "1"}}
		}, "mark log as left over", ""},
		"tidb-S4: no pod":   {2, 1, func(c *plantest.Cluster) { c.Member("t-ticdc-1").Pod = nil }, "scale TiCDC from 2 to 1", ""},
		"it does not run":   {2, 1, func(c *plantest.Cluster) { c.Down(time.Minute, "t-ticdc-1") }, "scale TiCDC from 2 to 1", ""},
		"the last one":      {1, 0, func(c *plantest.Cluster) { alone(c, 2) }, "", "it is the last capture, and 2 changefeeds run"},
		"unless forced":     {1, 0, func(c *plantest.Cluster) { alone(c, 2); c.Policy.Eviction.StopFeeds = true }, "scale TiCDC from 1 to 0 without: ", ""},
		"without feeds":     {1, 0, func(c *plantest.Cluster) { alone(c, 0) }, "scale TiCDC from 1 to 0", ""},
		"feeds not known":   {1, 0, func(c *plantest.Cluster) { alone(c, state.FeedsUnknown) }, "", "does not say whether changefeeds run"},
		"nothing known":     {1, 0, func(c *plantest.Cluster) { capture(c, 0).Drains, capture(c, 0).Others = state.DrainsUnknown, 0 }, "", "does not say whether changefeeds run"},
		"the last old one":  {1, 0, func(c *plantest.Cluster) { old(c, "v5.0.0") }, "", "its version does not say whether changefeeds run"},
		"the last one down": {1, 0, func(c *plantest.Cluster) { c.Down(time.Minute, "t-ticdc-0") }, "scale TiCDC from 1 to 0", ""},
		"the other one has crashed, and TiCDC lists it": {2, 1, func(c *plantest.Cluster) {
			c.Down(time.Second, "t-ticdc-0").Draining("t-ticdc-1", time.Hour, 3)
		}, "", "t-ticdc-0 is to continue them, and does not serve"},
		"the other one is up, and TiCDC does not list it": {2, 1, func(c *plantest.Cluster) { capture(c, 1).Others = 0 }, "", "it is the last capture"},
		"others elsewhere": {1, 0, func(c *plantest.Cluster) { alone(c, 2); capture(c, 0).Others = 1 }, "have another capture own", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewCaptures(3, 3, 2, tt.from)
			c.Want(topology.TiCDC).Replicas = tt.to
			tt.change(c)
			expect(t, c.Decide(), tt.step, tt.gate)
		})
	}
}

// TestDrainRecords: a record is deleted when the pod that it is about is gone or is to stay.
func TestDrainRecords(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		step   string
	}{
		"it stays":         {func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 3) }, "conclude the drain of t-ticdc-1"},
		"it was restarted": {func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 3).PodUID = "former" }, "conclude the drain of t-ticdc-1"},
		"it has left":      {func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 3).Member = "t-ticdc-7" }, "conclude the drain of t-ticdc-7"},
		"it is to be restarted after another one": {func(c *plantest.Cluster) { c.Roll(topology.TiCDC).Draining("t-ticdc-0", time.Minute, 3) }, "move tables off t-ticdc-1"},
		"it is about to be restarted":             {func(c *plantest.Cluster) { c.Roll(topology.TiCDC).Draining("t-ticdc-1", time.Minute, 3) }, ""},
		"PD is away": {func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 3).PodUID = "former"
			c.Seen.PD = state.PD{Problem: "no PD pod is running"}
		}, "conclude the drain of t-ticdc-1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewCaptures(3, 3, 2, 2)
			tt.change(c)
			p := c.Decide()
			expect(t, p, tt.step, "")
			if tt.step != "" && len(p.Steps) > 1 {
				t.Errorf("more than that: %v", p.Steps)
			}
		})
	}
}

func TestTiCDCNeeds(t *testing.T) {
	var order []topology.Kind
	for _, p := range component.Profiles() {
		order = append(order, p.Kind)
	}
	if last := order[len(order)-1]; last != topology.TiCDC {
		t.Errorf("%s is the last one to be rolled out", last)
	}
	c := plantest.NewCaptures(3, 3, 2, 2)
	c.Want(topology.TiCDC).Replicas = 3
	c.Seen.PD = state.PD{Problem: "no PD pod is running"}
	expect(t, c.Decide(), "", "PD")
}

// TestDrainAgain: a step says whether it repeats a request, and what it is for.
func TestDrainAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		want   step.DrainCapture
	}{
		"the first time": {func(*plantest.Cluster) {}, step.DrainCapture{Capture: plantest.Capture(1)}},
		"again": {func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 7).Asked = plantest.Now.Add(-5 * time.Second)
		},
			step.DrainCapture{Capture: plantest.Capture(1), Again: true}},
		"the record is of another pod": {func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 7).PodUID = "former" },
			step.DrainCapture{Capture: plantest.Capture(1)}},
		"TiCDC does not answer": {func(c *plantest.Cluster) { silent(c, 1) }, step.DrainCapture{}},
	} {
		c := plantest.NewCaptures(3, 3, 2, 2).Roll(topology.TiCDC)
		tt.change(c)
		tt.want.Component, tt.want.Member, tt.want.PodUID = topology.TiCDC, "t-ticdc-1", c.Member("t-ticdc-1").Pod.UID
		var got []step.Step
		for _, s := range c.Decide().Steps {
			if _, drains := s.(step.DrainCapture); drains {
				got = append(got, s)
			}
		}
		if len(got) != 1 || got[0] != step.Step(tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
