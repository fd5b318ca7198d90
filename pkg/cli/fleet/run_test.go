package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/wave"
)

// named returns clusters: each word is a name, or the name of a part and of the cluster that it joins, as part>pd. A name
// with a plus sign has members of PD, and is of a database over several Kubernetes clusters.
func named(words string) []*cluster {
	var all []*cluster
	for word := range strings.FieldsSeq(words) {
		name, joins, is := strings.Cut(word, ">")
		name, pd := strings.CutSuffix(name, "+")
		c := &cluster{Cluster: topology.Cluster{Namespace: "db", Name: name, AcrossK8s: pd}}
		if pd {
			c.Groups = []topology.Group{{Kind: topology.PD}}
		}
		if is {
			c.Joined = topology.Joined{Namespace: "db", Name: joins}
		}
		all = append(all, c)
	}
	return all
}

func TestUnits(t *testing.T) {
	for words, want := range map[string]string{
		"a b c":             "a, b, c",
		"a>z b z":           "z a, b",
		"a b>a c":           "a b, c",
		"b>x c>x d":         "b c, d",
		"a-part>m b m z>m":  "m a-part z, b",
		"a>elsewhere b c>b": "a, b c",
		"a>m b>m m+ c+>m d": "m c a b, d",
		"a>b b>c d c":       "c a b, d",
	} {
		var got []string
		for _, u := range units(named(words)) {
			var names []string
			for _, c := range u {
				names = append(names, c.Name)
				if known := !u[0].IsPart() && c != u[0]; (c.pd == u[0]) != known {
					t.Errorf("%s: %s has the part with PD %v", words, c.Name, c.pd)
				}
			}
			got = append(got, strings.Join(names, " "))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	twice := named("a a")
	twice[1].context = "prod-2"
	if got := units(twice); len(got) != 2 {
		t.Errorf("clusters of the same name in two contexts are %d databases", len(got))
	}
	across := named("a+ b+>a")
	across[1].context = "prod-2"
	if got := units(across); len(got) != 1 {
		t.Errorf("parts of one database in two contexts are %d databases", len(got))
	}
	for _, c := range across {
		tc := &v1alpha1.TidbCluster{}
		tc.Status.ClusterID = c.Name
		c.Source = tc
	}
	if got := units(across); len(got) != 2 {
		t.Errorf("parts with the names of another database are %d databases", len(got))
	}
	twins := named("a+ a+ b+>a")
	twins[1].context = "prod-2"
	if _, err := (&Options{}).choose(fake(t, false, nil).f, units(twins)); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "name the contexts of one database") {
		t.Errorf("a part that may join either of two clusters: %v", err)
	}
}

// TestPartsWithPD: parts that wait for each other's PD are driven at the same time, and begin when the part before is
// written. The failure of one ends the runs of the other parts.
func TestPartsWithPD(t *testing.T) {
	var met sync.WaitGroup
	met.Add(3)
	var begun []string // without a mutex: with the race detector, parts that begin at the same time fail
	r := fake(t, false, func(_ context.Context, c *cluster, _ string, written func()) error {
		begun = append(begun, c.Name)
		if c.HasPD() {
			written()
			met.Done()
			met.Wait() // without two others the test does not end
		}
		return nil
	})
	parts := named("x>m b+>m a+>m m+")
	r.carryOut(t.Context(), [][][]*cluster{units(parts)})
	if got := strings.Join(begun, " "); got != "m b a x" {
		t.Errorf("the parts have begun in the order %q", got)
	}
	for _, c := range parts {
		if c.err != nil {
			t.Errorf("%s: %v", c.Name, c.err)
		}
	}

	r.each = func(ctx context.Context, c *cluster, _ string, written func()) error {
		written()
		if c.Name == "a" {
			return exit.Refusef("a fails")
		}
		<-ctx.Done()
		return exit.Ended(ctx, ctx.Err())
	}
	parts = named("m+ a+>m x>m")
	r.carryOut(t.Context(), [][][]*cluster{units(parts)})
	if err := parts[0].err; exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "the run of db/a has failed") || parts[2].begun {
		t.Errorf("the other part ended with %v, and the part without PD has begun: %t", err, parts[2].begun)
	}
}

