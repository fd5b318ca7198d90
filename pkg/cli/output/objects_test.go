package output

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// bound returns the flag as a command line sets it, and what Validate reports.
func bound(t *testing.T, args ...string) (*Objects, error) {
	t.Helper()
	o := &Objects{}
	cmd := &cobra.Command{}
	o.Bind(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o, o.Validate()
}

// TestObjects prints one document in each format.
func TestObjects(t *testing.T) {
	document := struct {
		ID   uint64 `json:"id,string"`
		Size int64  `json:"size"`
	}{18446744073709551615, 9007199254740993}
	object, err := Object("ClusterStatus", "db", "basic", document)
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"json":                      `"size": 9007199254740993`,
		"yaml":                      "apiVersion: kubectl-tidb/v1\nid: \"18446744073709551615\"\nkind: ClusterStatus\nmetadata:\n  name: basic\n  namespace: db\nsize: 9007199254740993\n",
		"name":                      "tidbcluster.pingcap.com/basic\n",
		"jsonpath={.size}":          "9007199254740993",
		"go-template={{.kind}}":     "ClusterStatus",
		"custom-columns=SIZE:.size": "SIZE\n9007199254740993\n",
	} {
		o, err := bound(t, "-o", format)
		if err != nil || o.Table() {
			t.Errorf("%s: %v, table %t", format, err, o.Table())
			continue
		}
		var b bytes.Buffer
		if err := o.Print(&b, object); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, %v; want %q", format, b.String(), err, want)
		}
	}
	var b bytes.Buffer
	o, _ := bound(t, "-o", "name")
	if err := o.Print(&b, List("ClusterSummary", []unstructured.Unstructured{*object, *object})); err != nil || strings.Count(b.String(), "/basic\n") != 2 {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestTables(t *testing.T) {
	for format, wide := range map[string]bool{"": false, "wide": true} {
		o, err := bound(t, "-o", format)
		if err != nil || !o.Table() || o.Wide() != wide {
			t.Errorf("-o %q: %v, table %t, wide %t", format, err, o.Table(), o.Wide())
		}
	}
}

// A format that does not exist, and a template that cannot be read, are errors in the command line.
func TestWrongFormats(t *testing.T) {
	for format, says := range map[string]string{
		"xml":                       "supported formats: wide, json, yaml",
		"custom-columns":            "no custom columns given",
		"custom-columns-file=/none": "no such file",
		"jsonpath={.x":              "unclosed action",
		"go-template={{":            "template",
	} {
		_, err := bound(t, "-o", format)
		if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: exit code %d, %v; want %q", format, exit.Of(err), err, says)
		}
	}
}
