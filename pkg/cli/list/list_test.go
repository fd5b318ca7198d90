package list

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

var now = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)

func clusters() []v1alpha1.TidbCluster {
	made := func(namespace, name string, change func(*v1alpha1.TidbCluster)) v1alpha1.TidbCluster {
		tc := v1alpha1.TidbCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(now.Add(-72 * time.Hour))},
			Spec: v1alpha1.TidbClusterSpec{
				Version: "v8.1.0", PD: &v1alpha1.PDSpec{Replicas: 3}, TiKV: &v1alpha1.TiKVSpec{Replicas: 4},
			},
		}
		change(&tc)
		return tc
	}
	ready := func(status corev1.ConditionStatus, reason, message string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Status.Conditions = []v1alpha1.TidbClusterCondition{{Type: v1alpha1.TidbClusterReady, Status: status, Reason: reason, Message: message}}
		}
	}
	return []v1alpha1.TidbCluster{
		made("db", "basic", ready("True", "Ready", "")),
		made("db", "half-way", ready("False", "TiKVUpgrading", "TiKV is upgrading")),
		made("prod", "big", func(tc *v1alpha1.TidbCluster) { tc.Spec.Paused, tc.Spec.TiDB = true, &v1alpha1.TiDBSpec{Replicas: 2} }),
		made("prod", "new", func(*v1alpha1.TidbCluster) {}),
	}
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{Found: target.Found{AllNamespaces: true}}, `
NAMESPACE   NAME       READY                   VERSION   PD   TIKV   TIDB   AGE
db          basic      True                    v8.1.0    3    4      -      3d
db          half-way   False (TiKVUpgrading)   v8.1.0    3    4      -      3d
prod        big        Paused                  v8.1.0    3    4      2      3d
prod        new        Unknown                 v8.1.0    3    4      -      3d
`},
		{parsed(t, "-A", "-o", "wide"), `
NAMESPACE   NAME       READY                   VERSION   PD   TIKV   TIDB   AGE   MESSAGE
db          basic      True                    v8.1.0    3    4      -      3d    <none>
db          half-way   False (TiKVUpgrading)   v8.1.0    3    4      -      3d    TiKV is upgrading
prod        big        Paused                  v8.1.0    3    4      2      3d    <none>
prod        new        Unknown                 v8.1.0    3    4      -      3d    <none>
`},
		{options{}, `
NAME       READY                   VERSION   PD   TIKV   TIDB   AGE
basic      True                    v8.1.0    3    4      -      3d
half-way   False (TiKVUpgrading)   v8.1.0    3    4      -      3d
big        Paused                  v8.1.0    3    4      2      3d
new        Unknown                 v8.1.0    3    4      -      3d
`},
	} {
		var b bytes.Buffer
		if err := c.o.table(&b, views(clusters()), now); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), b.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestTerminal: what a user sees in terminals of three widths.
func TestTerminal(t *testing.T) {
	var b bytes.Buffer
	for _, width := range []int{40, 80, 200} {
		for _, args := range [][]string{{}, {"-A"}, {"-A", "-o", "wide"}} {
			fmt.Fprintf(&b, "====== %d columns: list %s\n", width, strings.Join(args, " "))
			var screen bytes.Buffer
			if err := parsed(t, args...).table(report.Paper{Writer: &screen, Columns: width}, views(clusters()), now); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(screen.String()) {
				if len(line) > width+1 {
					t.Errorf("wider than %d columns: %q", width, line)
				}
			}
			b.Write(screen.Bytes())
		}
	}
	plantest.Golden(t, "terminal.txt", b.String())
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		name             string
		o                options
		clusters         []v1alpha1.TidbCluster
		out, errOut, not string
	}{
		{"none", options{}, nil, "", "No TidbClusters found in namespace db.\n", "NAME"},
		{"none at all", options{Found: target.Found{AllNamespaces: true}}, nil, "", "No TidbClusters found.\n", "NAME"},
		{"none as JSON", parsed(t, "-o", "json"), nil, `"items": []`, "", "null"},
		{"JSON", parsed(t, "-o", "json"), clusters()[2:3], `"cluster": "big"`, "", "managedFields"},
		{"YAML", parsed(t, "-o", "yaml"), clusters()[2:3], "kind: ClusterSummaryList", "", "managedFields"},
		{"names", parsed(t, "-o", "name"), clusters()[1:3], "tidbcluster.pingcap.com/half-way\ntidbcluster.pingcap.com/big\n", "", "summary"},
		{"jsonpath", parsed(t, "-o", "jsonpath={.items[*].version}"), clusters()[2:3], "v8.1.0", "", "big"},
		{"template", parsed(t, "--template", "{{range .items}}{{.metadata.name}};{{end}}"), clusters()[2:], "big;new;", "", "v8"},
		{"columns", parsed(t, "-o", "custom-columns=A:.metadata.name,B:.replicas.tikv"), clusters()[2:3], "big   4", "", "v8"},
		{"wide", parsed(t, "-o", "wide"), clusters()[1:2], "AGE", "", "kind"},
	} {
		var out, errOut bytes.Buffer
		if len(c.clusters) == 0 {
			c.o.none(&errOut, "db")
		}
		if err := c.o.show(&out, views(c.clusters)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.out) || errOut.String() != c.errOut || strings.Contains(out.String(), c.not) {
			t.Errorf("%s: stdout %q, stderr %q", c.name, out.String(), errOut.String())
		}
	}
}

// parsed returns the options of a command line.
func parsed(t *testing.T, args ...string) (got options) {
	t.Helper()
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), nil, "")
	cmd := command(f, func(_ context.Context, o options) error { got = o; return nil })
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestClosedPipe: a write to a closed pipe is an error.
func TestClosedPipe(t *testing.T) {
	closed, w := io.Pipe()
	closed.Close()
	f := factory.New(genericiooptions.IOStreams{Out: w}, nil, "")
	if err := parsed(t, "-o", "json").show(f.Streams.Out, views(clusters())); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
