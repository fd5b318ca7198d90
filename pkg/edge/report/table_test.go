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
	if err := Table(&b, []string{"Name", "Ready"}, nil); err != nil || b.String() != "NAME   READY\n" {
		t.Errorf("%v %q", err, b.String())
	}
}