// TestWaves: a wave begins when all clusters of the wave before it have ended. After a failure no cluster is begun.
func TestWaves(t *testing.T) {
	for _, c := range []struct {
		name, clusters, waves string
		fails, idle           string
		goOn                  bool
		interrupt             string // the cluster during which the user presses Ctrl-C

		driven, says string
		notBegun     string
		code         exit.Code
	}{
		{name: "all", clusters: "a b c d", waves: "1,2,100%", driven: "a|b|c d"},
		{name: "none is to be done", clusters: "a b", waves: "1,100%", idle: "a b"},
		{name: "those that are done count for no wave", clusters: "a b c d", waves: "1,100%", idle: "a c", driven: "b|d"},
		{
			name: "a failure", clusters: "a b c d e", waves: "1,3,100%", fails: "b", driven: "a|b", notBegun: "c d e", code: exit.Refused,
			says: "1 of 5 clusters failed: db/b (exit code 3); 3 were not begun: db/c, db/d, db/e; go on, when the cause is gone: kubectl tidb upgrade --all v8.5.2 -n db",
		},
		{name: "a failure in the last wave", clusters: "a b", waves: "1,100%", fails: "b", driven: "a|b", code: exit.Refused, says: "1 of 2 clusters failed: db/b (exit code 3); go on"},
		{name: "a failure that stops nothing", clusters: "a b c", waves: "1,2,100%", fails: "a", goOn: true, driven: "a|b|c", code: exit.Refused, says: "failed: db/a (exit code 3); go on"},
		{name: "interrupted", clusters: "a b c", waves: "1,2,100%", interrupt: "b", driven: "a|b", notBegun: "c", code: exit.Interrupted, says: "1 was not begun: db/c"},
		{name: "parts in one wave", clusters: "a>m b m", waves: "1,100%", driven: "m a|b"},
		{
			name: "a part waits for the part with PD", clusters: "a>m b m", waves: "100%", fails: "m", goOn: true, driven: "m b", notBegun: "a", code: exit.Refused,
			says: "failed: db/m (exit code 3); 1 was not begun: db/a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			var log []string
			r := fake(t, c.goOn, func(_ context.Context, one *cluster, label string, _ func()) error {
				log = append(log, label[strings.LastIndex(label, " wave")+1:]+":"+one.Name)
				if one.Name == c.interrupt {
					stop(exit.ErrInterrupted)
					return exit.ErrInterrupted
				}
				if strings.Contains(c.fails, one.Name) {
					return exit.With(exit.Refused, nil)
				}
				return nil
			})
			r.o.parallel = 1 // so that the order is known
			var notBegun []string
			r.end = func(one *cluster, err error) {
				notBegun = append(notBegun, one.Name)
				if exit.Of(err) != c.code {
					t.Errorf("%s, which was not begun, has exit code %d, not %d", one.Name, exit.Of(err), c.code)
				}
			}
			found := named(c.clusters)
			for _, one := range found {
				one.idle = strings.Contains(c.idle, one.Name)
			}
			r.o.sizes, _ = wave.Parse(c.waves)
			waves, err := r.o.split(units(found))
			if err != nil {
				t.Fatal(err)
			}
			r.carryOut(ctx, waves)
			err = r.ended(ctx, found)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, want %d: %v does not say %q", exit.Of(err), c.code, err, c.says)
			}
			if got := byWave(log); got != c.driven {
				t.Errorf("driven %q, want %q", got, c.driven)
			}
			if got := strings.Join(notBegun, " "); got != c.notBegun {
				t.Errorf("not begun %q, want %q", got, c.notBegun)
			}
		})
	}
}

// byWave returns the names of clusters, with a bar between waves.
func byWave(log []string) string {
	text, last := "", ""
	for _, entry := range log {
		label, name, _ := strings.Cut(entry, ":")
		switch {
		case text == "":
		case label == last:
			text += " "
		default:
			text += "|"
		}
		text, last = text+name, label
	}
	return text
}

func fake(t *testing.T, goOn bool, each func(context.Context, *cluster, string, func()) error) *run {
	t.Helper()
	t.Setenv("KUBECONFIG", "")
	var out bytes.Buffer
	f := factory.New(genericiooptions.IOStreams{In: &out, Out: &out, ErrOut: &out}, func(string) string { return "" }, "")
	f.Args = []string{"upgrade", "--all", "v8.5.2"}
	*f.Flags.Namespace = "db"
	f.Args = append(f.Args, "-n", "db")
	return &run{f: f, o: Options{stop: !goOn, parallel: 8}, v: Verb{Action: "upgrade to v8.5.2"}, shared: &contexts.Shared{Streams: f.Streams}, each: each}
}

