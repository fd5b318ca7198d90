package pvc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func claims() []claim.Claim {
	made := func(ordinal int, s claim.State, pod, why string) claim.Claim {
		member := topology.Cluster{Name: "t"}.PodName(topology.TiKV, ordinal)
		return claim.Claim{
			Namespace: "ns", Cluster: "t", Name: "tikv-" + member, UID: "u" + member, Component: topology.TiKV, Member: member, Ordinal: ordinal,
			Class: "fast", Volume: "pv-1", Phase: "Bound", Requested: 1 << 30, Capacity: 2 << 30, Pod: pod, State: s, Why: why,
		}
	}
	return []claim.Claim{
		made(0, claim.Used, "t-tikv-0", ""), made(1, claim.Kept, "", "t-tikv-1 is wanted, and has no pod now"),
		made(2, claim.InPD, "", "PD still has t-tikv-2 as store 3, which is Offline"), made(3, claim.Left, "", "t-tikv-3 is not wanted any more"),
		made(4, claim.Left, "", "t-tikv-4 is not wanted any more"), made(5, claim.Deleting, "t-tikv-5", "it is deleted when pod t-tikv-5 has ended"),
	}
}

// TestChoose: without names all are deleted that may be; with names each of them has to be one.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name string
		o    pruneOptions
		want string
		code exit.Code
		says string
	}{
		{"all", pruneOptions{}, "t-tikv-3 t-tikv-4", exit.OK, ""},
		{"despite PD", pruneOptions{despitePD: true}, "t-tikv-2 t-tikv-3 t-tikv-4", exit.OK, ""},
		{"one", pruneOptions{members: []string{"t-tikv-4"}}, "t-tikv-4", exit.OK, ""},
		{"by the name of the claim", pruneOptions{members: []string{"tikv-t-tikv-4"}}, "t-tikv-4", exit.OK, ""},
		{"one in PD", pruneOptions{members: []string{"t-tikv-2"}}, "", exit.Refused, "PD still has t-tikv-2 as store 3, which is Offline, so its data may be needed; --despite-pd"},
		{"one in PD, despite it", pruneOptions{members: []string{"t-tikv-2"}, despitePD: true}, "t-tikv-2", exit.OK, ""},
		{"one that a pod uses", pruneOptions{members: []string{"t-tikv-0", "t-tikv-3"}, despitePD: true}, "", exit.Refused, "claim tikv-t-tikv-0: pod t-tikv-0 uses it"},
		{"one that is wanted", pruneOptions{members: []string{"t-tikv-1"}, despitePD: true}, "", exit.Refused, "t-tikv-1 is wanted"},
		{"one that is being deleted", pruneOptions{members: []string{"t-tikv-5"}, despitePD: true}, "", exit.Refused, "when pod t-tikv-5 has ended"},
		{"one without a claim", pruneOptions{members: []string{"t-tikv-9"}}, "", exit.Usage, `no claim of a member "t-tikv-9"`},
	} {
		got, err := c.o.choose(claims())
		var names []string
		for _, g := range got {
			names = append(names, g.Member)
		}
		if strings.Join(names, " ") != c.want || exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", c.name, names, err)
		}
	}
}

// TestPruneArguments: a member is named as in other commands, or by its claim.
func TestPruneArguments(t *testing.T) {
	for args, want := range map[string]string{
		"t": "", "t tikv-4 t-tikv-5": "t-tikv-4 t-tikv-5", "t tikv-t-tikv-4": "tikv-t-tikv-4", "t tikv": "refused", "t other-tikv-4": "refused",
	} {
		var o pruneOptions
		err := o.parse(strings.Fields(args))
		if got := strings.Join(o.members, " "); (want == "refused") != (exit.Of(err) == exit.Usage) || err == nil && got != want {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	o := listOptions{name: []string{"t"}}
	if err := o.show(&b, &b, claims()[1:4]); err != nil {
		t.Fatal(err)
	}
	want := `CLAIM           MEMBER     STATE   ASKED   ACTUAL   POD   WHY
tikv-t-tikv-1   t-tikv-1   Kept    1Gi     2Gi      -     t-tikv-1 is wanted, and has no pod now
tikv-t-tikv-2   t-tikv-2   InPD    1Gi     2Gi      -     PD still has t-tikv-2 as store 3, which is Offline
tikv-t-tikv-3   t-tikv-3   Left    1Gi     2Gi      -     t-tikv-3 is not wanted any more
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		args, out, errOut string
	}{
		{"-A -o wide", "NAMESPACE   CLUSTER   CLAIM", ""},
		{"-o wide", "pv-1", ""},
		{"-o json", `"state": "Left"`, ""},
	} {
		var out, errOut bytes.Buffer
		o := parsed(t, c.args)
		if err := o.show(&out, &errOut, claims()); err != nil || !strings.Contains(out.String(), c.out) || errOut.String() != c.errOut {
			t.Errorf("%s: %v %q %q", c.args, err, out.String(), errOut.String())
		}
	}
	var out, errOut bytes.Buffer
	if err := o.show(&out, &errOut, nil); err != nil || out.Len() > 0 || errOut.String() != "No claims found.\n" {
		t.Errorf("none: %v %q %q", err, out.String(), errOut.String())
	}
}

// parsed returns the options of a command line.
func parsed(t *testing.T, args string) *listOptions {
	t.Helper()
	var o listOptions
	cmd := newList(factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, ""))
	cmd.ResetFlags()
	o.Bind(cmd, "Show")
	o.output.Bind(cmd)
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	if err := o.output.Validate(); err != nil {
		t.Fatal(err)
	}
	return &o
}
