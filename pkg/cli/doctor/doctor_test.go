package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// ill returns what is found of a cluster with something of each severity.
func ill() *result {
	c := plantest.New(1, 3, 2).Evicting("t-tikv-2", 90*time.Minute, 0).Down(20*time.Minute, "t-tidb-1")
	l := finding.Look{Wanted: c.Wanted, Snapshot: c.Seen, Plan: c.Decide(), Claims: []claim.Claim{{
		Namespace: "ns", Cluster: "t", Name: "tikv-t-tikv-5", Component: topology.TiKV, Member: "t-tikv-5", Capacity: 100 << 30,
		State: claim.Left, Why: "t-tikv-5 was removed, marked 2026-01-01T00:00:00Z",
	}}}
	l.ClaimsUnread = "pods is forbidden"
	return &result{namespace: "ns", name: "t", findings: finding.Find(l)}
}

// TestPrint: the screen in terminals of three widths, and in a file.
func TestPrint(t *testing.T) {
	var screens bytes.Buffer
	for _, width := range []int{40, 80, 200, 0} {
		var b bytes.Buffer
		ill().print(&b, "prod", width)
		for line := range strings.Lines(b.String()) {
			if width > 0 && len(line) > width+1 && !strings.Contains(line, "kubectl ") {
				t.Errorf("wider than %d columns: %q", width, line)
			}
		}
		if width > 0 {
			fmt.Fprintf(&screens, "====== %d columns\n%s", width, &b)
			continue
		}
		plantest.Golden(t, "file.txt", b.String())
	}
	plantest.Golden(t, "terminal.txt", screens.String())
	fixed := ill()
	fixed.fix, fixed.fixed = true, []mended{{"allow region leaders on t-tikv-2", nil}, {"end the failover of t-tidb-1", errors.New("forbidden")}}
	var b bytes.Buffer
	fixed.print(&b, "", 80)
	plantest.Golden(t, "fixed.txt", b.String())
	b.Reset()
	(&result{namespace: "ns", name: "t"}).print(&b, "", 80)
	if b.String() != "ns/t: nothing found\n" {
		t.Errorf("%q", b.String())
	}
}

func TestDocument(t *testing.T) {
	r := ill()
	r.fixed = []mended{{"allow region leaders on t-tikv-2", nil}, {"another", errors.New("forbidden")}}
	object, err := r.document("prod")
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		`"kind":"ClusterFindings"`, `"healthy":false`, `"id":"evict-scheduler-left"`, `"fix":["allow region leaders on t-tikv-2"]`,
		`"command":"kubectl tidb doctor t --fix -n ns --context prod"`, `"error":"forbidden"`, `"unfixed":"data is deleted only if a person names it"`,
	} {
		if !bytes.Contains(text, []byte(says)) {
			t.Errorf("the document does not say %s:\n%s", says, text)
		}
	}
	if _, ok, _ := unstructured.NestedSlice(object.Object, "findings"); !ok {
		t.Error("no findings")
	}
}

// TestUsage: wrong arguments.
func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		"basic -A":     "a name does not go with -l or -A",
		"basic -l a=b": "a name does not go with -l or -A",
		"basic --yes":  "--yes goes with --fix",
		"basic -o xml": "supported formats",
		"-l a=b=c":     "--selector",
	} {
		f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), os.Getenv, "")
		cmd := command(f, func(context.Context, options) error { return nil })
		cmd.SetArgs(strings.Fields(args))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestConsent: without a terminal nothing is mended, and the command that needs no answer is named.
func TestConsent(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	f := factory.New(streams, func(name string) string { return map[string]string{"CI": "true"}[name] }, "")
	f.Args = []string{"doctor", "t", "--fix"}
	o := &options{fix: true}
	got, err := o.applyFixes(t.Context(), f, &target.Session{Namespace: "ns", Name: "t"}, &result{fixes: finding.Fixes(ill().findings)})
	if exit.Of(err) != exit.Refused || len(got) > 0 || !strings.Contains(err.Error(), "allow region leaders on t-tikv-2") || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := o.applyFixes(t.Context(), f, &target.Session{Namespace: "ns", Name: "t"}, &result{}); got != nil || err != nil {
		t.Errorf("nothing to mend: %v, %v", got, err)
	}
}

// TestStill: only what the user has agreed to is done, also where there is more to do now.
func TestStill(t *testing.T) {
	one, two := step.AllowLeaders{Member: "t-tikv-1", StoreID: 2}, step.AllowLeaders{Member: "t-tikv-2", StoreID: 3}
	got := agreedSteps(map[string]bool{one.String(): true}, []step.Step{two, one})
	if len(got) != 1 || got[0] != step.Step(one) {
		t.Errorf("%v", got)
	}
}
