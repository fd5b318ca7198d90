package report

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	err := Table(&b, []string{"Namespace", "Name", "Ready_Pods", "Version"}, [][]string{
		{"tidb", "basic", "3/3", "v8.5.2"},
		{"a-very-long-namespace-name-that-would-be-wrapped-by-some", "größer", "", "v8.5.2 and more words than fit"},
		{"short"},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.String())
	b.Reset()
	if err := Tree(Paper{&b, 24}, []string{"name", "state", "node", "note"}, [][]string{
		{"PD"}, {"  basic-pd-0", "Up", "node-1", "-"}, {"  basic-pd-1", "Up", "node-2", "pod is not ready at all"}, {},
	}); err != nil {
		t.Fatal(err)
	}
	if want := `NAME           STATE
PD
  basic-pd-0   Up
    node: node-1
  basic-pd-1   Up
    node: node-2
    note: pod is not
      ready at all

`; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := Table(&b, []string{"Name", "Ready"}, nil); err != nil || b.String() != "NAME   READY\n" {
		t.Errorf("%v %q", err, b.String())
	}
}
