package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/wave"
)

// TestStoppedAtCanary: a part that stops at its canary ends no run of another part, and the next part begins. The end is
// that of a canary, with the command that promotes all parts.
func TestStoppedAtCanary(t *testing.T) {
	atCanary := drive.Said(drive.EndedBy(plan.Plan{Outcome: plan.Canary, Gates: []plan.Gate{{Approval: true}}}))
	stopped := make(chan struct{})
	r := fake(t, false, func(ctx context.Context, c *cluster, _ string, written func()) error {
		written()
		switch c.Name {
		case "m":
			defer close(stopped)
		case "a":
			<-stopped
			if ctx.Err() != nil {
				t.Errorf("the run of the other part was ended: %v", context.Cause(ctx))
			}
		}
		return atCanary
	})
	r.o.Name = "m"
	parts := named("m+ a+>m x>m")
	for _, c := range parts {
		c.canary = "tikv=0"
	}
	r.carryOut(t.Context(), [][][]*cluster{units(parts)})
	if !parts[2].begun {
		t.Error("the part without PD has not begun")
	}
	err := r.ended(t.Context(), parts)
	if want := "the canary waits to be promoted in db/m, db/a, db/x"; exit.Of(err) != exit.Paused || !strings.Contains(err.Error(), want) ||
		!strings.Contains(remedy.Text(err, ""), "kubectl tidb promote m --contexts") {
		t.Errorf("exit code %d, %s", exit.Of(err), remedy.Text(err, ""))
	}
	interrupted, stop := context.WithCancelCause(t.Context())
	stop(exit.ErrInterrupted)
	if err := r.ended(interrupted, parts); exit.Of(err) != exit.Paused {
		t.Errorf("interrupted at its end: exit code %d, %v", exit.Of(err), err)
	}
	parts[1].err = exit.Refusef("another reason")
	if err := r.ended(t.Context(), parts); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "1 of 3 clusters failed: db/a (exit code 3); the canary waits to be promoted in db/m, db/x") {
		t.Errorf("exit code %d, %v", exit.Of(err), err)
	}
}

// TestCanaryOfAnEarlierChange: a part that stops at a canary which this command has not asked for has failed, and no other
// part and no other cluster is begun.
func TestCanaryOfAnEarlierChange(t *testing.T) {
	atCanary := drive.Said(drive.EndedBy(plan.Plan{Outcome: plan.Canary, Gates: []plan.Gate{{Approval: true}}}))
	r := fake(t, false, func(context.Context, *cluster, string, func()) error { return atCanary })
	all := named("m x>m b")
	r.o.sizes, _ = wave.Parse("1,100%")
	waves, err := r.o.split(units(all))
	if err != nil {
		t.Fatal(err)
	}
	r.carryOut(t.Context(), waves)
	r.end = func(*cluster, error) {}
	if all[1].begun || all[2].begun {
		t.Errorf("begun: %t, %t", all[1].begun, all[2].begun)
	}
	if err := r.ended(t.Context(), all); exit.Of(err) != exit.Paused || !strings.Contains(err.Error(), "1 of 3 clusters failed: db/m (exit code 6); 2 were not begun: db/x, db/b") {
		t.Errorf("exit code %d, %v", exit.Of(err), err)
	}
}

// TestGoOn: after a restart or an abort in one part, only that part goes on. A part that was not begun gets the canary that
// was meant for it.
func TestGoOn(t *testing.T) {
	all := named("m+ a+>m")
	all[0].context, all[1].context = "eu", "us"
	all[0].begun, all[0].err, all[1].canary = true, exit.ErrTimedOut, "tikv=0"
	r := fake(t, false, nil)
	r.o.Name = "m"
	if got := r.goOn(all).Line(""); !strings.Contains(got, "kubectl tidb upgrade --all v8.5.2 -n db") {
		t.Error(got)
	}
	r.v.GoOn = "sync"
	if got := r.goOn(all).Line(""); !strings.Contains(got, "kubectl tidb sync m --context eu -n db") || !strings.Contains(got, "with --context us and --canary tikv=0") || strings.Contains(got, "--contexts") {
		t.Error(got)
	}
	all[1].begun = true
	if got := r.goOn(all).Line(""); !strings.Contains(got, "kubectl tidb sync m --contexts") {
		t.Error(got)
	}
}