// TestSideBySide: as many clusters of a wave are driven at the same time as --parallel says, and no more.
func TestSideBySide(t *testing.T) {
	var now, most atomic.Int32
	var met sync.WaitGroup
	met.Add(3)
	r := fake(t, false, func(context.Context, *cluster, string, func()) error {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		met.Done()
		met.Wait() // without two others the test does not end
		now.Add(-1)
		return nil
	})
	r.o.parallel = 3
	all := named("a b c")
	r.carryOut(t.Context(), [][][]*cluster{units(all)})
	if most.Load() != 3 {
		t.Errorf("%d at the same time", most.Load())
	}
	now.Store(0)
	r.o.parallel = 2
	r.each = func(context.Context, *cluster, string, func()) error {
		if n := now.Add(1); n > 2 {
			return fmt.Errorf("%d at the same time", n)
		}
		defer now.Add(-1)
		return nil
	}
	more := named("a b c d e f g h")
	r.carryOut(t.Context(), [][][]*cluster{units(more)})
	for _, c := range more {
		if c.err != nil {
			t.Error(c.err)
		}
	}
}

// TestConsent: the user agrees to all clusters, and types the name of each from which something is taken away.
func TestConsent(t *testing.T) {
	for _, c := range []struct {
		answers string
		yes     bool
		code    exit.Code
	}{
		{"y\nb\n", false, exit.OK},
		{"y\na\n", false, exit.Refused},
		{"y\n", false, exit.Refused},
		{"n\nb\n", false, exit.Refused},
		{"", false, exit.Refused},
		{"", true, exit.OK},
	} {
		r := fake(t, false, nil)
		var out bytes.Buffer
		r.f.Streams = genericiooptions.IOStreams{In: strings.NewReader(c.answers), Out: &out, ErrOut: &out}
		r.d.Yes = c.yes
		all := named("a b")
		all[1].effects = []string{"PD has one member, which restarts"}
		err := r.consent(t.Context(), [][][]*cluster{units(all)}, all)
		if exit.Of(err) != c.code || (out.Len() == 0) != c.yes {
			t.Errorf("%q: exit code %d, want %d: %s", c.answers, exit.Of(err), c.code, out.String())
		}
		if strings.HasPrefix(c.answers, "y") && !strings.Contains(out.String(), "on cluster db/b:\n  PD has one member, which restarts\n") {
			t.Errorf("%q: %s", c.answers, out.String())
		}
	}
}

// TestLeftOut: the last wave has to reach all clusters that have something to do.
func TestLeftOut(t *testing.T) {
	o := Options{waves: "1,3"}
	o.sizes, _ = wave.Parse(o.waves)
	if _, err := o.split(units(named("a b c d e"))); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "leaves out 2 of the clusters") {
		t.Error(err)
	}
	if _, err := o.split(units(named("a b c"))); err != nil {
		t.Error(err)
	}
}

// TestReason: a refusal is shown in one line, with the context of its cluster in commands.
func TestReason(t *testing.T) {
	r := fake(t, false, nil)
	c := named("a")[0]
	if c.err = errors.New("one\ntwo"); strings.Contains(r.reason(c), "\n") {
		t.Errorf("%q", r.reason(c))
	}
	if c.err = exit.With(exit.Refused, nil); r.reason(c) != "" {
		t.Errorf("%q", r.reason(c))
	}
}

// TestUnconcerned: a part that lacks the component of a request has nothing to do, unless all parts lack it.
func TestUnconcerned(t *testing.T) {
	for name, c := range map[string]struct{ lacks, refused string }{
		"one part": {"a", ""},
		"all":      {"a b", "a b"},
		"none":     {"", ""},
	} {
		all := named("a b")
		for _, one := range all {
			if strings.Contains(c.lacks, one.Name) {
				one.unconcerned, one.idle = errors.New("it has no TiFlash"), true
			}
		}
		if name == "all" { // what is under way in one part goes on
			all[0].idle = false
			if refuseUnconcerned(all); all[0].err != nil {
				t.Errorf("refused: %v", all[0].err)
			}
			all[0].idle = true
		}
		refuseUnconcerned(all)
		var refused []string
		for _, one := range all {
			if one.err != nil {
				refused = append(refused, one.Name)
			}
		}
		if got := strings.Join(refused, " "); got != c.refused {
			t.Errorf("%s: refused are %q", name, got)
		}
	}
}
