package why

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// held returns what is known of a store whose restart waits for another store.
func held() *result {
	c := plantest.New(1, 3, 2).Roll(topology.TiKV).Down(time.Minute, "t-tikv-0")
	c.Decide()
	return &result{namespace: "ns", name: "t", member: "t-tikv-2", at: plantest.Now, questions: c.Why("t-tikv-2")}
}

// TestPrint: each condition is there, and of one that does not hold what is observed, since when, and who can change
// it.
func TestPrint(t *testing.T) {
	var b bytes.Buffer
	held().print(&b, "prod", 0)
	for _, says := range []string{
		"t-tikv-2 of ns/t\n", "\nRestart (2 of 20 conditions not met)\n",
		"  ok  member comes next\n", "  no  all other members serving\n      t-tikv-0 not serving: pod is not ready\n",
		"(60s ago), until ", "asked for because no member is restarted while another one is missing", "can be changed by: Kubernetes\n",
		"can be changed by: kubectl tidb\n", "kubectl describe pod t-tikv-0 -n ns --context prod\n",
	} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("%q is not said:\n%s", says, &b)
		}
	}
	var narrow bytes.Buffer
	held().print(&narrow, "", 40)
	for line := range strings.Lines(narrow.String()) {
		if len(line) > 41 && !strings.Contains(line, "kubectl ") {
			t.Errorf("wider than 40 columns: %q", line)
		}
	}
}

func TestDocument(t *testing.T) {
	object, err := held().document("")
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		`"kind":"MemberConditions"`, `"member":"t-tikv-2"`, `"restart":[`, `"recovery":[`, `"removal":[`, `"failover":[`, `"change":[`,
		`"met":true`, `"by":"Kubernetes"`, `"reason":"MemberServing"`, `"since":"`, `"command":"kubectl describe pod t-tikv-0 -n ns"`,
	} {
		if !strings.Contains(string(text), says) {
			t.Errorf("%s is not said: %s", says, text)
		}
	}
}

// TestClocksDiffer: a time that another clock gives may be after the time of the observation.
func TestClocksDiffer(t *testing.T) {
	r := held()
	r.at = r.at.Add(-time.Hour)
	var b bytes.Buffer
	r.print(&b, "", 0)
	if !strings.Contains(b.String(), "(0s ago)") || strings.Contains(b.String(), "<invalid>") {
		t.Errorf("a time after that of the observation:\n%s", &b)
	}
}

// TestFind: a member has its short and its long name, and an error about another one names those that exist.
func TestFind(t *testing.T) {
	c := plantest.New(1, 2, 1)
	for name, want := range map[string]string{"tikv-1": "t-tikv-1", "t-tikv-1": "t-tikv-1", "pd-0": "t-pd-0"} {
		if got, err := find(c.Wanted.Cluster, c.Seen, name); err != nil || got != want {
			t.Errorf("%s: got %q, %v, wanted %q", name, got, err, want)
		}
	}
	_, err := find(c.Wanted.Cluster, c.Seen, "tikv-7")
	if exit.Of(err) != exit.Usage {
		t.Fatalf("exit code %d: %v", exit.Of(err), err)
	}
	for _, says := range []string{"no member tikv-7: did you mean tikv-", "Its members are t-pd-0, t-tikv-0, t-tikv-1, t-tidb-0"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
}