// TestShareCanary: only one part of a database restarts members of a canary.
func TestShareCanary(t *testing.T) {
	for _, c := range []struct{ asked, parts, want string }{
		{"tikv=1", "pd3 tikv3 tidb2, pd1 tikv3 tidb2", "tikv=1, tikv=0"},
		{"tikv=0", "pd3 tikv3 tidb2, pd1 tikv3 tidb2", "tikv=0, tikv=0"},
		{"tikv=2", "pd3 tikv2 tidb2, tikv3", "tikv=0, tikv=2"},
		{"tikv=1", "pd3 tidb2, tikv3, tidb1, pd1", "tidb=0, tikv=1, tidb=0, "},
		{"tidb=1", "pd3 tikv3 tidb2, tikv2 tiflash2 ticdc1", "tidb=1, ticdc=0"},
		{"tikv=5", "pd3 tidb2, pd1 tikv3", "tidb=0, tikv=5"},
		{"tiflash=1", "pd3 tikv3, pd1 tikv3", "tiflash=1, tikv=0"},
		{"pd=1", "pd3 tikv0 tidb2, pd1 tikv0 tidb2", "pd=1, pd=0"},
		{"pd=1", "pd3 tidb2, tidb2", "error"},
		{"tikv=3", "pd3 tikv3, pd1 tikv5:tikv=1", "tikv=0, tikv=3"},
		{"tidb=1", "pd3 tidb3, pd1 tikv5:tikv=1 tidb2", "tidb=0, tidb=1"},
		{"tikv=1", "pd3 tikv3:tikv=0, pd1 tikv5", "tikv=1, tikv=0"},
	} {
		var parts []*cluster
		for text := range strings.SplitSeq(c.parts, ", ") {
			var one cluster
			for word := range strings.FieldsSeq(text) {
				word, one.Canary, _ = strings.Cut(word+":"+one.Canary, ":")
				one.Canary = strings.TrimSuffix(one.Canary, ":")
				name := strings.TrimRight(word, "0123456789")
				one.Groups = append(one.Groups, topology.Group{Kind: topology.Kind(name), Replicas: int(word[len(name)] - '0')})
			}
			parts = append(parts, &one)
		}
		asked, err := topology.ParseCanary(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := shareCanary(parts, asked); err != nil {
			if c.want != "error" || exit.Of(err) != exit.Usage {
				t.Errorf("%s of %s: %v", c.asked, c.parts, err)
			}
			continue
		}
		for _, part := range parts {
			got = append(got, part.canary)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s of %s: %q, want %q", c.asked, c.parts, text, c.want)
		}
	}
}

// TestHoldLater: a part stops before the next component that this change restarts. The part that is watched keeps its canary.
func TestHoldLater(t *testing.T) {
	var nothing error = &check.HoldsNothingError{}
	one := &cluster{canary: "tiproxy=0"}
	for _, k := range []topology.Kind{topology.PD, topology.TiProxy, topology.TiKV, topology.TiDB} {
		one.Groups = append(one.Groups, topology.Group{Kind: k, Replicas: 2})
	}
	if one.holdLater(errors.New("another reason")) || one.canary != "tiproxy=0" {
		t.Errorf("another error: %q", one.canary)
	}
	for _, want := range []string{"tikv=0", "tidb=0", ""} {
		if !one.holdLater(nothing) || one.canary != want {
			t.Errorf("%q, want %q", one.canary, want)
		}
	}
	if one.holdLater(nothing) {
		t.Error("there is nothing to hold any more")
	}
	if watched := (&cluster{canary: "tikv=1", watched: true}); watched.holdLater(nothing) {
		t.Errorf("the part that is watched has %q", watched.canary)
	}
}
