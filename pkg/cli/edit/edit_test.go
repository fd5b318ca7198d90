package edit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

const stored = `
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {namespace: db, name: basic, uid: u, resourceVersion: "5", annotations: {kubectl-tidb/last-change: "{}"}}
spec: {version: v8.1.0, tikv: {baseImage: pingcap/tikv, replicas: 3}}
status: {clusterID: "7"}
`

func draft(t *testing.T) *intent.Draft {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(stored), &u.Object); err != nil {
		t.Fatal(err)
	}
	dyn := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, u)
	d, err := intent.New(dyn).Draft(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// person edits files as a person does, one answer for each time that the editor opens.
type person struct {
	t       *testing.T
	folder  string
	answers []func(string) string
	shown   []string
}

func (p *person) open(_, _ string, text io.Reader) ([]byte, string, error) {
	body, err := io.ReadAll(text)
	if err != nil || len(p.shown) == len(p.answers) {
		p.t.Fatalf("opened %d times: %v", len(p.shown)+1, err)
	}
	p.shown = append(p.shown, string(body))
	saved := []byte(p.answers[len(p.shown)-1](string(body)))
	file, err := os.CreateTemp(p.folder, "edit")
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	_, err = file.Write(saved)
	return saved, file.Name(), err
}

func replace(old, with string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, with, 1) }
}

func TestEdit(t *testing.T) {
	same := func(text string) string { return text }
	empty := func(string) string { return "" }
	four := replace("replicas: 3", "replicas: 4")
	refuses := func(*intent.Manifest) error { return exit.Refusef("there is no room") }
	for _, tt := range []struct {
		name    string
		answers []func(string) string
		check   func(*intent.Manifest) error
		wants   int32 // replicas of TiKV; 0 for no change
		says    string
		shows   string // in the last file
		code    exit.Code
	}{
		{"changed", []func(string) string{four}, nil, 4, "", "# The TidbCluster, without its status.", exit.OK},
		{"not changed", []func(string) string{same}, nil, 0, "", "", exit.OK},
		{"emptied", []func(string) string{empty}, nil, 0, "", "", exit.OK},
		{"corrected", []func(string) string{replace("replicas: 3", "replicsa: 4"), replace("replicsa: 4", "replicas: 4")}, nil, 4, "",
			"# This was refused, and nothing was changed (line 1 is the first one that is no comment):\n# line 9: spec.tikv.replicsa: unknown field; did you mean replicas?\n#\napiVersion", exit.OK},
		{"not corrected", []func(string) string{replace("replicas: 3", "replicas: many"), same}, nil, 0, "spec.tikv.replicas: is the text", "", exit.Usage},
		{"given up", []func(string) string{replace("replicas: 3", "replicsa: 3"), empty}, nil, 0, "unknown field", "", exit.Usage},
		{"refused by a check", []func(string) string{four, same}, refuses, 0, "there is no room", "# there is no room", exit.Refused},
		{"not checked", []func(string) string{four}, func(*intent.Manifest) error { return errors.New("connection refused") }, 0, "connection refused", "", exit.Failure},
		{"another name", []func(string) string{replace("name: basic", "name: other"), same}, nil, 0, "metadata.name: must stay basic", "", exit.Usage},
		{"no YAML", []func(string) string{replace("spec:", "spec"), same}, nil, 0, "line ", "", exit.Usage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &person{t: t, folder: t.TempDir(), answers: tt.answers}
			e := editing{draft: draft(t), open: p.open, check: func(m *intent.Manifest) (check.Request, error) {
				r := check.Request{Action: "edit"}
				r.Want = m.Cluster
				if tt.check != nil {
					return r, tt.check(m)
				}
				return r, nil
			}}
			r, file, err := e.edit(t.Context())
			if exit.Of(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("exit code %d: %v, want %q", exit.Of(err), err, tt.says)
			}
			if got := replicas(r.Want); err == nil && got != tt.wants {
				t.Errorf("wants %d", got)
			}
			if len(p.shown) != len(tt.answers) || !strings.Contains(p.shown[len(p.shown)-1], tt.shows) {
				t.Errorf("opened %d times, the last time with\n%s", len(p.shown), p.shown[len(p.shown)-1])
			}
			left, _ := filepath.Glob(filepath.Join(p.folder, "*"))
			if keep := err != nil || tt.wants > 0; keep != (file != "") || keep != (len(left) == 1) {
				t.Errorf("file %q, left %q", file, left)
			}
		})
	}
}

func replicas(tc *v1alpha1.TidbCluster) int32 {
	if tc == nil {
		return 0
	}
	return tc.Spec.TiKV.Replicas
}

// TestText: the file has what a person may change, and nothing else.
func TestText(t *testing.T) {
	text := string(draft(t).Text)
	for _, not := range []string{"status", "uid", "resourceVersion", "last-change"} {
		if strings.Contains(text, not) {
			t.Errorf("%s is in\n%s", not, text)
		}
	}
	if !bytes.HasPrefix([]byte(text), []byte("apiVersion: pingcap.com/v1alpha1\n")) {
		t.Errorf("%s", text)
	}
}

// TestEditorFails: an editor that cannot be run is an error, and nothing is changed.
func TestEditorFails(t *testing.T) {
	e := editing{draft: draft(t), open: func(string, string, io.Reader) ([]byte, string, error) { return nil, "", errors.New("no vi") }}
	if _, _, err := e.edit(context.Background()); err == nil || err.Error() != "edit: no vi" {
		t.Errorf("%v", err)
	}
}
