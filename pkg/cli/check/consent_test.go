package check

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// newTemplate gives the components another pod template.
func newTemplate(c *plantest.Cluster, kinds ...topology.Kind) *plantest.Cluster {
	for _, k := range kinds {
		c.Want(k).Set.Drift, c.Want(k).Template = desired.Differs, "new"
	}
	return c
}

// TestEffects: what the user is asked about, and what needs no question.
func TestEffects(t *testing.T) {
	const one = "PD has one member, which restarts: until it serves again, the whole cluster cannot be used"
	noFlash := plantest.NewFlash(3, 3, 2, 2)
	noFlash.Want(topology.TiFlash).Replicas = 0
	noServer := plantest.New(3, 3, 2)
	noServer.Want(topology.TiDB).Replicas = 0
	suspended := plantest.New(3, 3, 2)
	suspended.Want(topology.TiDB).Replicas, suspended.Want(topology.TiDB).Suspend = 0, true
	stores := plantest.New(3, 3, 2)
	stores.Want(topology.TiKV).Replicas, stores.Want(topology.TiKV).Suspend = 0, true
	parts := plantest.New(3, 3, 2)
	parts.Want(topology.TiKV).Replicas, parts.Want(topology.TiKV).Suspend = 0, true
	parts.Seen.PD.OtherStores = []state.OtherStore{{State: state.StoreDown}, {State: state.StoreUp}}
	noCapture := plantest.NewCaptures(3, 3, 2, 2)
	noCapture.Want(topology.TiCDC).Replicas = 0
	neverAny := plantest.New(3, 3, 0)
	neverAny.Want(topology.TiDB).Replicas = 0
	manual := newTemplate(plantest.New(1, 3, 2), topology.PD)
	manual.Want(topology.PD).Manual = true
	elsewhere := newTemplate(plantest.New(1, 3, 2), topology.PD)
	elsewhere.Seen.PD.Members = 3
	named := plantest.New(1, 3, 2)
	named.Want(topology.PD).Restarts = map[string]topology.MemberRestart{"t-pd-0": {Pod: named.Member("t-pd-0").Pod.UID}}
	more := newTemplate(plantest.New(1, 3, 2), topology.PD)
	more.Want(topology.PD).Replicas = 3
	silent := newTemplate(plantest.New(1, 3, 2), topology.PD).Down(time.Minute, "t-pd-0")
	silent.Member("t-pd-0").Pod.Started = plantest.Now.Add(-time.Hour)
	notReady := newTemplate(plantest.New(1, 3, 2), topology.PD)
	notReady.Member("t-pd-0").Pod.Ready = false
	unread := newTemplate(plantest.New(1, 3, 2), topology.PD)
	unread.Seen.PD, unread.Member("t-pd-0").Database = state.PD{Problem: "PD does not answer"}, state.Database{}
	paused := newTemplate(plantest.New(1, 3, 2), topology.PD)
	paused.Wanted.Cluster.Paused = true
	discarded := plantest.New(3, 3, 2)
	discarded.Want(topology.TiKV).Failures = []topology.Failure{{Member: "t-tikv-1", Discarded: true}}
	discard := Request{Policy: plan.Policy{Failover: plan.Failing{Members: true, Discard: []string{"t-tikv-1", "t-tikv-2"}}}}
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		request Request
		want    string
	}{
		{"nothing to do", plantest.New(1, 3, 2), Request{}, ""},
		{"one PD restarts", newTemplate(plantest.New(1, 3, 2), topology.PD), Request{}, one},
		{"one PD, and a rollout that has begun", plantest.New(1, 3, 2).Roll(topology.PD), Request{}, one},
		{"one PD that was named", named, Request{}, one},
		{"one PD that has stopped", newTemplate(plantest.New(1, 3, 2), topology.PD).Down(time.Minute, "t-pd-0"), Request{}, ""},
		{"one PD that does not answer", silent, Request{}, one},
		{"one PD that is not ready", notReady, Request{}, one},
		{"one PD, and PD could not be read", unread, Request{}, one},
		{"one PD, and TiKV restarts", newTemplate(plantest.New(1, 3, 2), topology.TiKV), Request{}, ""},
		{"one PD that a person restarts", manual, Request{}, ""},
		{"one PD here, others elsewhere", elsewhere, Request{}, ""},
		{"one PD that gets others first", more, Request{}, ""},
		{"one PD, paused", paused, Request{}, ""},
		{"three of PD restart", newTemplate(plantest.New(3, 3, 2), topology.PD), Request{}, ""},
		{"no TiDB server", noServer, Request{}, "TiDB goes from 2 members to none, so that no client can connect to it"},
		{"no member of optional components", noFlash, Request{}, "TiFlash goes from 2 members to none, so that all queries read from TiKV, which can be much slower"},
		{"no capture of TiCDC", noCapture, Request{}, "TiCDC goes from 2 members to none, so that no changefeed runs, and one that has not run for the time of gc-ttl, " +
			"a day if TiCDC is not told otherwise, cannot go on"},
		{"TiDB is suspended", suspended, Request{}, ""},
		{"all stores are suspended", stores, Request{}, ""},
		{"stores are suspended, and stores of another part serve", parts, Request{}, "TiKV is suspended while stores of other parts serve, so that regions with most of their copies here cannot be used"},
		{"there was no TiDB server", neverAny, Request{}, ""},
		{"data is discarded", plantest.New(3, 3, 2), discard, "the data of t-tikv-1, t-tikv-2 is given up for good"},
		{"data is discarded, which has begun", discarded, discard, "the data of t-tikv-2 is given up for good"},
	} {
		p := Prospect{request: propose(c.request), Wanted: c.cluster.Wanted, Snapshot: c.cluster.Seen, Plan: c.cluster.Decide()}
		if got := strings.Join(p.Effects(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestConsent: a user at a terminal is asked, and a pipeline gets an error that names the command
// without a question.
func TestConsent(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close() // nothing is ever written to it
	defer pipe.Close()
	for _, c := range []struct {
		name string
		in   io.Reader
		o    flags.Options
		code exit.Code
		says string
	}{
		{"the name", strings.NewReader("t\n"), flags.Options{}, exit.OK, ""},
		{"yes is not the name", strings.NewReader("yes\n"), flags.Options{}, exit.Refused, "not the cluster's name"},
		{"not a terminal", pipe, flags.Options{}, exit.Refused, `if you want that: kubectl tidb upgrade t v8.1.1 --yes -n db`},
		{"not a terminal, with --yes", pipe, flags.Options{Yes: true}, exit.OK, ""},
		{"a dry run", pipe, flags.Options{DryRun: flags.ServerDryRun}, exit.OK, ""},
	} {
		var asked bytes.Buffer
		f := factory.New(genericiooptions.IOStreams{In: c.in, Out: io.Discard, ErrOut: &asked}, func(string) string { return "" }, "")
		f.Args = []string{"upgrade", "t", "v8.1.1"}
		cluster := newTemplate(plantest.New(1, 3, 2), topology.PD)
		cluster.Wanted.Cluster.Namespace, cluster.Wanted.Cluster.Name = "db", "t"
		p := Prospect{request: proposal{Request: Request{Action: "upgrade to v8.1.1"}}, Wanted: cluster.Wanted, Snapshot: cluster.Seen, Plan: cluster.Decide()}
		_, err := p.consent(t.Context(), f, c.o)
		if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit code %d, want %d: %v", c.name, exit.Of(err), c.code, err)
		}
		if _, person := c.in.(*strings.Reader); person != strings.Contains(asked.String(), "PD has one member") {
			t.Errorf("%s: asked %q", c.name, asked.String())
		}
	}
}

// TestPlanIsShown: in a terminal a run that changes something shows what it will do, and goes on when the user
// has agreed. Nobody else is asked, since nothing is taken away.
func TestPlanIsShown(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	defer pipe.Close()
	rolls := newTemplate(plantest.New(3, 3, 2), topology.TiKV)
	for _, c := range []struct {
		name    string
		cluster *plantest.Cluster
		in      io.Reader
		o       flags.Options
		isNew   bool
		asks    bool
		code    exit.Code
	}{
		{"yes", rolls, strings.NewReader("y\n"), flags.Options{}, false, true, exit.OK},
		{"Yes", rolls, strings.NewReader("Yes\n"), flags.Options{}, false, true, exit.OK},
		{"no", rolls, strings.NewReader("n\n"), flags.Options{}, false, true, exit.Refused},
		{"the default", rolls, strings.NewReader("\n"), flags.Options{}, false, true, exit.Refused},
		{"end of the input", rolls, strings.NewReader(""), flags.Options{}, false, true, exit.Refused},
		{"--yes", rolls, strings.NewReader(""), flags.Options{Yes: true}, false, false, exit.OK},
		{"a dry run", rolls, strings.NewReader(""), flags.Options{DryRun: flags.ClientDryRun}, false, false, exit.OK},
		{"not a terminal", rolls, pipe, flags.Options{}, false, false, exit.OK},
		{"a new cluster", rolls, strings.NewReader(""), flags.Options{}, true, false, exit.OK},
		{"nothing to do", plantest.New(3, 3, 2), strings.NewReader(""), flags.Options{}, false, false, exit.OK},
	} {
		var out bytes.Buffer
		f := factory.New(genericiooptions.IOStreams{In: c.in, Out: io.Discard, ErrOut: &out}, func(string) string { return "" }, "")
		p := Prospect{Wanted: c.cluster.Wanted, Snapshot: c.cluster.Seen, Plan: c.cluster.Decide()}
		p.request.Action = "upgrade to v8.1.1"
		if !c.isNew {
			p.request.existing = &c.cluster.Wanted.Cluster
		}
		asked, err := p.consent(t.Context(), f, c.o)
		if exit.Of(err) != c.code || asked != c.asks {
			t.Errorf("%s: exit code %d, asked: %t: %v", c.name, exit.Of(err), asked, err)
		}
		shown := strings.Contains(out.String(), "t-tikv-2, t-tikv-1, t-tikv-0: evict") && strings.HasSuffix(strings.TrimSpace(out.String()), "Go on? [y/N]:")
		if shown != c.asks || !c.asks && out.Len() > 0 {
			t.Errorf("%s: shown:\n%s", c.name, out.String())
		}
	}
}

// TestSparing: a spare member is added because of a request that asks for the first one.
func TestSparing(t *testing.T) {
	cluster := plantest.New(3, 3, 2)
	asks := func(member string, spare bool) map[string]topology.MemberReplacement {
		return map[string]topology.MemberReplacement{member: {Claims: []string{cluster.Member(member).Claims[0].UID}, Spare: spare}}
	}
	for _, c := range []struct {
		what          string
		before, wants map[string]topology.MemberReplacement
		want          bool
	}{
		{"no spare member", nil, asks("t-tikv-1", false), false},
		{"the first one", nil, asks("t-tikv-1", true), true},
		{"a request from before gets one", asks("t-tikv-1", false), asks("t-tikv-1", true), true},
		{"there is one already", asks("t-tikv-1", true), asks("t-tikv-2", true), false},
		{"a former request is done", map[string]topology.MemberReplacement{"t-tikv-1": {Claims: []string{"former"}, Spare: true}}, asks("t-tikv-2", true), true},
	} {
		existing := cluster.Wanted.Cluster
		existing.Groups = []topology.Group{cluster.Want(topology.TiKV).Group}
		existing.Groups[0].Replacements = c.before
		cluster.Want(topology.TiKV).Replacements = c.wants
		if got := (proposal{existing: &existing}).sparing(cluster.Wanted, cluster.Seen); slices.Equal(got, []topology.Kind{topology.TiKV}) != c.want || len(got) > 1 {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// TestReplacingAsks: each replacement asks, also of a member that was replaced before and is still named for that.
func TestReplacingAsks(t *testing.T) {
	const name = "t-tikv-1"
	asks := func(uid string) map[string]topology.MemberReplacement {
		return map[string]topology.MemberReplacement{name: {Claims: []string{uid}}}
	}
	for _, c := range []struct {
		what   string
		before map[string]topology.MemberReplacement
		want   bool
	}{
		{"the first request", nil, true},
		{"a former request is done", asks("former"), true},
		{"the same request", asks(plantest.New(3, 4, 2).Member(name).Claims[0].UID), false},
	} {
		cluster := plantest.New(3, 4, 2)
		existing := cluster.Wanted.Cluster
		existing.Groups = []topology.Group{cluster.Want(topology.TiKV).Group}
		existing.Groups[0].Replacements = c.before
		cluster.Want(topology.TiKV).Replacements = asks(cluster.Member(name).Claims[0].UID)
		p := Prospect{request: proposal{existing: &existing}, Wanted: cluster.Wanted, Snapshot: cluster.Seen}
		if got := len(p.Effects()) > 0; got != c.want {
			t.Errorf("%s: asks %t, want %t", c.what, got, c.want)
		}
	}
}
