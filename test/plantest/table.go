package plantest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the decisions of today as the expected ones")

// Case is a named cluster, for which a decision is made.
type Case struct {
	Name    string
	Cluster *Cluster
}

// Table compares decisions with those in testdata, which are text: a case's name, then the
// decision.
func Table(t *testing.T, file string, cases []Case) {
	t.Helper()
	table(t, file, cases, (*Cluster).Text)
}

// Waits does the same with everything that is reported about each gate.
func Waits(t *testing.T, file string, cases []Case) {
	t.Helper()
	table(t, file, cases, (*Cluster).Waits)
}

func table(t *testing.T, file string, cases []Case, print func(*Cluster) string) {
	t.Helper()
	var got []string
	for _, c := range cases {
		c.Cluster.answers(t, c.Name)
		got = append(got, "# "+c.Name+"\n"+print(c.Cluster)+"\n")
	}
	path := filepath.Join("testdata", file+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, part := range strings.Split("\n"+string(text), "\n# ")[1:] {
		name, _, _ := strings.Cut(part, "\n")
		want[name] = "# " + strings.TrimRight(part, "\n") + "\n"
	}
	if len(want) != len(cases) {
		t.Errorf("%s has %d decisions, want %d", path, len(want), len(cases))
	}
	for i, c := range cases {
		if w := want[c.Name]; w != got[i] {
			t.Errorf("got:\n%s\nwant:\n%s", got[i], w)
		}
	}
}
