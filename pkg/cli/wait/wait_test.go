package wait

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestFlags(t *testing.T) {
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
	for args, says := range map[string]string{
		"basic --for=converged":               "",
		"--for=version=v8.5.2 --timeout 30m":  "",
		"basic --for=replicas=tikv=0":         "",
		"basic --for=condition=Ready":         "",
		"basic --for=condition=ready=false":   "",
		"basic":                               `required flag(s) "for"`,
		"basic --for=":                        "one of converged, version=VERSION",
		"basic --for=ready":                   "one of converged",
		"basic --for=version=":                "one of converged",
		"basic --for=replicas":                "one of converged",
		"basic --for=replicas=4":              `no component "4"`,
		"basic --for=replicas=tikv":           `"" is not a number`,
		"basic --for=replicas=tikv=-1":        `"-1" is not a number`,
		"basic --for=condition=":              "one of converged",
		"basic --for=converged=yes":           "one of converged",
		"basic --for=converged --timeout=-1s": "must not be negative",
		"basic other --for=converged":         "at most 1",
	} {
		ran := false
		cmd := command(f, func(context.Context, options) error { ran = true; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if ran != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: ran %t, %v; want %q", args, ran, err, says)
		}
	}
}

// seen returns what a look shows of a cluster of v8.1.0.
func seen(c *plantest.Cluster) Sight {
	tc := &v1alpha1.TidbCluster{}
	tc.Spec.Version = "v8.1.0"
	tc.Status.Conditions = []v1alpha1.TidbClusterCondition{{Type: "Ready", Status: corev1.ConditionFalse, Reason: "Progressing", Message: "it is being changed"}}
	c.Wanted.Cluster.Source = tc
	return Sight{Wanted: c.Wanted, Snapshot: c.Seen, Plan: c.Decide()}
}

// TestGoals: what is missing until a goal is reached.
func TestGoals(t *testing.T) {
	growing := plantest.New(3, 3, 2)
	growing.Want(topology.TiKV).Replicas = 4
	leaving := plantest.New(3, 4, 2)
	leaving.Want(topology.TiKV).Replicas = 3
	leaving.Set(topology.TiKV, func(s *state.Set) { s.Replicas = 3 })
	other := plantest.New(3, 3, 2)
	other.Member("t-tikv-2").Database.Version = "8.1.1"
	suspended := plantest.New(3, 3, 2)
	suspended.Want(topology.TiDB).Suspend = true
	for _, c := range []struct {
		name, goal string
		cluster    *plantest.Cluster
		lacks      string
	}{
		{"at rest", "converged", plantest.New(3, 3, 2), ""},
		{"rolling", "converged", plantest.New(3, 3, 2).Roll(topology.TiKV), "act"},
		{"at rest", "version=v8.1.0", plantest.New(3, 3, 2), ""},
		{"not asked for", "version=v8.5.2", plantest.New(3, 3, 2), "spec.version is v8.1.0"},
		{"rolling", "version=v8.1.0", plantest.New(3, 3, 2).Roll(topology.TiKV), "these do not serve with v8.1.0 yet: t-tikv-0, t-tikv-1, t-tikv-2"},
		{"one is down", "version=v8.1.0", plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-1"), "these do not serve with v8.1.0 yet: t-tikv-1"},
		{"one reports another version", "version=v8.1.0", other, "these do not serve with v8.1.0 yet: t-tikv-2"},
		{"one is missing", "version=v8.1.0", growing, "3 of 4 members serve with v8.1.0"},
		{"suspended", "version=v8.1.0", suspended, ""},
		{"at rest", "replicas=tikv=3", plantest.New(3, 3, 2), ""},
		{"not asked for", "replicas=tikv=4", plantest.New(3, 3, 2), "spec.tikv.replicas is 3"},
		{"one is to come", "replicas=tikv=4", growing, "3 of 4 members serve"},
		{"one is down", "replicas=tikv=3", plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-1"), "2 of 3 members serve"},
		{"one is leaving", "replicas=tikv=3", leaving, "these have not left yet: t-tikv-3"},
		{"no such component", "replicas=tiflash=1", plantest.New(3, 3, 2), "the cluster has no tiflash"},
		{"no such component is wanted", "replicas=tiflash=0", plantest.New(3, 3, 2), ""},
		{"is false", "condition=ready", plantest.New(3, 3, 2), "condition Ready is False (Progressing): it is being changed"},
		{"is to be false", "condition=Ready=false", plantest.New(3, 3, 2), ""},
		{"no such condition", "condition=Synced", plantest.New(3, 3, 2), "the TidbCluster has no condition Synced"},
	} {
		g, err := parse(c.goal)
		if err != nil {
			t.Fatal(err)
		}
		if _, lacks := g.lacks(seen(c.cluster)); lacks != c.lacks {
			t.Errorf("%s, %s: lacks %q, want %q", c.name, c.goal, lacks, c.lacks)
		}
	}
}

// TestNoLeaders: what cannot be read is not taken for a store without leaders.
func TestNoLeaders(t *testing.T) {
	evicting := func(leaders int) *plantest.Cluster {
		return plantest.New(3, 3, 2).Evicting("t-tikv-1", time.Minute, leaders)
	}
	for lacks, c := range map[string]*plantest.Cluster{
		"":                                   evicting(0),
		"7 leaders left":                     evicting(7),
		"unknown: the store does not answer": evicting(-1),
		"unknown: PD does not answer":        evicting(0).PDUnknown(),
		"PD has no evict-leader scheduler for it": plantest.New(3, 3, 2),
		"t-tikv-1 is not there":                   plantest.New(3, 1, 2),
	} {
		if _, got := NoLeaders("t-tikv-1").lacks(seen(c)); got != lacks {
			t.Errorf("lacks %q, want %q", got, lacks)
		}
	}
}

// TestOfSeveral: a goal of several members names the one that is missing.
func TestOfSeveral(t *testing.T) {
	evicting := plantest.New(3, 3, 2).Evicting("t-tikv-0", time.Minute, 0).Evicting("t-tikv-1", time.Minute, 7)
	down := plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-1")
	for _, c := range []struct {
		goal    Goal
		cluster *plantest.Cluster
		kind    topology.Kind
		lacks   string
	}{
		{NoLeaders("t-tikv-0", "t-tikv-1"), evicting, topology.TiKV, "t-tikv-1: 7 leaders left"},
		{NoLeaders("t-tikv-0"), evicting, "", ""},
		{Serving("t-pd-0", "t-tikv-1"), down, topology.TiKV, "t-tikv-1: pod is not ready"},
		{Serving("t-pd-0", "t-tikv-0"), down, "", ""},
		{Serving("t-tikv-7"), down, "", ""}, // it was removed
	} {
		if kind, lacks := c.goal.lacks(seen(c.cluster)); kind != c.kind || lacks != c.lacks {
			t.Errorf("%s: %s lacks %q, want %q", c.goal.text, kind, lacks, c.lacks)
		}
	}
}

// looks is a cluster that is looked at again and again.
type looks struct {
	now    time.Time
	all    []func() (Sight, error) // the last one for ever
	events []event.Event
	lives  int
	waits  int
	// timeout: the time is over after the first look.
	timeout bool
	shown   *report.Printer // nil: nothing is shown
}

func (l *looks) Report(e event.Event) {
	l.events = append(l.events, e)
	l.shown.Report(e)
}

// Wait implements reconcile.Waiter.
func (l *looks) Wait(ctx context.Context, _ plan.Plan, _ error) error {
	if len(l.all) > 1 {
		l.all = l.all[1:]
	}
	if l.waits++; l.waits > 20 {
		return errEndless
	}
	if l.timeout {
		return exit.ErrTimedOut
	}
	l.now = l.now.Add(time.Minute)
	return context.Cause(ctx)
}

var errEndless = errors.New("it waits for ever")

func (l *looks) waitFor(t *testing.T, text string) error {
	t.Helper()
	g, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return l.now }
	progress := reconcile.NewProgress("ns", "t", now, l)
	w := Loop{Goal: g, Existed: true, Outage: drive.Outage, Now: now, Fail: progress.Failed, Pause: l.Wait, Late: Awaited{Goal: g}.timeoutError}
	w.Show = func(s Sight, _ bool) error { g.report(progress, s); return nil }
	w.Look = func(_ context.Context, live bool) (Sight, error) {
		if live {
			l.lives++
		}
		return l.all[0]()
	}
	return w.Run(t.Context())
}

func shows(c *plantest.Cluster) func() (Sight, error) {
	return func() (Sight, error) { return seen(c), nil }
}

func fails(err error) func() (Sight, error) {
	return func() (Sight, error) { return Sight{}, err }
}

// TestWait: how waits end, and with which exit code.
func TestWait(t *testing.T) {
	paused, deleting, blocked := plantest.New(3, 3, 2), plantest.New(3, 3, 2), plantest.New(3, 3, 2)
	paused.Wanted.Cluster.Paused, paused.Wanted.Cluster.Pause = true, topology.Pause{By: "ann@laptop", Recorded: true}
	deleting.Wanted.Cluster.Deleting = true
	for i := range blocked.Seen.Groups[topology.TiKV].Members {
		blocked.Seen.Groups[topology.TiKV].Members[i].Pod.Controller = "StatefulSet t-tikv of apps.pingcap.com/v1"
	}
	rolling, rest := shows(plantest.New(3, 3, 2).Roll(topology.TiKV)), shows(plantest.New(3, 3, 2))
	away, gone := fails(errors.New("connection refused")), fails(&intent.NotFoundError{})
	no := fails(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")))
	for _, c := range []struct {
		name, goal string
		all        []func() (Sight, error)
		code       exit.Code
		says       string
	}{
		{"at once", "converged", []func() (Sight, error){rest}, exit.OK, ""},
		{"later", "converged", []func() (Sight, error){rolling, rolling, rest}, exit.OK, ""},
		{"blocked", "converged", []func() (Sight, error){rolling, shows(blocked)}, exit.Refused, "apps.pingcap.com"},
		{"paused", "version=v8.5.2", []func() (Sight, error){rolling, shows(paused)}, exit.Paused, "paused by ann@laptop"},
		{"deleting", "replicas=tikv=4", []func() (Sight, error){rolling, shows(deleting)}, exit.Aborted, "is being deleted"},
		{"deleted", "replicas=tikv=4", []func() (Sight, error){rolling, gone}, exit.Aborted, "was deleted"},
		{"a condition, blocked and paused", "condition=Ready", []func() (Sight, error){shows(blocked), shows(paused)}, exit.Failure, errEndless.Error()},
		{"forbidden", "converged", []func() (Sight, error){no}, exit.Forbidden, "forbidden"},
		{"never there", "converged", []func() (Sight, error){away}, exit.Failure, "connection refused"},
		{"away for a while", "converged", []func() (Sight, error){rolling, away, away, away, rest}, exit.OK, ""},
		{"away for long", "converged", []func() (Sight, error){rolling, away}, exit.Failure, "connection refused"},
		{"nobody asks for it", "version=v8.5.2", []func() (Sight, error){rest}, exit.Failure, errEndless.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &looks{all: c.all, now: plantest.Now}
			err := l.waitFor(t, c.goal)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, exit code %d; want %d, %q", err, exit.Of(err), c.code, c.says)
			}
			if err == nil && l.lives == 0 {
				t.Error("it has ended without a live look")
			}
		})
	}
}

// TestNotYet: a goal that a live look does not confirm goes on to be awaited.
func TestNotYet(t *testing.T) {
	n := 0
	l := &looks{now: plantest.Now, all: []func() (Sight, error){func() (Sight, error) {
		if n++; n == 1 || n > 4 {
			return seen(plantest.New(3, 3, 2)), nil // the first one is from a copy that is old
		}
		return seen(plantest.New(3, 3, 2).Roll(topology.TiKV)), nil
	}}}
	if err := l.waitFor(t, "converged"); err != nil || n != 6 {
		t.Errorf("%v after %d looks", err, n)
	}
}

// TestShown: what is awaited is shown like the gates of a run, beside them.
func TestShown(t *testing.T) {
	down := shows(plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-1"))
	l := &looks{all: []func() (Sight, error){down, shows(plantest.New(3, 3, 2))}, now: plantest.Now}
	if err := l.waitFor(t, "replicas=tikv=3"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range l.events {
		if e.Type == event.Waiting || e.Type == event.Passed {
			got = append(got, string(e.Type)+" "+e.Message)
		}
	}
	want := "waiting TiKV: 2 of 3 members serve|"
	if s := strings.Join(got, "|"); !strings.HasPrefix(s, want) || !strings.Contains(s, "waiting t-tikv-1") || !strings.Contains(s, "passed TiKV: replicas=tikv=3") {
		t.Errorf("%q", got)
	}
}

// TestEnded: after a timeout the error names what was awaited.
func TestEnded(t *testing.T) {
	o := Awaited{Goal: Goal{text: "version=v8.5.2"}, Timeout: time.Minute}
	err := o.timeoutError()
	if exit.Of(err) != exit.TimedOut || err.Error() != "timed out after 1m0s; what was awaited has not come: version=v8.5.2" {
		t.Error(err)
	}
	if o.outcome(err) != event.OutcomeTimedOut || o.outcome(nil) != event.OutcomeReached || (Awaited{Goal: Goal{text: converged}}).outcome(nil) != event.OutcomeConverged {
		t.Error("outcomes")
	}
}

// TestTimedOut: after a timeout the gates that are closed are named, what is awaited among them.
func TestTimedOut(t *testing.T) {
	var screen bytes.Buffer
	l := &looks{all: []func() (Sight, error){shows(plantest.New(3, 3, 2).Down(time.Minute, "t-tikv-1"))}, now: plantest.Now, timeout: true}
	l.shown = report.New(report.Options{ErrOut: &screen, Mode: report.Plain, Now: func() time.Time { return plantest.Now }})
	err := l.waitFor(t, "replicas=tikv=4")
	if exit.Of(err) != exit.TimedOut {
		t.Fatal(err)
	}
	l.Report(event.Event{Type: event.Done, Time: plantest.Now, Outcome: drive.Outcome(err)})
	l.shown.Close()
	_, summary, _ := strings.Cut(screen.String(), "timed out after")
	for _, gate := range []string{"TiKV: spec.tikv.replicas is 3", "t-tikv-1"} {
		if !strings.Contains(summary, gate) {
			t.Errorf("%s is not named:\n%s", gate, screen.String())
		}
	}
}

func TestCompleteGoal(t *testing.T) {
	if got, _ := completeGoal(nil, nil, "replicas=ti"); strings.Join(got, " ") != "replicas=tikv= replicas=tiflash= replicas=tidb= replicas=tiproxy= replicas=ticdc=" {
		t.Errorf("%q", got)
	}
}
